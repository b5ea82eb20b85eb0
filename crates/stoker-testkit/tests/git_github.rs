//! The stand-in for a GitHub App gives tokens for a correct JWT only, and its git server accepts
//! exactly those tokens.

#![expect(clippy::unwrap_used, reason = "a set-up that fails is a test that fails")]

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use stoker_testkit::git::github::GitHubApp;
use stoker_testkit::git::{Client, Repo, ignition};

fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}

fn jwt(key: &str, app: &str, issued: i64, expires: i64) -> String {
    let key = EncodingKey::from_rsa_pem(key.as_bytes()).unwrap();
    let claims = json!({"iss": app, "iat": issued, "exp": expires});
    encode(&Header::new(Algorithm::RS256), &claims, &key).unwrap()
}

async fn exchange(app: &GitHubApp, installation: &str, jwt: &str) -> (u16, Value) {
    stoker_testkit::install_crypto_provider();
    let url = format!("{}/app/installations/{installation}/access_tokens", app.api_url());
    let response = reqwest::Client::new().post(url).bearer_auth(jwt).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

async fn token(app: &GitHubApp) -> String {
    let jwt = jwt(app.private_key(), app.app_id(), now() - 60, now() + 480);
    let (status, body) = exchange(app, app.installation_id(), &jwt).await;
    assert_eq!(status, 201, "{body}");
    assert!(body["expires_at"].as_str().unwrap().parse::<jiff::Timestamp>().is_ok());
    body["token"].as_str().unwrap().to_owned()
}

fn can_read(url: &str, token: &str) -> bool {
    let url = url.replace("http://", &format!("http://x-access-token:{token}@"));
    Client::new().unwrap().attempt(["ls-remote", &url]).unwrap().status.success()
}

#[tokio::test]
async fn a_token_opens_the_repository_until_it_is_revoked() {
    let app = GitHubApp::start().unwrap();
    let (repo, _) = Repo::with(ignition::tree(5, 1)).unwrap();
    let url = app.mount("plant", &repo);
    let token = token(&app).await;
    assert!(can_read(&url, &token));
    assert!(!can_read(&url, "ghs_000000000000000000000000000000000000"));
    assert_eq!(app.tokens(), 1);
    app.revoke();
    assert!(!can_read(&url, &token));
}

#[tokio::test]
async fn a_wrong_jwt_gets_no_token() {
    let (app, other) = (GitHubApp::start().unwrap(), GitHubApp::start().unwrap());
    let (key, id) = (app.private_key(), app.app_id());
    let good = jwt(key, id, now() - 60, now() + 480);
    for (name, wrong) in [
        ("another key", jwt(other.private_key(), id, now() - 60, now() + 480)),
        ("another App", jwt(key, "9", now() - 60, now() + 480)),
        ("expired", jwt(key, id, now() - 700, now() - 100)),
        ("from the future", jwt(key, id, now() + 100, now() + 400)),
        ("valid for too long", jwt(key, id, now() - 60, now() + 3600)),
    ] {
        assert_eq!(exchange(&app, app.installation_id(), &wrong).await.0, 401, "{name}");
    }
    assert_eq!(exchange(&app, "9", &good).await.0, 404);
    assert_eq!(app.tokens(), 0);
}

//! Claims about keys, authorities and proxies that change while the controller runs.

use std::fs;

use stoker_api::condition::ConditionType;
use stoker_api::gatewaysync::SecretRef;
use stoker_testkit::git::Repo;
use stoker_testkit::git::github::GitHubApp;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::git::tls::{Authority, Flaw};
use stoker_testkit::object::secret;

use crate::world::{World, quiet_sync, version};

// B13
#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_ssh_key_is_used_at_once() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = tokio::task::spawn_blocking(SshServer::start).await.unwrap().unwrap();
    let world = World::start().await;
    let rotate = async |file: std::path::PathBuf| {
        let key = fs::read_to_string(file).unwrap();
        world.secret(&secret("key", [("ssh-privatekey", &*key)])).await;
    };
    rotate(server.user_key(Kind::Ed25519)).await;
    world.sync(quiet_sync("plant", &server.url(&repo)).ssh_key("key", None)).await;
    world.until_announced("plant", &first).await;
    rotate(server.stranger_key().unwrap()).await;
    let resolved = ConditionType::RefResolved;
    world.until_reason("plant", resolved, "AuthenticationFailed").await;
    let second = repo.commit(version("2")).unwrap();
    rotate(server.user_key(Kind::Rsa)).await;
    world.until_announced("plant", &second).await;
    world.until_reason("plant", resolved, "RefResolved").await;
}

// B13
#[tokio::test(flavor = "multi_thread")]
async fn a_rotated_key_of_a_github_app_is_used_at_once() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let (app, other) = (GitHubApp::start().unwrap(), GitHubApp::start().unwrap());
    let world = World::start().await;
    world.secret(&secret("app", [("private-key.pem", other.private_key())])).await;
    let ids = (app.app_id().parse().unwrap(), app.installation_id().parse().unwrap());
    let sync = quiet_sync("plant", &app.mount("plant", &repo)).github_app(ids, "app");
    let sync = sync.spec(|spec| {
        spec.git.allow_insecure_http = Some(true);
        let auth = spec.git.auth.as_mut().unwrap();
        auth.github_app.as_mut().unwrap().api_base_url = Some(app.api_url());
    });
    world.sync(sync).await;
    let resolved = ConditionType::RefResolved;
    world.until_reason("plant", resolved, "GitHubAppExchangeFailed").await;
    world.secret(&secret("app", [("private-key.pem", app.private_key())])).await;
    world.until_announced("plant", &first).await;
}

// B12: another authority is refused, and a rotated one needs no restart.
#[tokio::test(flavor = "multi_thread")]
async fn a_private_authority_is_trusted_as_its_secret_says() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let [old, new] = [Authority::new().unwrap(), Authority::new().unwrap()];
    let server = HttpServer::start_tls(&old.issue(Flaw::None).unwrap()).unwrap();
    let world = World::start().await;
    let trust = async |authority: &Authority| {
        let text = fs::read_to_string(authority.file()).unwrap();
        world.secret(&secret("authority", [("ca.crt", &*text)])).await;
    };
    trust(&old).await;
    let sync = quiet_sync("plant", &server.mount("plant", &repo)).spec(|spec| {
        let name = "authority".to_owned();
        spec.git.ca_secret_ref = Some(SecretRef { name, ..SecretRef::default() });
    });
    world.sync(sync).await;
    world.until_announced("plant", &first).await;
    server.present(&new.issue(Flaw::None).unwrap()).unwrap();
    let second = repo.commit(version("2")).unwrap();
    world.recheck("plant").await;
    let resolved = ConditionType::RefResolved;
    let refused = world.until_reason("plant", resolved, "RemoteUnreachable").await;
    assert!(refused.message.contains("certificate"), "{}", refused.message);
    trust(&new).await;
    world.until_announced("plant", &second).await;
}

// The name resolves nowhere: only the proxy can have answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_git_server_is_reached_through_the_proxy_of_the_spec() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let proxy = HttpServer::start().unwrap();
    proxy.mount("plant", &repo);
    let world = World::start().await;
    let sync = quiet_sync("plant", "http://git.invalid/plant.git");
    let url = format!("http://{}", proxy.address());
    world.sync(sync.spec(|spec| spec.git.proxy = Some(url.clone()))).await;
    let metadata = world.until_announced("plant", &first).await;
    assert_eq!(metadata.git_proxy.map(|it| it.to_string()), Some(url), "agents use it, too");
}

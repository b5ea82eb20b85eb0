//! Claims about secrets: nothing that the operator writes has one.

use std::fs;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use stoker_api::condition::ConditionType;
use stoker_testkit::git::Repo;
use stoker_testkit::git::github::GitHubApp;
use stoker_testkit::git::http::{Auth, HttpServer};
use stoker_testkit::git::ssh::SshServer;
use stoker_testkit::object::secret;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::tell::{free_port, metrics};
use crate::world::{World, eventually, quiet_sync, version};

const TOKEN: &str = "canary+t0ken/5@x%y";
const HMAC: &str = "canary-hmac-4711";
const API_KEY: &str = "canary:api-key-0815";
const BEARER: &str = "canary-bearer-1234";

/// Returns every form of a secret that a careless program could print.
fn forms(text: &str) -> Vec<String> {
    let base64 = |text: &str| {
        let value = serde_json::to_value(ByteString(text.as_bytes().to_vec())).unwrap();
        value.as_str().unwrap().trim_end_matches('=').to_owned()
    };
    let percent = |byte: u8| match byte {
        b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'-' | b'.' | b'_' | b'~' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    let encoded: String = text.bytes().map(percent).collect();
    let basic = base64(&format!("x-access-token:{text}"));
    vec![text.to_owned(), base64(text), basic, encoded]
}

/// A line of a key that no other key has.
fn line(key: &str) -> String {
    let lines: Vec<&str> = key.lines().collect();
    lines[lines.len() / 2].to_owned()
}

async fn post(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\nauthorization: Bearer {BEARER}\r\n\
         content-length: 2\r\n\r\n{{}}"
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await.ok()?;
    response.starts_with("HTTP/1.1 401").then_some(response)
}

/// Returns everything that the operator writes: what it is, a word that it must have, and its text.
async fn sinks(world: &World, metrics_port: u16) -> [(&'static str, &'static str, String); 4] {
    let kinds = "gatewaysyncs,configmaps,events,events.events.k8s.io,roles,rolebindings,leases";
    let mut kubectl = world.namespace.kubectl();
    let output = kubectl.args(["get", kinds, "--output=json"]).output().unwrap();
    let objects = String::from_utf8(output.stdout).unwrap();
    let shown = eventually("there are metrics", || metrics(metrics_port)).await;
    [
        ("objects", "AuthenticationFailed", objects),
        ("metrics", "stoker_webhook_receiver_requests_total", shown),
        ("log", "AuthenticationFailed", world.log()),
        ("arguments", "--mode=all", world.command_line()),
    ]
}

// F1, F2, F30: wrong credentials first, because errors are where secrets leak; then right ones.
#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_in_status_events_config_maps_metrics_arguments_or_logs() {
    let (metrics_port, receiver) = (free_port(), free_port());
    let world = World::with(&[
        "--log-level=trace",
        "--mode=all",
        "--webhook-port=0",
        &format!("--receiver-port={receiver}"),
        &format!("--metrics-bind-address=127.0.0.1:{metrics_port}"),
    ])
    .await;
    let (repo, first) = Repo::with(version("1")).unwrap();
    let http = HttpServer::start().unwrap();
    http.require(Auth::Basic("x-access-token".into(), "another".into()));
    let (app, other) = (GitHubApp::start().unwrap(), GitHubApp::start().unwrap());
    let ssh = tokio::task::spawn_blocking(SshServer::start).await.unwrap().unwrap();
    let ssh_key = fs::read_to_string(ssh.stranger_key().unwrap()).unwrap();
    world.secret(&secret("git", [("token", TOKEN)])).await;
    world.secret(&secret("push", [("hmac-key", HMAC)])).await;
    world.secret(&secret("api", [("apiKey", API_KEY)])).await;
    world.secret(&secret("key", [("ssh-privatekey", &*ssh_key)])).await;
    world.secret(&secret("app", [("private-key.pem", other.private_key())])).await;

    let token = quiet_sync("token", &http.mount("plant", &repo)).token("git");
    let token = token.webhook("push").api_key("api");
    world.sync(token.spec(|spec| spec.git.allow_insecure_http = Some(true))).await;
    world.sync(quiet_sync("ssh", &ssh.url(&repo)).ssh_key("key", None)).await;
    let ids = (app.app_id().parse().unwrap(), app.installation_id().parse().unwrap());
    let by_app = quiet_sync("app", &app.mount("plant", &repo)).github_app(ids, "app");
    let by_app = by_app.spec(|spec| {
        spec.git.allow_insecure_http = Some(true);
        let auth = spec.git.auth.as_mut().unwrap();
        auth.github_app.as_mut().unwrap().api_base_url = Some(app.api_url());
    });
    world.sync(by_app).await;
    let resolved = ConditionType::RefResolved;
    world.until_reason("token", resolved, "AuthenticationFailed").await;
    world.until_reason("ssh", resolved, "AuthenticationFailed").await;
    world.until_reason("app", resolved, "GitHubAppExchangeFailed").await;
    let path = format!("/webhook/{}/token", world.namespace.name());
    eventually("the receiver refuses a stranger", || post(receiver, &path)).await;
    http.require(Auth::Basic("x-access-token".into(), TOKEN.into()));
    world.recheck("token").await;
    world.secret(&secret("app", [("private-key.pem", app.private_key())])).await;
    world.until_announced("token", &first).await;
    world.until_announced("app", &first).await;
    let issued = eventually("agents have the token of the App", || async {
        let found = world.api::<Secret>().get_opt("stoker-github-token-app").await.unwrap()?;
        Some(String::from_utf8(found.data?.remove("token")?.0).unwrap())
    })
    .await;

    let sinks = sinks(&world, metrics_port).await;
    let keys = [&ssh_key, other.private_key(), app.private_key()].map(line);
    let texts = [TOKEN, HMAC, API_KEY, BEARER, &issued].into_iter().map(str::to_owned);
    let canaries: Vec<String> = texts.chain(keys).flat_map(|text| forms(&text)).collect();
    for (sink, known, text) in sinks {
        assert!(text.contains(known), "{sink} has nothing to look at: {text}");
        for canary in &canaries {
            assert!(!text.contains(canary), "{canary} is in {sink}");
        }
    }
}

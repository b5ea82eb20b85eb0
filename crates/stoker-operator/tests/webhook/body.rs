//! Claims about bodies that no API server sends: refused, in little memory, and nothing ends.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hyper::StatusCode;
use hyper::body::Bytes;
use serde_json::{Value, json};
use stoker_testkit::https::{Connection, trusting};
use stoker_testkit::object::{gateway_pod, gateway_sync, profile};

use crate::world::World;

const MIB: usize = 1024 * 1024;
/// What the webhook may take for itself, whatever is sent.
const GROWTH_KIB: u64 = 48 * 1024;
const PATHS: [&str; 2] = ["/mutate-v1-pod", "/validate-stoker"];

impl World {
    /// Opens a connection to the webhook, and trusts what its configuration trusts.
    pub(crate) async fn connect(&self) -> Connection {
        let bundle = crate::certificate::bundle(&self.webhook_configuration());
        Connection::open(self.webhook, trusting(&bundle).unwrap()).await.unwrap()
    }
}

/// The review of a pod that asks for an agent.
pub(crate) fn review(namespace: &str) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "1",
            "kind": { "group": "", "version": "v1", "kind": "Pod" },
            "namespace": namespace,
            "operation": "CREATE",
            "object": gateway_pod("g").seeded().fs_group(1).build(),
        },
    })
}

// D5
#[tokio::test(flavor = "multi_thread")]
async fn bodies_of_strangers_take_little_memory_and_end_nothing() {
    let world = World::start().await;
    world.sync(gateway_sync("plant").mapping(".", "projects")).await;
    let good = review(world.namespace.name());
    let usual = Bytes::from(good.to_string());
    let mut connection = world.connect().await;
    let first = connection.post(PATHS[0], usual.clone()).await.unwrap();
    assert_eq!(first.status, StatusCode::OK);
    let before = world.peak_memory();
    let with = |change: fn(&mut Value)| {
        let mut review = good.clone();
        change(&mut review);
        review.to_string()
    };
    let many = |count: usize| {
        let mut review = good.clone();
        review["request"]["object"]["spec"]["containers"] = json!(vec![json!({}); count]);
        review.to_string()
    };
    let refused: [(&str, String, StatusCode); 10] = [
        ("nothing", String::new(), StatusCode::BAD_REQUEST),
        ("truncated", usual_half(&usual), StatusCode::BAD_REQUEST),
        ("not JSON", "\u{0}\u{ff}".repeat(1000), StatusCode::BAD_REQUEST),
        ("deep", "[".repeat(40_000), StatusCode::BAD_REQUEST),
        ("another version", with(|it| it["apiVersion"] = json!("v2")), StatusCode::BAD_REQUEST),
        ("no request", with(|it| it["request"] = Value::Null), StatusCode::BAD_REQUEST),
        ("a list", with(|it| it["request"]["object"] = json!([1])), StatusCode::BAD_REQUEST),
        ("a million containers", many(1_000_000), StatusCode::PAYLOAD_TOO_LARGE),
        ("a long text", format!("\"{}\"", "x".repeat(4 * MIB - 2)), StatusCode::BAD_REQUEST),
        ("too large", " ".repeat(4 * MIB + 1), StatusCode::PAYLOAD_TOO_LARGE),
    ];
    for (what, body, expected) in &refused {
        for path in PATHS {
            let mut connection = world.connect().await;
            let answer = match connection.post(path, body.clone().into()).await {
                Ok(answer) => answer,
                // The server need not read what it refuses by its length.
                Err(_) if body.len() > 4 * MIB => continue,
                Err(error) => panic!("{what}: {error}"),
            };
            // Of another version only pods are refused.
            let is_read = path == PATHS[1] && answer.status == StatusCode::OK;
            assert!(answer.status == *expected || is_read, "{what}: {}", answer.status);
        }
    }
    let answer = connection.post(PATHS[0], many(20_000).into()).await.unwrap();
    assert_eq!(answer.status, StatusCode::OK);
    // What is not the creation of a pod is let through.
    for change in [
        |it: &mut Value| it["request"]["kind"]["kind"] = json!("Deployment"),
        |it: &mut Value| it["request"]["subResource"] = json!("ephemeralcontainers"),
        |it: &mut Value| it["request"]["operation"] = json!("DELETE"),
        |it: &mut Value| it["request"]["object"] = Value::Null,
    ] {
        let answer = connection.post(PATHS[0], with(change).into()).await.unwrap();
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body["response"], json!({ "uid": "1", "allowed": true }));
    }
    assert_eq!(connection.post(PATHS[0], usual).await.unwrap(), first);
    let grown = world.peak_memory() - before;
    assert!(grown < GROWTH_KIB, "{grown} KiB");
}

// The webhook does not know its callers yet: one that is not the API server learns names, as the
// author of a pod does, and nothing else of a GatewaySync.
#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_learns_names_and_nothing_else_of_a_gatewaysync() {
    let world = World::start().await;
    let hidden = profile().mapping("canary", "canary").exclude("canary/**").var("x", "canary");
    let sync = gateway_sync("plant").repo("https://canary.example.com/canary.git");
    let sync = sync.git_ref("canary").profile("default", hidden).token("pat").api_key("key");
    world.sync(sync).await;
    let mut connection = world.connect().await;
    let body = Bytes::from(review(world.namespace.name()).to_string());
    let answer = connection.post(PATHS[0], body).await.unwrap();
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    let patch = STANDARD.decode(answer["response"]["patch"].as_str().unwrap()).unwrap();
    let patch = String::from_utf8(patch).unwrap();
    assert!(patch.contains("plant") && patch.contains("pat"), "{patch}");
    let answer = answer.to_string();
    assert!(!patch.contains("canary") && !answer.contains("canary"), "{answer}: {patch}");
}

fn usual_half(body: &[u8]) -> String {
    String::from_utf8_lossy(&body[..body.len() / 2]).into_owned()
}

// `cargo xtask test --long` runs it with the program as it ships.
#[cfg(feature = "panic")]
#[tokio::test(flavor = "multi_thread")]
async fn a_panic_ends_one_request_and_no_more() {
    let world = World::start().await;
    world.sync(gateway_sync("plant").mapping(".", "projects")).await;
    let mut connection = world.connect().await;
    let usual = Bytes::from(review(world.namespace.name()).to_string());
    let first = connection.post(PATHS[0], usual.clone()).await.unwrap();
    for _ in 0..100 {
        let answer = connection.post("/panic", Bytes::new()).await.unwrap();
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    }
    assert_eq!(connection.post(PATHS[0], usual).await.unwrap(), first);
    assert!(world.is_ready().await);
}

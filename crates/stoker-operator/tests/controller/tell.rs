//! Claims about what the controller tells besides the status, and about cluster-wide defaults.

use std::collections::BTreeSet;
use std::fs;

use k8s_openapi::api::core::v1::Pod;
use kube::api::DeleteParams;
use serde_json::Value;
use stoker_api::condition::{ConditionType, SyncStatus};
use stoker_api::contract::report::Report;
use stoker_testkit::page::{Page, Section};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::gateway::{events, plant, plant_in};
use crate::world::{World, eventually, report_of, version};

fn audit(world: &World) -> Vec<Value> {
    let log = world.log();
    let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["target"] == "stoker::audit").collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_finished_sync_is_one_line_of_the_audit_trail() {
    let mut plant = plant_in(World::with(&["--cluster-name=north"]).await).await;
    let pod = plant.world.gateway("ignition-0", "plant").await;
    plant.world.report_synced(&pod, "plant").await;
    plant.world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    let world = &plant.world;
    eventually("the sync is in the audit trail", || async {
        (!audit(world).is_empty()).then_some(())
    })
    .await;
    plant.world.restart();
    let failed = Report { message: "no space".into(), ..report_of(&pod, SyncStatus::Error) };
    plant.world.report("plant", &failed).await;
    plant.world.until_reason("plant", ConditionType::Ready, "GatewaysFailed").await;
    let world = &plant.world;
    let lines = eventually("the failure is in the audit trail", || async {
        let lines = audit(world);
        (lines.len() > 1).then_some(lines)
    })
    .await;
    assert_eq!(lines.len(), 2, "once each, also by a controller that started again: {lines:?}");
    let [done, failed] = [&lines[0], &lines[1]];
    assert_eq!((&done["result"], &done["podName"]), (&"success".into(), &"ignition-0".into()));
    assert_eq!(done["commit"], plant.first.as_str());
    assert_ne!(failed["result"], "success");
    assert_eq!((&done["cluster"], &failed["cluster"]), (&"north".into(), &"north".into()));
}

/// Returns a port that is free at this moment.
pub(crate) fn free_port() -> u16 {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port()
}

/// Returns what an operator on this port measures; none before it listens.
pub(crate) async fn metrics(port: u16) -> Option<String> {
    get(port, "/metrics").await
}

/// Asks an operator on this port; none before it listens.
pub(crate) async fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut response = String::new();
    stream.read_to_string(&mut response).await.ok()?;
    Some(response)
}

// F33: a pod that is gone has no series.
#[tokio::test(flavor = "multi_thread")]
async fn the_series_of_a_pod_go_with_it() {
    let port = free_port();
    let flag = format!("--metrics-bind-address=127.0.0.1:{port}");
    let plant = plant_in(World::with(&[&flag, "--cluster-name=north"]).await).await;
    let world = &plant.world;
    let pod = world.gateway("ignition-0", "plant").await;
    world.report_synced(&pod, "plant").await;
    eventually("the pod has series", || async {
        metrics(port).await?.contains("pod=\"ignition-0\"").then_some(())
    })
    .await;
    let shown = metrics(port).await.unwrap();
    let mut samples = shown.lines().filter(|line| line.starts_with("stoker_"));
    assert!(samples.all(|line| line.contains("cluster=\"north\"")), "{shown}");
    let now = DeleteParams::default().grace_period(0);
    world.api::<Pod>().delete("ignition-0", &now).await.unwrap();
    eventually("its series are gone", || async {
        (!metrics(port).await?.contains("ignition-0")).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_push_event_is_told_once() {
    let plant = plant().await;
    let second = plant.repo.commit(version("2")).unwrap();
    plant.world.recheck("plant").await;
    plant.world.until_announced("plant", &second).await;
    let told = eventually("the push event is told", || async {
        let told = events(&plant.world, "WebhookReceived").await;
        (!told.is_empty()).then_some(told)
    });
    let told = told.await;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].note.as_deref(), Some("github reported a change of the repository"));
}

#[tokio::test(flavor = "multi_thread")]
async fn cluster_wide_defaults_reach_agents_and_follow_their_file() {
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("defaults.json");
    fs::write(&path, r#"{"sync": {"defaults": {"vars": {"site": "north"}}}}"#).unwrap();
    let flag = format!("--defaults-file={}", path.display());
    let plant = plant_in(World::with(&[&flag]).await).await;
    let site = |wanted: &'static str| {
        let world = &plant.world;
        async move {
            eventually("agents have the variable", || async {
                let metadata = world.metadata("plant").await?;
                (metadata.profiles["default"].vars.get("site")? == wanted).then_some(())
            })
            .await;
        }
    };
    site("north").await;
    fs::write(&path, r#"{"sync": {"defaults": {"vars": {"site": "south"}}}}"#).unwrap();
    site("south").await;
}

// F17: `kubectl get gs -w` shows each change of state once, as the transcript of docs/status.md does.
#[tokio::test(flavor = "multi_thread")]
async fn an_update_is_seen_change_by_change_and_each_once() {
    let plant = plant().await;
    let world = &plant.world;
    let pod = world.gateway("ignition-0", "plant").await;
    world.report_synced(&pod, "plant").await;
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    let files = tempfile::tempdir().unwrap();
    let shown = files.path().join("shown");
    let page = Page::read("docs/status.md");
    let transcript = page.section("An update, as `kubectl` shows it");
    let (get, describe) = transcript.script.trim_end().split_once('\n').unwrap();
    let kubectl = |line: &str| {
        let mut kubectl = world.namespace.kubectl();
        kubectl.args(line.strip_prefix("kubectl ").unwrap().split(' '));
        kubectl
    };
    let mut watch = kubectl(get);
    watch.stdout(fs::File::create(&shown).unwrap());
    let mut watch = watch.spawn().unwrap();
    let lines = || -> Vec<String> {
        fs::read_to_string(&shown).unwrap().lines().map(ToOwned::to_owned).collect()
    };
    eventually("kubectl shows the plant", || async { (lines().len() >= 2).then_some(()) }).await;
    let second = plant.repo.commit(version("2")).unwrap();
    world.recheck("plant").await;
    world.until_announced("plant", &second).await;
    world.report("plant", &report_of(&pod, SyncStatus::Syncing)).await;
    world.until_reason("plant", ConditionType::Ready, "GatewaysSyncing").await;
    world.report_synced(&pod, "plant").await;
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    let described = kubectl(describe).output().unwrap();
    let last = eventually("kubectl shows the end", || async {
        let lines = lines();
        let is_over = lines.len() > 3 && lines.last()?.contains("True");
        is_over.then_some(lines)
    })
    .await;
    watch.kill().unwrap();
    watch.wait().unwrap();
    let seen = format!("{}\n{}", last.join("\n"), String::from_utf8_lossy(&described.stdout));
    // Events of one second have no order.
    for line in &transcript.shown {
        let line = Section { shown: vec![line.clone()], ..Section::default() };
        assert_eq!(line.missing(&seen), None, "the page shows it: {seen}");
    }
    // The last column is the age.
    let without_age = |line: &String| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        words[..words.len() - 1].join(" ")
    };
    // A push event annotates the GatewaySync, which changes no column.
    let mut states: Vec<String> = last.iter().skip(1).map(without_age).collect();
    states.dedup();
    assert!(states.iter().all(|state| state.starts_with("plant main ")), "{states:#?}");
    let changes = &states[1..];
    let distinct: BTreeSet<&String> = changes.iter().collect();
    assert_eq!(changes.len(), distinct.len(), "a state comes back: {changes:#?}");
}

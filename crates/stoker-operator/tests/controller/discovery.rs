//! Claims about the pods that are found, and about those that cannot be seen.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use serde_json::json;
use stoker_api::condition::{ConditionType, SyncStatus};
use stoker_api::names::{Label, MANAGED_BY};
use stoker_testkit::git::Repo;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::object::gateway_pod;
use stoker_testkit::proxy::{Fault, FaultProxy, Match, Rule, Verb};

use crate::gateway::plant;
use crate::world::{World, cluster, eventually, is_true, quiet_sync, version};

// R90: what ends is left out; what does not run, or runs and fails, is listed and not taken for
// ready. No kubelet is here: a pod with a node ends when its grace period does, which is never.
#[tokio::test(flavor = "multi_thread")]
async fn pods_that_end_are_left_out_and_pods_that_do_not_run_keep_ready_false() {
    let plant = plant().await;
    let world = &plant.world;
    let synced = world.gateway("ignition-0", "plant").await;
    world.report_synced(&synced, "plant").await;
    world.gateway("ignition-1", "plant").await;
    world.gateway("ignition-2", "plant").await;
    let crashing = json!({ "status": { "phase": "Pending" } });
    let api = world.api::<Pod>();
    let parameters = PatchParams::default();
    api.patch_status("ignition-2", &parameters, &Patch::Merge(crashing)).await.unwrap();
    let all = world.until("plant", "all are found", |status| {
        status.gateways.is_some_and(|count| (count.discovered, count.synced) == (3, 1))
    });
    assert!(!is_true(&all.await.status.unwrap(), ConditionType::Ready));
    api.delete("ignition-1", &DeleteParams::default()).await.unwrap();
    let ending = api.get("ignition-1").await.unwrap();
    assert!(ending.metadata.deletion_timestamp.is_some(), "it is there, and ends");
    let rest = world.until("plant", "what ends is left out", |status| {
        status.gateways.is_some_and(|count| count.discovered == 2)
    });
    let status = rest.await.status.unwrap();
    let mut listed: Vec<_> = status.discovered_gateways.iter().map(|it| &*it.pod_name).collect();
    listed.sort_unstable();
    assert_eq!(listed, ["ignition-0", "ignition-2"]);
    assert!(!is_true(&status, ConditionType::Ready));
    let crashing = status.discovered_gateways.iter().find(|it| it.pod_name == "ignition-2");
    assert_eq!(crashing.unwrap().sync_status, Some(SyncStatus::Pending));
}

/// Returns who may read what agents are given.
async fn accounts(world: &World) -> BTreeSet<String> {
    let ours = ListParams::default().labels(&format!("{}={MANAGED_BY}", Label::ManagedBy));
    let bindings = world.api::<RoleBinding>().list(&ours).await.unwrap();
    let subjects = bindings.items.into_iter().flat_map(|it| it.subjects.unwrap_or_default());
    subjects.map(|subject| subject.name).collect()
}

// F22: pods that cannot be listed or watched are not taken for gone, by a controller that runs nor
// by one that starts.
#[tokio::test(flavor = "multi_thread")]
async fn rights_stay_while_pods_cannot_be_listed() {
    let proxy = FaultProxy::start(cluster().config().await).unwrap();
    let mut world = World::behind(&proxy, &[]).await;
    world.restart();
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    world.gateway("ignition-0", "plant").await;
    let granted = eventually("the agent has its rights", || async {
        Some(accounts(&world).await).filter(|accounts| !accounts.is_empty())
    })
    .await;
    let pods = |verb| Match::verb(verb).resource("pods");
    let refused = [Verb::List, Verb::Watch].map(|verb| proxy.fault(pods(verb), Fault::Status(500)));
    proxy.cut_watches(&Match::any().resource("pods"));
    let second = repo.commit(version("2")).unwrap();
    world.recheck("plant").await;
    world.until_announced("plant", &second).await;
    assert_eq!(accounts(&world).await, granted);
    let asked = || refused.iter().map(Rule::hits).sum::<u64>();
    let before = asked();
    world.restart();
    eventually("the controller asks for pods in vain", || async {
        (asked() >= before + 3).then_some(())
    })
    .await;
    assert_eq!(accounts(&world).await, granted);
    proxy.lift_all();
    let third = repo.commit(version("3")).unwrap();
    world.until_announced("plant", &third).await;
    assert_eq!(accounts(&world).await, granted);
}

// F22: neither are pods that are listed and could not be read yet.
#[tokio::test(flavor = "multi_thread")]
async fn a_controller_that_starts_waits_for_pods_that_it_has_to_read() {
    let proxy = FaultProxy::start(cluster().config().await).unwrap();
    let mut world = World::behind(&proxy, &[]).await;
    world.restart();
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    world.pod(gateway_pod("ignition-0").cr("plant").build()).await;
    world.until_reason("plant", ConditionType::SidecarInjected, "SidecarMissing").await;
    world.stop();
    let reads = Match::verb(Verb::Get).resource("pods");
    let refused = proxy.fault(reads, Fault::Status(500));
    proxy.forget();
    world.restart();
    refused.until_hits(3).await;
    let written = Match::writes().resource("gatewaysyncs/status");
    assert_eq!(proxy.count(&written), 0, "{:?}", proxy.tally());
    refused.lift();
    let second = repo.commit(version("2")).unwrap();
    world.until_announced("plant", &second).await;
    world.until_reason("plant", ConditionType::SidecarInjected, "SidecarMissing").await;
}

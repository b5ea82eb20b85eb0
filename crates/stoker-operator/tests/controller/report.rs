//! Claims about reports: how long they stay, and what a blocked deletion comes to.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::DeleteParams;
use stoker_api::condition::{ConditionType, SyncStatus};
use stoker_api::contract::report::{DeletionBlocked, Report};
use stoker_api::names::{self, Annotation};
use stoker_api::word::Commit;
use stoker_testkit::object::gateway_pod;

use crate::gateway::{events, plant, plant_in};
use crate::world::{World, condition, eventually, report_of, version};

/// Returns the pods that have a report.
async fn reported(world: &World) -> Vec<String> {
    let name = names::status_config_map("plant", 0);
    let map = world.api::<ConfigMap>().get(&name).await.unwrap();
    map.data.unwrap_or_default().into_keys().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_report_of_a_pod_goes_some_time_after_the_pod_and_no_other_does() {
    let kept = Duration::from_secs(2);
    let plant = plant_in(World::with(&["--report-kept-seconds=2"]).await).await;
    let world = &plant.world;
    for name in ["ignition-0", "ignition-1"] {
        let pod = world.gateway(name, "plant").await;
        world.report_synced(&pod, "plant").await;
    }
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    let deleted = Instant::now();
    let now = DeleteParams::default().grace_period(0);
    world.api::<Pod>().delete("ignition-0", &now).await.unwrap();
    eventually("the report is removed", || async {
        (reported(world).await == ["ignition-1"]).then_some(())
    })
    .await;
    assert!(deleted.elapsed() >= kept, "{:?}", deleted.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mass_deletion_waits_until_it_is_confirmed_and_the_confirmation_counts_once() {
    let plant = plant().await;
    let world = &plant.world;
    let pod = world.gateway("ignition-0", "plant").await;
    world.report_synced(&pod, "plant").await;
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    let second = plant.repo.commit(version("2")).unwrap();
    world.recheck("plant").await;
    world.until_announced("plant", &second).await;
    let commit = Commit::parse(second.as_str()).unwrap();
    let blocked = DeletionBlocked { commit: commit.clone(), deletes: 40, of: 50 };
    let report = report_of(&pod, SyncStatus::Error);
    let report = Report { deletion_blocked: Some(blocked), ..report };
    world.report("plant", &report).await;
    let kind = ConditionType::DeletionBlocked;
    let found = world.until_reason("plant", kind, "ConfirmationRequired").await;
    assert!(found.message.contains("would delete 40 of 50 files"), "{}", found.message);
    assert_eq!(world.metadata("plant").await.unwrap().allow_mass_delete, None);

    world.annotate("plant", Annotation::AllowMassDelete, second.as_str()).await;
    eventually("agents are told", || async {
        let metadata = world.metadata("plant").await?;
        (metadata.allow_mass_delete.as_ref() == Some(&commit)).then_some(())
    })
    .await;
    world.report_synced(&pod, "plant").await;
    eventually("the confirmation is cleared", || async {
        let annotations = world.get("plant").await.metadata.annotations.unwrap_or_default();
        let is_cleared = !annotations.contains_key(Annotation::AllowMassDelete.as_str());
        let metadata = world.metadata("plant").await?;
        (is_cleared && metadata.allow_mass_delete.is_none()).then_some(())
    })
    .await;
    world.until("plant", "nothing waits", |status| condition(status, kind).is_none()).await;
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_with_a_ref_of_its_own_is_synced_at_its_own_commit() {
    let plant = plant().await;
    let world = &plant.world;
    let other = plant.repo.commit_to("next", version("next")).unwrap();
    let usual = world.gateway("ignition-0", "plant").await;
    let own = gateway_pod("ignition-1").cr("plant").annotation(Annotation::RefOverride, "next");
    let own = world.pod(own.injected().build()).await;
    let target = eventually("the pod is given its commit", || async {
        world.metadata("plant").await?.overrides.remove("ignition-1")
    })
    .await;
    assert_eq!((target.git_ref.as_str(), target.commit.as_str()), ("next", other.as_str()));
    for pod in [&usual, &own] {
        world.report_synced(pod, "plant").await;
    }
    world.until_reason("plant", ConditionType::Ready, "AllSynced").await;
    let status = world.get("plant").await.status.unwrap();
    let all = condition(&status, ConditionType::AllGatewaysSynced).unwrap();
    assert_eq!(all.message, "2/2 synced, 1 overridden");
    assert_eq!(status.last_sync_commit.as_deref(), Some(plant.first.as_str()));
    let found = status.discovered_gateways.iter().find(|it| it.pod_name == "ignition-1");
    assert_eq!(found.unwrap().synced_commit.as_deref(), Some(other.as_str()));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_failures_of_one_pass_are_ten_events_and_one_with_the_count() {
    let mut plant = plant().await;
    plant.world.until_reason("plant", ConditionType::Ready, "NoGatewaysDiscovered").await;
    // No controller runs while the reports are written: the first pass sees all of them.
    plant.world.stop();
    let world = &plant.world;
    for number in 0..13 {
        let pod = world.gateway(&format!("ignition-{number}"), "plant").await;
        let failed = Report { message: "no space".into(), ..report_of(&pod, SyncStatus::Error) };
        world.report("plant", &failed).await;
    }
    plant.world.restart();
    let world = &plant.world;
    world.until_reason("plant", ConditionType::Ready, "GatewaysFailed").await;
    let told = eventually("all failures are told", || async {
        let told = events(world, "SyncFailed").await;
        (told.len() >= 11).then_some(told)
    })
    .await;
    let notes: Vec<String> = told.into_iter().filter_map(|event| event.note).collect();
    let single = notes.iter().filter(|note| note.ends_with(": no space")).count();
    assert_eq!((single, notes.len()), (10, 11), "{notes:?}");
    assert!(notes.contains(&"and 3 more gateways".to_owned()), "{notes:?}");
}

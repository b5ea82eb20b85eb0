//! Claims about GatewaySyncs that never rest.

use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::api::ListParams;
use kube::{Resource, ResourceExt as _};
use serde_json::json;
use stoker_api::names::{Label, MANAGED_BY};
use stoker_testkit::git::Repo;
use stoker_testkit::git::http::HttpServer;

use crate::world::{World, eventually, quiet_sync, version};

const EDITS: usize = 60;
const LIVES: usize = 5;

async fn owners<K>(world: &World) -> Vec<String>
where
    K: Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let ours = ListParams::default().labels(&format!("{}={MANAGED_BY}", Label::ManagedBy));
    let found = world.api::<K>().list(&ours).await.unwrap();
    found
        .iter()
        .flat_map(kube::ResourceExt::owner_references)
        .map(|owner| owner.uid.clone())
        .collect()
}

// C9: the last of many edits counts.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_of_many_quick_edits_is_what_agents_are_given() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let world = World::start().await;
    world.sync(quiet_sync("plant", &server.mount("plant", &repo))).await;
    world.until_announced("plant", &first).await;
    for edit in 1..=EDITS {
        let vars = json!({ "edit": edit.to_string() });
        world.patch("plant", json!({ "spec": { "sync": { "defaults": { "vars": vars } } } })).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    eventually("agents are given the last edit", || async {
        let metadata = world.metadata("plant").await?;
        let edit = metadata.profiles["default"].vars.get("edit")?.clone();
        (edit == EDITS.to_string()).then_some(())
    })
    .await;
    let generation = world.get("plant").await.metadata.generation;
    world
        .until("plant", "the status is of the last edit", |status| {
            status.observed_generation == generation
        })
        .await;
}

// C9, F07: nothing of an earlier GatewaySync of the same name is left, and no pass failed for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_gateway_sync_that_is_deleted_and_made_again_owns_everything_anew() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let world = World::start().await;
    world.gateway("ignition-0", "plant").await;
    let mut uid = None;
    for _ in 0..LIVES {
        if uid.is_some() {
            world.delete("plant").await;
        }
        uid = world.sync(quiet_sync("plant", &url)).await.uid();
        world.until_announced("plant", &first).await;
    }
    let uid = uid.unwrap();
    eventually("everything belongs to the last one", || async {
        let mut all = owners::<ConfigMap>(&world).await;
        let rights = [owners::<Role>(&world).await, owners::<RoleBinding>(&world).await];
        let has_rights = rights.iter().all(|of_kind| !of_kind.is_empty());
        all.extend(rights.into_iter().flatten());
        (has_rights && all.iter().all(|owner| *owner == uid)).then_some(())
    })
    .await;
    assert!(!world.log().contains("a pass failed"), "{}", world.log());
}

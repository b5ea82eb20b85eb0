//! Claims about the rights of agents and of the operator.

use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{PolicyRule, Role};
use kube::api::{Api, DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use stoker_api::condition::ConditionType;
use stoker_testkit::git::Repo;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::object::{GatewaySyncBuilder, gateway_pod, secret};

use crate::policy::{Chart, chart};
use crate::world::{World, condition, eventually, is_true, quiet_sync, version};

async fn may(world: &World, account: &str, verb: &str, config_map: &str) -> bool {
    let namespace = world.namespace.name();
    let review = SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: Some(format!("system:serviceaccount:{namespace}:{account}")),
            resource_attributes: Some(ResourceAttributes {
                namespace: Some(namespace.to_owned()),
                verb: Some(verb.to_owned()),
                resource: Some("configmaps".to_owned()),
                name: Some(config_map.to_owned()),
                ..ResourceAttributes::default()
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    };
    let api: Api<SubjectAccessReview> = Api::all(world.client.clone());
    let answer = api.create(&PostParams::default(), &review).await.unwrap();
    answer.status.unwrap().allowed
}

// S10, F5, R75, R77: exactly the accounts of gateways, exactly their objects, for as long as they are.
#[tokio::test(flavor = "multi_thread")]
async fn agents_read_their_metadata_and_write_their_status_and_nothing_else() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let world = World::start().await;
    for name in ["plant", "other"] {
        world.sync(quiet_sync(name, &url)).await;
        world.until_announced(name, &first).await;
    }
    assert!(!may(&world, "default", "get", "stoker-metadata-plant").await);
    let metadata = ObjectMeta { name: Some("ignition".into()), ..ObjectMeta::default() };
    world.create(&ServiceAccount { metadata, ..ServiceAccount::default() }).await;
    let pod = gateway_pod("ignition-0").cr("plant").service_account("ignition").injected();
    world.pod(pod.build()).await;
    eventually("the agent has its rights", || async {
        may(&world, "ignition", "patch", "stoker-status-plant-0").await.then_some(())
    })
    .await;
    for verb in ["get", "list", "watch"] {
        assert!(may(&world, "ignition", verb, "stoker-metadata-plant").await, "{verb}");
    }
    for (account, verb, name) in [
        ("ignition", "patch", "stoker-metadata-plant"),
        ("ignition", "delete", "stoker-status-plant-0"),
        ("ignition", "get", "stoker-metadata-other"),
        ("ignition", "patch", "stoker-status-other-0"),
        ("default", "get", "stoker-metadata-plant"),
    ] {
        assert!(!may(&world, account, verb, name).await, "{account} {verb} {name}");
    }
    let delete = DeleteParams::default().grace_period(0);
    world.api::<Pod>().delete("ignition-0", &delete).await.unwrap();
    eventually("the rights go with the pod", || async {
        (!may(&world, "ignition", "get", "stoker-metadata-plant").await).then_some(())
    })
    .await;
}

/// Takes a kind of object away from the operator's Role, and returns what the Role was.
async fn take_away(chart: &Chart, kind: &str) -> Role {
    let api = chart.world.api::<Role>();
    let before = api.get(&chart.role).await.unwrap();
    let mut without = before.clone();
    let is_kept = |rule: &PolicyRule| !rule.resources.iter().flatten().any(|it| it == kind);
    without.rules.iter_mut().for_each(|rules| rules.retain(is_kept));
    assert_ne!(without.rules, before.rules, "the Role has {kind}");
    api.replace(&chart.role, &PostParams::default(), &without).await.unwrap();
    let namespace = chart.world.namespace.name();
    eventually("the API server knows it", || async {
        let maps: Api<ConfigMap> = Api::namespaced(chart.operator.clone(), namespace);
        let secrets: Api<Secret> = Api::namespaced(chart.operator.clone(), namespace);
        let refused = if kind == "secrets" {
            secrets.get("git").await.err()?
        } else {
            // The operator may read them for its own sake: the emergency stop is one.
            let try_it = PatchParams { dry_run: true, ..PatchParams::default() };
            let nothing = Patch::Merge(serde_json::json!({}));
            maps.patch("stoker-metadata-plant", &try_it, &nothing).await.err()?
        };
        matches!(refused, kube::Error::Api(status) if status.code == 403).then_some(())
    })
    .await;
    before
}

async fn give_back(chart: &Chart, mut role: Role) {
    role.metadata.resource_version = None;
    let api = chart.world.api::<Role>();
    api.replace(&chart.role, &PostParams::default(), &role).await.unwrap();
}

// C13: a right that is withdrawn is named with its verb and resource, and missed by nobody else.
#[tokio::test(flavor = "multi_thread")]
async fn a_right_that_is_withdrawn_is_named_and_its_return_is_noticed() {
    let (repo, first) = Repo::with(version("1")).unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let chart = chart().await;
    let world = &chart.world;
    world.secret(&secret("git", [("token", "one")])).await;
    let insecure = |sync: GatewaySyncBuilder| {
        sync.spec(|spec| spec.git.allow_insecure_http = Some(true)).token("git")
    };
    world.sync(insecure(quiet_sync("plant", &url))).await;
    world.sync(quiet_sync("public", &url)).await;
    for name in ["plant", "public"] {
        world.until_announced(name, &first).await;
    }
    let secrets = take_away(&chart, "secrets").await;
    world.secret(&secret("git", [("token", "two")])).await;
    let named = world.until("plant", "the missing right is named", |status| {
        let found = condition(status, ConditionType::RefResolved);
        found.is_some_and(|it| it.message.contains("cannot get resource \"secrets\""))
    });
    assert!(!is_true(&named.await.status.unwrap(), ConditionType::Ready));
    let second = repo.commit(version("2")).unwrap();
    world.recheck("public").await;
    world.until_announced("public", &second).await;
    give_back(&chart, secrets).await;
    world.recheck("plant").await;
    world.until_announced("plant", &second).await;
    let maps = take_away(&chart, "configmaps").await;
    let third = repo.commit(version("3")).unwrap();
    world.recheck("plant").await;
    let named = world.until("plant", "the missing right is named", |status| {
        let found = condition(status, ConditionType::Ready);
        found.is_some_and(|it| it.message.contains("cannot patch resource \"configmaps\""))
    });
    assert!(!is_true(&named.await.status.unwrap(), ConditionType::Ready));
    give_back(&chart, maps).await;
    world.until_announced("plant", &third).await;
}

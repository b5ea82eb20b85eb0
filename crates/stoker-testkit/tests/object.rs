//! What the builders make, a real API server accepts.

#![expect(clippy::unwrap_used, reason = "all of this file is test code")]

use std::fmt::Debug;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use stoker_api::names::Annotation;
use stoker_api::{GatewaySync, SyncProfile, crd};
use stoker_testkit::cluster::{Cluster, Namespace};
use stoker_testkit::object::{
    config_map, gateway_pod, gateway_sync, profile, secret, sync_profile,
};

/// Asks the server whether it would take the object, all admission included.
async fn accept<K>(client: &Client, namespace: &Namespace<'_>, object: &K)
where
    K: Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
    K: Clone + Debug + DeserializeOwned + Serialize,
{
    let api = Api::<K>::namespaced(client.clone(), namespace.name());
    let strict = PostParams { dry_run: true, ..PostParams::default() };
    let made = api.create(&strict, object).await.expect("the server takes it");
    assert_eq!(made.name_any(), object.name_any());
}

async fn install_definitions(client: &Client) {
    let definitions = Api::<CustomResourceDefinition>::all(client.clone());
    for definition in crd::all() {
        let name = definition.name_any();
        let apply = PatchParams::apply("stoker-testkit").force();
        definitions.patch(&name, &apply, &Patch::Apply(&definition)).await.unwrap();
        let established = conditions::is_crd_established();
        await_condition(definitions.clone(), &name, established).await.unwrap();
    }
}

#[tokio::test]
async fn gateway_syncs_and_profiles_pass_the_schema_and_its_rules() {
    let (client, namespace) = (Cluster::shared().client().await, Cluster::shared().namespace());
    install_definitions(&client).await;
    let site = profile().mapping("site/projects", "projects").exclude("**/*.bak").var("line", "3");
    let least = || gateway_sync("plant").mapping("projects", "projects");
    let syncs: [GatewaySync; 5] = [
        least().build(),
        least()
            .token("git")
            .polling("5s")
            .gateway_port(8089)
            .api_key("key")
            .webhook("hook")
            .build(),
        least().repo("ssh://git@git.example.com/plant").ssh_key("key", Some("hosts")).build(),
        least().github_app((1, 2), "app").without_polling().paused().build(),
        gateway_sync("plant")
            .profile("site", site.clone())
            .defaults(|it| it.sync_period = Some(5))
            .build(),
    ];
    for sync in &syncs {
        accept(&client, &namespace, sync).await;
    }
    let sync_profile: SyncProfile = sync_profile("site", site).build();
    accept(&client, &namespace, &sync_profile).await;
}

#[tokio::test]
async fn pods_secrets_and_config_maps_are_admitted() {
    let (client, namespace) = (Cluster::shared().client().await, Cluster::shared().namespace());
    // Pods need an account; the namespace's own one may not be there yet.
    let accounts = Api::<ServiceAccount>::namespaced(client.clone(), namespace.name());
    let mut account = ServiceAccount::default();
    account.metadata.name = Some("gateway".to_owned());
    accounts.create(&PostParams::default(), &account).await.unwrap();
    let least = || gateway_pod("ignition-0").service_account("gateway");
    let pods: [Pod; 3] = [
        least().build(),
        least().cr("plant").profile("site").seeded().injected().fs_group(2003).build(),
        least()
            .sync_profile("site")
            .gateway_name("line-3")
            .annotation(Annotation::RefOverride, "v2")
            .label("app.kubernetes.io/name", "ignition")
            .gateway(|gateway| gateway.working_dir = Some("/".to_owned()))
            .build(),
    ];
    for pod in &pods {
        accept(&client, &namespace, pod).await;
    }
    let token: Secret = secret("git", [("token", "t0ken")]);
    accept(&client, &namespace, &token).await;
    let metadata: ConfigMap = config_map("metadata", [("commit", "abc")]);
    accept(&client, &namespace, &metadata).await;
}

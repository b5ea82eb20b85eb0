//! A namespace, and a proxy in front of its API server.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::PostParams;
use kube::{Api, Client, Config};
use serde_json::json;
use stoker_testkit::cluster::{Cluster, Namespace};
use stoker_testkit::proxy::FaultProxy;

/// A namespace, seen directly and through a proxy.
pub(crate) struct World {
    pub(crate) proxy: FaultProxy,
    pub(crate) direct: Api<ConfigMap>,
    pub(crate) proxied: Api<ConfigMap>,
    pub(crate) namespace: Namespace<'static>,
}

pub(crate) async fn world() -> World {
    let cluster = Cluster::shared();
    let namespace = cluster.namespace();
    let proxy = FaultProxy::start(cluster.config().await).unwrap();
    let direct = Api::namespaced(cluster.client().await, namespace.name());
    let proxied = Api::namespaced(client(blunt(&proxy)), namespace.name());
    World { proxy, direct, proxied, namespace }
}

/// A configuration without kube's own retries, so that each fault shows.
pub(crate) fn blunt(proxy: &FaultProxy) -> Config {
    let mut config = proxy.config();
    config.default_retry = false;
    config
}

pub(crate) fn client(config: Config) -> Client {
    Client::try_from(config).unwrap()
}

fn config_map(name: &str) -> ConfigMap {
    serde_json::from_value(json!({ "metadata": { "name": name }, "data": { "key": "value" } }))
        .unwrap()
}

pub(crate) async fn create(api: &Api<ConfigMap>, name: &str) -> kube::Result<ConfigMap> {
    api.create(&PostParams::default(), &config_map(name)).await
}

pub(crate) async fn exists(api: &Api<ConfigMap>, name: &str) -> bool {
    api.get_opt(name).await.unwrap().is_some()
}

//! Many GatewaySyncs with their pods, reports, bindings and Secrets, as a running fleet has them.

use std::fmt;
use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use stoker_api::condition::SyncStatus;
use stoker_api::contract::report::Report;
use stoker_api::word::{Commit, GatewayName};
use stoker_api::{GatewaySync, crd};
use stoker_bench::program::run;
use stoker_testkit::cluster::Cluster;
use stoker_testkit::object::{gateway_pod, gateway_sync};
use tokio::task::JoinSet;

const COMMIT: &str = "8d1c8b69c3fce7bea45c73efd06983e3c419a92f";
/// GatewaySyncs in one namespace.
const PER_NAMESPACE: usize = 20;
/// Namespaces that are filled at the same time.
const AT_ONCE: usize = 12;
const INTERVAL: Duration = Duration::from_millis(100);
const ATTEMPTS: usize = 600;

/// How large it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fleet {
    /// GatewaySyncs.
    pub(crate) syncs: usize,
    /// Gateways of each.
    pub(crate) gateways: usize,
}

impl fmt::Display for Fleet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} GatewaySyncs with {} gateway(s) each", self.syncs, self.gateways)
    }
}

impl Fleet {
    /// Creates it.
    pub(crate) async fn create(self, cluster: &Cluster) -> anyhow::Result<()> {
        let namespace = cluster.namespace();
        for definition in crd::all() {
            namespace.apply(&serde_json::to_string(&definition)?);
        }
        let wait = ["wait", "--for=condition=Established", "--timeout=60s", "crd"];
        run(cluster.kubectl().args(wait).arg("gatewaysyncs.stoker.io"))?;
        let mut tasks = JoinSet::new();
        for number in 0..self.syncs.div_ceil(PER_NAMESPACE) {
            if tasks.len() >= AT_ONCE {
                tasks.join_next().await.context("there are tasks")???;
            }
            let client = cluster.client().await;
            tasks.spawn(self.fill(client, number));
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        Ok(())
    }

    /// Says whether a command printed something about all of it.
    pub(crate) fn is_shown(self, command: &str, text: &str) -> bool {
        if command == "doctor" {
            return text.contains(&format!("{} GatewaySync(s)", self.syncs));
        }
        let rows = text.lines().filter(|line| line.contains("plant-")).count();
        rows >= self.syncs
    }

    async fn fill(self, client: Client, number: usize) -> anyhow::Result<()> {
        let name = format!("line-{number:03}");
        let all: Api<Namespace> = Api::all(client.clone());
        all.create(&PostParams::default(), &object(json!({"metadata": {"name": name}}))?).await?;
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &name);
        for _ in 0..ATTEMPTS {
            if accounts.get_opt("default").await?.is_some() {
                break;
            }
            tokio::time::sleep(INTERVAL).await;
        }
        let place = Place { client, name };
        place
            .create::<Secret>(json!({
                "metadata": {"name": "git-token"}, "stringData": {"token": "x"},
            }))
            .await?;
        for sync in 0..PER_NAMESPACE.min(self.syncs) {
            self.add(&place, &format!("plant-{number:03}-{sync:02}")).await?;
        }
        Ok(())
    }

    async fn add(self, place: &Place, sync: &str) -> anyhow::Result<()> {
        let built = gateway_sync(sync).mapping(".", "projects").token("git-token").build();
        place.create::<GatewaySync>(serde_json::to_value(&built)?).await?;
        place
            .create::<RoleBinding>(json!({
                "metadata": {"name": format!("stoker-sync-{sync}")},
                "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role",
                    "name": format!("stoker-sync-{sync}")},
                "subjects": [{"kind": "ServiceAccount", "name": "default"}],
            }))
            .await?;
        let mut reports = serde_json::Map::new();
        let mut gateways = Vec::new();
        for number in 0..self.gateways {
            let name = format!("{sync}-{number}");
            let pod = gateway_pod(&name).cr(sync).injected().build();
            let pod = place.create::<Pod>(serde_json::to_value(&pod)?).await?;
            let uid = pod.metadata.uid.unwrap_or_default();
            let gateway = GatewayName::parse(&name).map_err(|error| anyhow::anyhow!("{error}"))?;
            let mut report = Report::new(gateway, &name, &uid, SyncStatus::Synced);
            report.commit = Commit::parse(COMMIT).ok();
            reports.insert(name.clone(), json!(report.to_value()));
            gateways.push(json!({
                "name": name, "namespace": place.name, "podName": name, "syncStatus": "Synced",
                "syncedCommit": COMMIT, "agentVersion": "0.1.0", "profile": "default",
            }));
        }
        place
            .create::<ConfigMap>(json!({
                "metadata": {
                    "name": format!("stoker-status-{sync}-0"),
                    "labels": {"app.kubernetes.io/managed-by": "stoker", "stoker.io/cr-name": sync},
                },
                "data": reports,
            }))
            .await?;
        let syncs: Api<GatewaySync> = Api::namespaced(place.client.clone(), &place.name);
        let status = json!({"status": {
            "observedGeneration": 1, "resolvedCommit": COMMIT, "lastSyncCommit": COMMIT,
            "gateways": {"discovered": self.gateways, "synced": self.gateways},
            "discoveredGateways": gateways,
            "conditions": [{
                "type": "Ready", "status": "False", "reason": "GatewaysNotReady",
                "message": "as the benchmark says", "lastTransitionTime": "2026-11-16T12:00:00Z",
            }],
        }});
        syncs.patch_status(sync, &PatchParams::default(), &Patch::Merge(&status)).await?;
        Ok(())
    }
}

/// A namespace.
struct Place {
    client: Client,
    name: String,
}

impl Place {
    async fn create<K>(&self, value: Value) -> anyhow::Result<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + DeserializeOwned
            + Serialize
            + fmt::Debug,
    {
        let all: Api<K> = Api::namespaced(self.client.clone(), &self.name);
        let created = all.create(&PostParams::default(), &object(value)?).await;
        created.with_context(|| format!("failed to create an object in {}", self.name))
    }
}

fn object<K: DeserializeOwned>(value: Value) -> anyhow::Result<K> {
    serde_json::from_value(value).context("it is an object of this kind")
}

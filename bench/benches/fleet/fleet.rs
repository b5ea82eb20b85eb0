//! The objects of a fleet, and how this process plays people and agents.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod, Secret, ServiceAccount};
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::WatchStreamExt as _;
use kube::runtime::watcher::{Config, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::json;
use stoker_api::condition::SyncStatus;
use stoker_api::contract::metadata::Metadata;
use stoker_api::contract::report::Report;
use stoker_api::names::{self, Annotation};
use stoker_api::{GatewaySync, crd};
use stoker_bench::cgroup::Cgroup;
use stoker_bench::program::Program;
use stoker_bench::suite::Flags;
use stoker_core::admission::{Placement, Settings};
use stoker_core::applied::{self, Applied};
use stoker_core::gateway::name_of;
use stoker_testkit::cluster::Cluster;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::{Repo, Tree};
use stoker_testkit::node::succeed;
use stoker_testkit::object::{gateway_pod, gateway_sync, secret};
use tempfile::TempDir;

use crate::Size;
use crate::operator::{AGENT_IMAGE, Operator, Shell};

/// GatewaySyncs of one namespace.
const PER_NAMESPACE: usize = 20;
const REPOSITORIES: usize = 5;
/// The label that finds the pods of one GatewaySync.
const PLANT: &str = "plant";
const AT_ONCE: usize = 32;
const WITHIN: Duration = Duration::from_mins(10);

/// A fleet, and what it takes to change it.
pub(crate) struct Fleet<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) client: Client,
    pub(crate) size: Size,
    pub(crate) repos: Vec<Repo>,
    pub(crate) server: HttpServer,
    program: Program,
    files: TempDir,
    /// How many GatewaySyncs there are.
    count: usize,
    /// How many pods and Secrets there are that do not concern Stoker.
    foreign: (usize, usize),
}

/// The namespace and the name of a GatewaySync.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl<'a> Fleet<'a> {
    /// Makes repositories and definitions, and no GatewaySync yet.
    pub(crate) async fn prepare(
        cluster: &'a Cluster,
        flags: &Flags,
        size: Size,
    ) -> anyhow::Result<Self> {
        let program = match &flags.stoker {
            Some(path) => Program::at(path)?,
            None => Program::built("stoker-operator")?,
        };
        let namespace = cluster.namespace();
        for definition in crd::all() {
            namespace.apply(&serde_json::to_string(&definition)?);
        }
        let wait = ["wait", "--for=condition=Established", "--timeout=60s", "crd", "--all"];
        succeed(cluster.kubectl().args(wait));
        let server = HttpServer::start()?;
        let mut repos = Vec::new();
        for number in 0..REPOSITORIES {
            let (repo, _) = Repo::with(Tree::new().file("projects/a.json", "1"))?;
            server.mount(&format!("plant-{number}"), &repo);
            repos.push(repo);
        }
        let client = cluster.client().await;
        let files = tempfile::tempdir()?;
        let (count, foreign) = (0, (0, 0));
        Ok(Self { cluster, client, size, repos, server, program, files, count, foreign })
    }

    /// Starts an operator that talks to the API server itself.
    pub(crate) fn operator(&self, mode: &str) -> anyhow::Result<Operator> {
        Operator::start(&self.program, Shell::None, self.cluster.kubeconfig(), mode, &Self::log())
    }

    /// Starts an operator within a memory limit, git's processes included.
    pub(crate) fn operator_within(&self, limit: &Cgroup) -> anyhow::Result<Operator> {
        let kubeconfig = self.cluster.kubeconfig();
        let shell = Shell::Within(limit);
        Operator::start(&self.program, shell, kubeconfig, "controller", &Self::log())
    }

    /// Starts an operator that talks to a proxy.
    pub(crate) fn operator_behind(&self, kubeconfig: &str) -> anyhow::Result<Operator> {
        let path = self.files.path().join("proxy.kubeconfig");
        std::fs::write(&path, kubeconfig)?;
        Operator::start(&self.program, Shell::None, &path, "controller", &Self::log())
    }

    fn log() -> PathBuf {
        std::env::temp_dir().join("stoker-bench-fleet.log")
    }

    /// The place of a GatewaySync by its number.
    pub(crate) fn place(number: usize) -> Place {
        let namespace = format!("fleet-{}", number / PER_NAMESPACE);
        Place { namespace, name: format!("plant-{number}") }
    }

    /// How many GatewaySyncs there are.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// All GatewaySyncs.
    pub(crate) fn places(&self) -> Vec<Place> {
        (0..self.count).map(Self::place).collect()
    }

    /// Which repository a GatewaySync has.
    pub(crate) fn repository(number: usize) -> usize {
        number % REPOSITORIES
    }

    /// Makes GatewaySyncs with their gateways until there are so many, with an operator that
    /// serves them, and lets their agents report that all is well.
    pub(crate) async fn grow(&mut self, count: usize) -> anyhow::Result<()> {
        if count <= self.count {
            return Ok(());
        }
        eprintln!("making {count} GatewaySyncs …");
        let operator = self.operator("controller")?;
        let new: Vec<usize> = (self.count..count).collect();
        let namespaces: HashSet<String> =
            new.iter().map(|number| Self::place(*number).namespace).collect();
        self.each(namespaces, async |name| self.namespace(&name).await).await?;
        self.each(new.clone(), async |number| self.make(number).await).await?;
        self.count = count;
        let fleet = &*self;
        fleet
            .each(new, async |number| {
                let place = Self::place(number);
                let metadata = fleet.announced(&place).await?;
                fleet.report_all(&place, &metadata, fleet.size.gateways).await
            })
            .await?;
        let gateways = u32::try_from(self.size.gateways)?;
        self.until_all(|sync| synced(sync) == Some(gateways)).await?;
        drop(operator);
        Ok(())
    }

    /// Makes pods and Secrets that do not concern Stoker until there are so many.
    pub(crate) async fn grow_foreign(&mut self, count: (usize, usize)) -> anyhow::Result<()> {
        eprintln!("making {} pods and {} Secrets of others …", count.0, count.1);
        let before = self.foreign;
        if before == (0, 0) {
            self.namespace("others").await?;
        }
        self.each(before.0..count.0, async |number| {
            let pod = gateway_pod(&format!("other-{number}"))
                .without_annotation(Annotation::Inject)
                .spec(|spec| spec.node_name = Some("node".to_owned()));
            self.create(&pod.namespace("others").build()).await
        })
        .await?;
        self.each(before.1..count.1, async |number| {
            let mut other = secret(&format!("other-{number}"), [("key", "value")]);
            other.metadata.namespace = Some("others".to_owned());
            self.create::<Secret>(&other).await
        })
        .await?;
        self.foreign = count;
        Ok(())
    }

    /// Makes a namespace, and waits until pods can be made there.
    pub(crate) async fn namespace(&self, name: &str) -> anyhow::Result<()> {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        let api: Api<Namespace> = Api::all(self.client.clone());
        match api.create(&PostParams::default(), &namespace).await {
            Ok(_) => {}
            // A smaller fleet has filled a part of it.
            Err(kube::Error::Api(status)) if status.code == 409 => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), name);
        while accounts.get_opt("default").await?.is_none() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    async fn make(&self, number: usize) -> anyhow::Result<()> {
        let place = Self::place(number);
        let url = self.server.url(&format!("plant-{}", Self::repository(number)));
        let sync = gateway_sync(&place.name).namespace(&place.namespace).repo(&url);
        self.create(&sync.mapping("projects", "projects").polling("60s").build()).await?;
        for gateway in 0..self.size.gateways {
            self.pod(&place, gateway).await?;
        }
        Ok(())
    }

    /// Makes the pod of a gateway.
    pub(crate) async fn pod(&self, place: &Place, gateway: usize) -> anyhow::Result<()> {
        let pod = gateway_pod(&format!("{}-{gateway}", place.name)).namespace(&place.namespace);
        let pod = pod
            .cr(&place.name)
            .label(PLANT, &place.name)
            .injected()
            .annotation(Annotation::InjectedHash, &injected_hash(&place.name)?);
        self.create(&pod.spec(|spec| spec.node_name = Some("node".to_owned())).build()).await
    }

    /// Deletes the GatewaySyncs and the pods of a namespace, with an operator that lets them go, so
    /// that what is measured next finds nothing of them.
    pub(crate) async fn clear(&self, namespace: &str) -> anyhow::Result<()> {
        let now = DeleteParams::default().grace_period(0);
        let syncs: Api<GatewaySync> = Api::namespaced(self.client.clone(), namespace);
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let all = ListParams::default();
        drop(pods.delete_collection(&now, &all).await?);
        drop(syncs.delete_collection(&now, &all).await?);
        let started = Instant::now();
        while !syncs.list_metadata(&all).await?.items.is_empty() {
            anyhow::ensure!(started.elapsed() < WITHIN, "{namespace} is not empty");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        Ok(())
    }

    /// Creates an object, however busy the API server is.
    pub(crate) async fn create<K>(&self, object: &K) -> anyhow::Result<()>
    where
        K: kube::Resource<DynamicType = (), Scope = kube::core::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::Serialize
            + serde::de::DeserializeOwned,
    {
        let namespace = object.namespace().context("it has a namespace")?;
        let api: Api<K> = Api::namespaced(self.client.clone(), &namespace);
        api.create(&PostParams::default(), object).await?;
        Ok(())
    }

    /// Does something with each item, several at a time.
    pub(crate) async fn each<T>(
        &self,
        items: impl IntoIterator<Item = T>,
        act: impl AsyncFn(T) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let act = &act;
        stream::iter(items)
            .map(Ok)
            .try_for_each_concurrent(AT_ONCE, async |item| act(item).await)
            .await
    }

    /// Waits until agents of a GatewaySync are given a commit.
    pub(crate) async fn announced(&self, place: &Place) -> anyhow::Result<Metadata> {
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &place.namespace);
        let name = names::metadata_config_map(&place.name);
        let started = Instant::now();
        loop {
            if let Some(map) = api.get_opt(&name).await? {
                let metadata = Metadata::from_data(&map.data.unwrap_or_default())?;
                if metadata.commit.is_some() {
                    return Ok(metadata);
                }
            }
            anyhow::ensure!(started.elapsed() < WITHIN, "{place:?} has no commit");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// Reports for the first gateways of a GatewaySync that they have what they were given.
    pub(crate) async fn report_all(
        &self,
        place: &Place,
        metadata: &Metadata,
        gateways: usize,
    ) -> anyhow::Result<()> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &place.namespace);
        let own = ListParams::default().labels(&format!("{PLANT}={}", place.name));
        let mut data = BTreeMap::new();
        for pod in pods.list_metadata(&own).await?.into_iter().take(gateways) {
            let name = pod.name_any();
            let uid = pod.metadata.uid.context("a pod has a UID")?;
            let value = report(&name, &uid, metadata)?.to_value();
            data.insert(name, value);
        }
        anyhow::ensure!(data.len() == gateways, "{place:?} has {} pods", data.len());
        let api: Api<ConfigMap> = Api::namespaced(self.client.clone(), &place.namespace);
        let name = names::status_config_map(&place.name, 0);
        let patch = Patch::Merge(json!({ "data": data }));
        api.patch_metadata(&name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    /// Waits until every GatewaySync is as it should be; returns how long that took.
    pub(crate) async fn until_all(
        &self,
        holds: impl Fn(&GatewaySync) -> bool,
    ) -> anyhow::Result<Duration> {
        let started = Instant::now();
        let api: Api<GatewaySync> = Api::all(self.client.clone());
        let mut left: HashSet<(String, String)> =
            self.places().into_iter().map(|place| (place.namespace, place.name)).collect();
        let mut changes = std::pin::pin!(watcher(api, Config::default()).applied_objects());
        while !left.is_empty() {
            let next = tokio::time::timeout(WITHIN, changes.try_next()).await;
            let next = next.with_context(|| format!("{} are not there", left.len()))?;
            if let Some(sync) = next?.filter(&holds) {
                left.remove(&(sync.namespace().unwrap_or_default(), sync.name_any()));
            }
        }
        Ok(started.elapsed())
    }
}

/// How many gateways of a GatewaySync are synced, as its status says.
pub(crate) fn synced(sync: &GatewaySync) -> Option<u32> {
    let count = sync.status.as_ref()?.gateways?.synced;
    u32::try_from(count).ok()
}

/// What an agent reports that has what it was given.
pub(crate) fn report(pod: &str, uid: &str, metadata: &Metadata) -> anyhow::Result<Report> {
    let target = metadata.target_of(pod).context("there is a commit")?;
    let hash = applied::hash(&Applied {
        url: &metadata.git_url,
        commit: &target.commit,
        profile: &metadata.profiles["default"],
        exclude_patterns: None,
        gateway_name: None,
    });
    Ok(Report {
        applied: Some(hash),
        commit: Some(target.commit),
        git_ref: Some(target.git_ref),
        synced_at: Some(jiff::Timestamp::now()),
        agent_version: "bench".to_owned(),
        ..Report::new(name_of(None, None, pod), pod, uid, SyncStatus::Synced)
    })
}

/// The hash that the webhook stamps on the pods of a GatewaySync, so that none needs a restart.
fn injected_hash(sync: &str) -> anyhow::Result<String> {
    let settings = Settings {
        default_image: AGENT_IMAGE.parse()?,
        allowed_repositories: Vec::new(),
        pull_secrets: Vec::new(),
    };
    let pod = serde_json::to_string(&gateway_pod("gateway").cr(sync).injected().build())?;
    let view = serde_json::from_str(&pod)?;
    let placement = Placement::of(&view).context("the pod is a gateway")?;
    let sync = gateway_sync(sync).mapping("projects", "projects").build();
    let expected = placement.expected(None, &sync, &settings).context("it would be injected")?;
    Ok(expected.hash)
}

//! Reads the facts. A failed read is a fact, too.
//!
//! Long: one small function per kind of object.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use futures::StreamExt as _;
use futures::future::join4;
use jiff::Timestamp;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, PersistentVolumeClaim, Pod, Secret};
use k8s_openapi::api::rbac::v1::RoleBinding;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, ListParams, PostParams};
use kube::{Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use stoker_api::condition::Reason;
use stoker_api::contract::report::Report;
use stoker_api::names::{GROUP, Label, MANAGED_BY, PAUSE_CONFIG_MAP, STATUS_PREFIX, TRUE};
use stoker_api::{GatewaySync, SyncProfile, crd};
use stoker_core::doctor::{
    CERTIFICATE_SUFFIXES, Certificate, Facts, Key, PodFacts, Unread, WEBHOOK, certificate_owner,
    has_agent, secret_references, trial_pod,
};

use crate::arguments::api;
use crate::cluster::Cluster;
use crate::failure::Failure;

/// Objects in one request. Pods are large, and most of each is dropped.
const PAGE: u32 = 500;
/// Requests at a time.
const AT_ONCE: usize = 16;
/// Namespaces in which a pod is created as a dry run.
const MOST_TRIALS: usize = 5;
/// How the Role of a GatewaySync's agents begins.
const AGENT_ROLE: &str = "stoker-sync-";

/// Reads everything about one namespace, or about all of them.
pub(super) async fn facts(cluster: &Cluster, namespace: Option<&str>) -> Result<Facts, Failure> {
    let mut reader = Reader { cluster, facts: Facts::default() };
    // The lists of a large fleet are many pages, one after another: all lists run side by side.
    let mut lists = Reader { cluster, facts: Facts::default() };
    let mut syncs = Vec::new();
    let all: Api<GatewaySync> = api(&cluster.client, namespace);
    let syncs_read = each(&all, |sync: GatewaySync| syncs.push(slim(sync)));
    let (listed, now, (), ()) =
        join4(syncs_read, server_time(cluster), reader.installation(), lists.namespaced(namespace))
            .await;
    let Facts { pods, sync_profiles, reports, bound, unread, .. } = lists.facts;
    reader.facts.unread.extend(unread);
    let now = now.unwrap_or_else(Timestamp::now);
    reader.facts = Facts { now, syncs, pods, sync_profiles, reports, bound, ..reader.facts };
    // Without these there is nothing to say; without anything else there still is.
    let listed = listed.map_err(|error| cluster.failed("list GatewaySyncs", &error));
    // Where definitions can be read, the missing one is a finding, with the command that installs it.
    match listed {
        Err(failure)
            if failure.reason == Reason::NotInstalled && reader.facts.definitions.is_some() => {}
        listed => listed?,
    }
    reader.labels().await;
    reader.secrets().await;
    reader.claims().await;
    reader.trials().await;
    Ok(reader.facts)
}

/// Drops `managedFields`: no check reads it, and it is half of an object.
fn slim(mut sync: GatewaySync) -> GatewaySync {
    sync.metadata.managed_fields = None;
    for gateway in sync.status.iter_mut().flat_map(|status| &mut status.discovered_gateways) {
        gateway.history = Vec::new();
    }
    sync
}

/// The clock of the API server.
async fn server_time(cluster: &Cluster) -> Option<Timestamp> {
    let request = http::Request::get("/version").body(kube::client::Body::empty()).ok()?;
    let response = cluster.client.send(request).await.ok()?;
    let date = response.headers().get(http::header::DATE)?.to_str().ok()?;
    Some(jiff::fmt::rfc2822::parse(date).ok()?.timestamp())
}

/// Reads all objects, page by page.
async fn each<K>(objects: &Api<K>, mut take: impl FnMut(K)) -> kube::Result<()>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    selected(objects, ListParams::default(), &mut take).await
}

async fn selected<K>(
    objects: &Api<K>,
    parameters: ListParams,
    take: &mut impl FnMut(K),
) -> kube::Result<()>
where
    K: Resource<DynamicType = ()> + Clone + DeserializeOwned + Debug,
{
    let mut parameters = parameters.limit(PAGE);
    loop {
        let page = objects.list(&parameters).await?;
        page.items.into_iter().for_each(&mut *take);
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters.continue_token = Some(token),
            None => return Ok(()),
        }
    }
}

struct Reader<'a> {
    cluster: &'a Cluster,
    facts: Facts,
}

impl Reader<'_> {
    /// Notes a failed read.
    fn note<T>(
        &mut self,
        resource: &str,
        namespace: Option<&str>,
        read: kube::Result<T>,
    ) -> Option<T> {
        let error = match read {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        let (message, is_forbidden) = match &error {
            kube::Error::Api(status) => (status.message.clone(), status.code == 403),
            error => (error.to_string(), false),
        };
        self.facts.unread.push(Unread {
            resource: resource.to_owned(),
            namespace: namespace.map(str::to_owned),
            message,
            is_forbidden,
        });
        None
    }

    async fn installation(&mut self) {
        let client = self.cluster.client.clone();
        let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
        let mut found = BTreeMap::new();
        let mut is_complete = true;
        for ours in crd::all() {
            let name = ours.name_any();
            let read = definitions.get_opt(&name).await;
            match self.note("customresourcedefinitions", None, read) {
                Some(Some(definition)) => drop(found.insert(name, definition)),
                Some(None) => {}
                None => {
                    is_complete = false;
                    break;
                }
            }
        }
        self.facts.definitions = is_complete.then_some(found);
        let operators = self.cluster.operators_or_error().await;
        self.facts.operators = self.note("deployments", None, operators);
        let hooks: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
        let mut webhooks = Vec::new();
        let is_ours = |it: &MutatingWebhookConfiguration| {
            it.webhooks.iter().flatten().any(|hook| hook.name == WEBHOOK)
        };
        let read = each(&hooks, |it| {
            if is_ours(&it) {
                webhooks.push(it);
            }
        })
        .await;
        let read = self.note("mutatingwebhookconfigurations", None, read);
        self.facts.webhooks = read.map(|()| webhooks);
        self.operator_namespaces().await;
        self.certificates().await;
    }

    /// Leases and the emergency stop, where operators are.
    async fn operator_namespaces(&mut self) {
        let operators = self.facts.operators.iter().flatten();
        let namespaces: BTreeSet<String> =
            operators.filter_map(|it| it.metadata.namespace.clone()).collect();
        for namespace in namespaces {
            let leases: Api<Lease> = api(&self.cluster.client, Some(&namespace));
            let mut found = Vec::new();
            let is_ours = |lease: &Lease| lease.name_any().contains(GROUP);
            let read = each(&leases, |lease| {
                if is_ours(&lease) {
                    found.push(lease);
                }
            })
            .await;
            self.note("leases", Some(&namespace), read);
            self.facts.leases.extend(found);
            let maps: Api<ConfigMap> = api(&self.cluster.client, Some(&namespace));
            let read = maps.get_opt(PAUSE_CONFIG_MAP).await;
            let stop = self.note("configmaps", Some(&namespace), read).flatten();
            let data = stop.and_then(|map| map.data).unwrap_or_default();
            if data.get("paused").map(String::as_str) == Some(TRUE) {
                let reason = data.get("reason").cloned().unwrap_or_default();
                self.facts.emergency.insert(namespace, reason);
            }
        }
    }

    async fn certificates(&mut self) {
        let owners: Vec<Key> =
            self.facts.webhooks.iter().flatten().filter_map(certificate_owner).collect();
        for owner in owners {
            let secrets: Api<Secret> = api(&self.cluster.client, Some(&owner.namespace));
            for suffix in CERTIFICATE_SUFFIXES {
                let name = format!("{}{suffix}", owner.name);
                let read = secrets.get_opt(&name).await;
                let secret = self.note("secrets", Some(&owner.namespace), read).flatten();
                let data = secret.and_then(|secret| secret.data).unwrap_or_default();
                let text =
                    |key: &str| data.get(key).map(|it| String::from_utf8_lossy(&it.0).into_owned());
                if let Some(ca) = text("ca.crt") {
                    let ends = text("tls.crt").and_then(|pem| ends(&pem));
                    let key = Key::new(&owner.namespace, &name);
                    self.facts.certificates.insert(key, Certificate { ca, ends });
                }
            }
        }
    }

    /// The lists of one namespace, or of all of them.
    async fn namespaced(&mut self, namespace: Option<&str>) {
        let client = self.cluster.client.clone();
        let mut pods = Vec::new();
        let of_pods: Api<Pod> = api(&client, namespace);
        let pods_read = each(&of_pods, |pod: Pod| pods.extend(PodFacts::of(&pod)));

        let mut profiles = BTreeSet::new();
        let of_profiles: Api<SyncProfile> = api(&client, namespace);
        let profiles_read = each(&of_profiles, |it: SyncProfile| {
            profiles.insert(Key::new(&it.namespace().unwrap_or_default(), &it.name_any()));
        });

        let mut reports = BTreeMap::new();
        let of_maps: Api<ConfigMap> = api(&client, namespace);
        let labels = format!("{}={MANAGED_BY},{}", Label::ManagedBy, Label::CrName);
        let mut take = |map: ConfigMap| {
            if map.name_any().starts_with(STATUS_PREFIX) {
                reports.extend(reports_of(&map));
            }
        };
        let reports_read = selected(&of_maps, ListParams::default().labels(&labels), &mut take);

        let mut bound: BTreeMap<Key, BTreeSet<String>> = BTreeMap::new();
        let of_bindings: Api<RoleBinding> = api(&client, namespace);
        let bound_read = each(&of_bindings, |binding: RoleBinding| {
            let place = binding.namespace().unwrap_or_default();
            let sync = binding.role_ref.name.strip_prefix(AGENT_ROLE);
            if let Some(sync) = sync.filter(|_| binding.role_ref.kind == "Role") {
                let accounts = binding.subjects.into_iter().flatten();
                let accounts = accounts.filter(|it| it.kind == "ServiceAccount");
                let accounts = accounts.map(|it| it.name);
                bound.entry(Key::new(&place, sync)).or_default().extend(accounts);
            }
        });

        let read = join4(pods_read, profiles_read, reports_read, bound_read).await;
        self.note("pods", namespace, read.0);
        // A kind that is not defined has no objects; that is a finding of its own.
        let is_undefined = matches!(&read.1, Err(kube::Error::Api(status)) if status.code == 404);
        if !is_undefined {
            self.note("syncprofiles", namespace, read.1);
        }
        self.note("configmaps", namespace, read.2);
        self.facts.bound = self.note("rolebindings", namespace, read.3).map(|()| bound);
        (self.facts.pods, self.facts.sync_profiles, self.facts.reports) = (pods, profiles, reports);
    }

    /// The labels of namespaces in which pods ask for an agent.
    async fn labels(&mut self) {
        let asking = self.facts.pods.iter().filter(|pod| pod.asks_for_agent());
        let asking: BTreeSet<String> = asking.map(|pod| pod.namespace.clone()).collect();
        let namespaces: Api<Namespace> = Api::all(self.cluster.client.clone());
        let reads = futures::stream::iter(asking).map(|name| {
            let namespaces = namespaces.clone();
            async move {
                let read = namespaces.get_metadata(&name).await;
                (name, read)
            }
        });
        let mut reads = reads.buffer_unordered(AT_ONCE);
        while let Some((name, read)) = reads.next().await {
            match self.note("namespaces", None, read) {
                Some(found) => {
                    self.facts.namespaces.insert(name, found.labels().clone());
                }
                // One right for all of them.
                None => break,
            }
        }
    }

    /// The keys of Secrets; their values are dropped as they come.
    async fn secrets(&mut self) {
        let wanted: BTreeSet<Key> = self
            .facts
            .syncs
            .iter()
            .flat_map(|sync| {
                let namespace = sync.namespace().unwrap_or_default();
                let references = secret_references(sync).into_iter();
                references.map(move |(_, reference)| Key::new(&namespace, &reference.name))
            })
            .collect();
        let client = self.cluster.client.clone();
        let reads = futures::stream::iter(wanted).map(|key| {
            let secrets: Api<Secret> = api(&client, Some(&key.namespace));
            async move {
                let read = secrets.get_opt(&key.name).await;
                let keys =
                    read.map(|it| it.map(|it| it.data.unwrap_or_default().into_keys().collect()));
                (key, keys)
            }
        });
        let mut reads = reads.buffer_unordered(AT_ONCE);
        let mut refused = BTreeSet::new();
        while let Some((key, read)) = reads.next().await {
            match read {
                Ok(keys) => drop(self.facts.secrets.insert(key, keys)),
                Err(error) if refused.insert(key.namespace.clone()) => {
                    self.note("secrets", Some(&key.namespace), Err::<(), _>(error));
                }
                Err(_) => {}
            }
        }
    }

    /// The claims of gateways whose volume is full.
    async fn claims(&mut self) {
        let is_full = |pod: &&PodFacts| {
            let report = self.facts.reports.get(&Key::new(&pod.namespace, &pod.name));
            report.is_some_and(|report| report.reason == Some(Reason::DiskFull))
        };
        let full = self.facts.pods.iter().filter(is_full);
        let wanted: BTreeSet<Key> = full
            .flat_map(|pod| pod.claims.iter().map(|claim| Key::new(&pod.namespace, claim)))
            .collect();
        for key in wanted {
            let claims: Api<PersistentVolumeClaim> =
                api(&self.cluster.client, Some(&key.namespace));
            let read = claims.get_opt(&key.name).await;
            let read = self.note("persistentvolumeclaims", Some(&key.namespace), read);
            if let Some(claim) = read.flatten() {
                self.facts.claims.insert(key, claim);
            }
        }
    }

    /// Creates a pod as a dry run, where pods ask for an agent.
    async fn trials(&mut self) {
        if self.facts.webhooks.as_ref().is_none_or(Vec::is_empty) {
            return;
        }
        let namespaces: Vec<String> =
            self.facts.namespaces.keys().take(MOST_TRIALS).cloned().collect();
        let parameters = PostParams { dry_run: true, ..PostParams::default() };
        for namespace in namespaces {
            let pods: Api<Pod> = api(&self.cluster.client, Some(&namespace));
            let of_namespace =
                |sync: &&GatewaySync| sync.metadata.namespace.as_deref() == Some(&*namespace);
            let sync = self.facts.syncs.iter().find(of_namespace).map(kube::ResourceExt::name_any);
            let pod = trial_pod(sync.as_deref().unwrap_or("stoker-doctor"));
            let read = pods.create(&parameters, &pod).await;
            // Who is denied by the webhook has reached it.
            if matches!(&read, Err(kube::Error::Api(status)) if status.message.contains(WEBHOOK)) {
                self.facts.trials.insert(namespace, true);
                continue;
            }
            if let Some(pod) = self.note("pods", Some(&namespace), read) {
                self.facts.trials.insert(namespace, has_agent(&pod));
            }
        }
    }
}

fn reports_of(map: &ConfigMap) -> Vec<(Key, Report)> {
    let namespace = map.namespace().unwrap_or_default();
    let values = map.data.iter().flatten();
    let reports = values.filter_map(|(pod, value)| {
        Some((Key::new(&namespace, pod), Report::from_value(pod, value).ok()?))
    });
    reports.collect()
}

/// When a certificate ends.
fn ends(pem: &str) -> Option<Timestamp> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(pem.as_bytes()).ok()?;
    let certificate = pem.parse_x509().ok()?;
    Timestamp::from_second(certificate.validity().not_after.timestamp()).ok()
}

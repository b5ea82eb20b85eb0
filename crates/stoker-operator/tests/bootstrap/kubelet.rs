//! What a kubelet would do here: pods of a namespace become ready some time after their creation.
//!
//! It also takes notes, so that a claim can say what happened in between.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, Patch, PatchParams};
use serde_json::json;
use tokio::task::JoinHandle;

const INTERVAL: Duration = Duration::from_millis(100);
/// How long a container takes to start.
const STARTUP: Duration = Duration::from_secs(2);
/// The label that puts a pod into a group.
pub(crate) const GROUP: &str = "group";

/// A kubelet for the pods of one namespace.
pub(crate) struct Kubelet {
    notes: Arc<Mutex<Notes>>,
    task: JoinHandle<()>,
}

/// What happened.
#[derive(Default)]
pub(crate) struct Notes {
    /// When pods went.
    pub(crate) gone: Vec<Instant>,
    /// The fewest ready pods that a group had, after all of it were ready once.
    pub(crate) fewest: BTreeMap<String, usize>,
    seen: HashMap<String, Instant>,
}

impl Kubelet {
    /// Starts to work. Groups have this many pods when they are complete.
    pub(crate) fn start(pods: Api<Pod>, groups: &[(&str, usize)]) -> Self {
        let notes = Arc::new(Mutex::new(Notes::default()));
        let groups = groups.iter().map(|(name, size)| ((*name).to_owned(), *size)).collect();
        let task = tokio::spawn(work(pods, groups, Arc::clone(&notes)));
        Self { notes, task }
    }

    /// Reads the notes.
    pub(crate) fn notes<T>(&self, read: impl FnOnce(&Notes) -> T) -> T {
        read(&self.notes.lock().unwrap())
    }
}

impl Drop for Kubelet {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn work(pods: Api<Pod>, groups: BTreeMap<String, usize>, notes: Arc<Mutex<Notes>>) {
    loop {
        let Ok(listed) = pods.list(&ListParams::default()).await else { continue };
        let due = notes.lock().unwrap().look(&listed.items, &groups);
        for name in due {
            let running = json!({ "status": {
                "phase": "Running",
                "conditions": [{ "type": "Ready", "status": "True" }],
            } });
            let patch = Patch::Strategic(running);
            // It may be gone by now.
            pods.patch_status(&name, &PatchParams::default(), &patch).await.ok();
        }
        tokio::time::sleep(INTERVAL).await;
    }
}

impl Notes {
    /// Notes what changed, and returns the pods that become ready now.
    fn look(&mut self, pods: &[Pod], groups: &BTreeMap<String, usize>) -> Vec<String> {
        let now = Instant::now();
        let before = self.seen.len();
        self.seen.retain(|uid, _| pods.iter().any(|pod| pod.uid().as_ref() == Some(uid)));
        self.gone.extend(std::iter::repeat_n(now, before - self.seen.len()));
        for (group, size) in groups {
            let members = pods.iter().filter(|pod| pod.labels().get(GROUP) == Some(group));
            let ready = members.filter(|pod| is_ready(pod)).count();
            match self.fewest.get_mut(group) {
                Some(fewest) => *fewest = ready.min(*fewest),
                None if ready == *size => {
                    self.fewest.insert(group.clone(), ready);
                }
                None => {}
            }
        }
        let mut due = Vec::new();
        for pod in pods {
            let seen = *self.seen.entry(pod.uid().unwrap()).or_insert(now);
            if seen.elapsed() >= STARTUP && !is_ready(pod) {
                due.push(pod.name_any());
            }
        }
        due
    }
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let mut conditions = conditions.into_iter();
    pod.metadata.deletion_timestamp.is_none()
        && conditions.any(|it| it.type_ == "Ready" && it.status == "True")
}

//! Delivers reports: server-side apply to the agent's own key of a status ConfigMap.
//!
//! # Promises
//! The newest report is delivered, and each one at most once. Every failure is retried, 403 and 404
//! included: the controller makes the object and the rights. A report is written again when the
//! controller has made the object again. Where nothing is announced any more, nothing is delivered.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use stoker_api::chain::Chain;
use stoker_api::names;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use crate::args::Environment;

/// How long the API server may take to answer.
const WITHIN: Duration = Duration::from_secs(15);
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const LONGEST_PAUSE: Duration = Duration::from_secs(6);
/// How often the report on the server is compared with ours, though nothing changed.
const CHECK: Duration = Duration::from_mins(25);

/// A report on its way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Parcel {
    /// The number of the status ConfigMap.
    pub(crate) shard: u8,
    /// The report as JSON.
    pub(crate) value: String,
    /// Changes when every report is to be written again.
    pub(crate) wanted: Option<String>,
}

/// Delivers for ever.
pub(crate) async fn deliver(
    client: kube::Client,
    environment: Arc<Environment>,
    mut parcels: watch::Receiver<Option<Parcel>>,
    delivered: watch::Sender<Option<Parcel>>,
) {
    let courier = Courier::new(client, &environment);
    let mut pause = FIRST_PAUSE;
    loop {
        let next = parcels.borrow_and_update().clone();
        if next.is_none() {
            // The object went with the GatewaySync: there is nothing to compare with.
            delivered.send_replace(None);
        }
        let next = next.filter(|parcel| delivered.borrow().as_ref() != Some(parcel));
        let Some(parcel) = next else {
            courier.wait(&mut parcels, &delivered).await;
            continue;
        };
        let mut later = parcels.clone();
        let brought = tokio::select! {
            brought = courier.bring(&parcel) => brought,
            // Its object goes with the GatewaySync, so it is not retried any more.
            () = async { later.wait_for(Option::is_none).await.ok(); } => continue,
        };
        match brought {
            Ok(()) => {
                pause = FIRST_PAUSE;
                delivered.send_replace(Some(parcel));
            }
            Err(error) => {
                tracing::debug!(error, "the report could not be delivered, it is retried");
                let delay = sleep(pause.mul_f64(0.5 + fastrand::f64()));
                pause = (pause * 2).min(LONGEST_PAUSE);
                tokio::select! {
                    () = delay => {}
                    changed = parcels.changed() => if changed.is_err() { return },
                }
            }
        }
    }
}

struct Courier {
    objects: Api<ConfigMap>,
    cr_name: String,
    pod_name: String,
    parameters: PatchParams,
    started: Instant,
}

impl Courier {
    fn new(client: kube::Client, environment: &Environment) -> Self {
        let objects = Api::namespaced(client, &environment.pod_namespace);
        let pod_name = environment.pod_name.clone();
        let parameters = PatchParams::apply(&field_manager(&pod_name)).force();
        let cr_name = environment.cr_name.clone();
        Self { objects, cr_name, pod_name, parameters, started: Instant::now() }
    }

    async fn bring(&self, parcel: &Parcel) -> Result<(), String> {
        let name = names::status_config_map(&self.cr_name, parcel.shard);
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": { "name": name },
            "data": { self.pod_name.as_str(): parcel.value },
        });
        let patch = Patch::Apply(&object);
        let patched = self.objects.patch(&name, &self.parameters, &patch);
        match timeout(WITHIN, patched).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(Chain(&error).to_string()),
            Err(_) => Err(format!("no answer within {} s", WITHIN.as_secs())),
        }
    }

    /// Waits for the next report. Rarely, it checks that the last one is still there.
    async fn wait(
        &self,
        parcels: &mut watch::Receiver<Option<Parcel>>,
        delivered: &watch::Sender<Option<Parcel>>,
    ) {
        let spread = CHECK.mul_f64(1.0 + fastrand::f64() / 4.0);
        tokio::select! {
            changed = parcels.changed() => {
                // The worker is gone, and this task with it.
                if changed.is_err() { std::future::pending::<()>().await; }
            }
            () = sleep(spread) => {
                let known = delivered.borrow().clone();
                if let Some(parcel) = known && !self.is_there(&parcel).await {
                    tracing::info!(age = ?self.started.elapsed(), "the report was gone, it is written again");
                    delivered.send_replace(None);
                }
            }
        }
    }

    /// Says whether the server has this report; where it can't be asked, it counts as there.
    async fn is_there(&self, parcel: &Parcel) -> bool {
        let name = names::status_config_map(&self.cr_name, parcel.shard);
        match timeout(WITHIN, self.objects.get_opt(&name)).await {
            Ok(Ok(object)) => {
                let data = object.and_then(|object| object.data);
                data.is_some_and(|data| data.get(&self.pod_name) == Some(&parcel.value))
            }
            Ok(Err(_)) | Err(_) => true,
        }
    }
}

/// Returns the field manager of a pod's reports: a pod owns its own key and no other.
pub(crate) fn field_manager(pod_name: &str) -> String {
    let digest = Sha256::digest(pod_name);
    digest.iter().take(8).fold("stoker-agent-".to_owned(), |mut name, byte| {
        write!(name, "{byte:02x}").expect("a string takes any text");
        name
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_manager_is_the_pods_own() {
        // printf plant-0 | sha256sum | cut -c1-16
        assert_eq!(field_manager("plant-0"), "stoker-agent-93a48e91017278f0");
        assert_ne!(field_manager("plant-0"), field_manager("plant-1"));
    }
}

//! The gateway's data: which volume, mounted where, by which container.

use serde_json::Value;
use stoker_api::contract::mount::Volume;
use stoker_api::names::Annotation;

use super::expansion::{self, Unresolved};
use super::pod::{Container, Mount, Pod};
use super::warning::Findings;

/// Where the official image keeps a gateway's data.
pub(super) const IGNITION_DATA: &str = "/usr/local/bin/ignition/data";
/// The volume that a pod without a gateway gets, so that the agent has a place to write to.
pub(super) const OWN_VOLUME: &str = "stoker-data";
/// The gateway's container in the official chart.
const GATEWAY: &str = "gateway";
const USUAL_VOLUMES: [&str; 2] = ["ignition-data", "data"];

/// The data directory of a gateway.
#[derive(Debug)]
pub(super) struct Data<'a> {
    pub(super) volume: &'a str,
    pub(super) path: &'a str,
    pub(super) sub_path: Option<&'a str>,
    pub(super) sub_path_expr: Option<&'a str>,
    /// The variables that `sub_path_expr` needs.
    pub(super) variables: Vec<Value>,
    /// The container that mounts it; none where the volume is ours.
    pub(super) gateway: Option<&'a Container<'a>>,
}

impl<'a> Data<'a> {
    /// Finds the data of a pod's gateway. Where there is none, a volume of our own stands in.
    ///
    /// `None` where the data can't be mounted into the agent at all.
    pub(super) fn find(
        pod: &'a Pod<'a>,
        asked: Option<&'a str>,
        findings: &mut Findings,
    ) -> Option<Self> {
        if let Some(volume) = asked {
            if let Some(data) = Self::on_volume(pod, volume) {
                return data.if_usable(findings);
            }
            findings.fault(format!(
                "{} {volume:?} names no volume that a container mounts",
                Annotation::DataVolume
            ));
        }
        let by_path = at_ignition_path(pod).and_then(|volume| Self::on_volume(pod, volume));
        let usual = || USUAL_VOLUMES.iter().find_map(|volume| Self::on_volume(pod, volume));
        if let Some(data) = by_path.or_else(usual) {
            return data.if_usable(findings);
        }
        findings.fault(format!(
            "the pod is not a gateway: no container mounts a data volume, set {} to its name",
            Annotation::DataVolume
        ));
        Some(Self {
            volume: OWN_VOLUME,
            path: IGNITION_DATA,
            sub_path: None,
            sub_path_expr: None,
            variables: Vec::new(),
            gateway: None,
        })
    }

    fn on_volume(pod: &'a Pod<'a>, volume: &str) -> Option<Self> {
        let mounting = || pod.spec.containers.iter().filter(|container| container.mounts(volume));
        let gateway = mounting()
            .find(|container| &*container.name == GATEWAY)
            .or_else(|| mounting().next())?;
        let mounts = || gateway.volume_mounts.iter().filter(|mount| &*mount.name == volume);
        let mount = mounts().find(|mount| is_ignition_path(mount)).or_else(|| mounts().next())?;
        Some(Self {
            volume: &mount.name,
            path: &mount.path,
            sub_path: mount.sub_path.as_deref().filter(|path| !path.is_empty()),
            sub_path_expr: mount.sub_path_expr.as_deref().filter(|path| !path.is_empty()),
            variables: Vec::new(),
            gateway: Some(gateway),
        })
    }

    /// Two mounts at one path make a pod invalid, and a path that the agent can't expand keeps it
    /// from starting.
    fn if_usable(mut self, findings: &mut Findings) -> Option<Self> {
        let path = self.path.trim_end_matches('/');
        let is_taken = Volume::ALL.iter().any(|volume| volume.path() == path);
        if is_taken || !self.path.starts_with('/') || path.is_empty() {
            findings.fault(format!(
                "the agent is not injected: it can't have the data volume at {:?}",
                self.path
            ));
            return None;
        }
        if let (Some(expression), Some(gateway)) = (self.sub_path_expr, self.gateway) {
            match expansion::needed(expression, &gateway.env) {
                Ok(variables) => self.variables = variables,
                Err(Unresolved { name }) => {
                    findings.fault(format!(
                        "the agent is not injected: it can't know {name:?}, which subPathExpr \
                         {expression:?} needs: define it in the env of the gateway's container"
                    ));
                    return None;
                }
            }
        }
        Some(self)
    }
}

/// Returns the volume that a container of the pod mounts where Ignition keeps its data.
fn at_ignition_path<'a>(pod: &'a Pod<'a>) -> Option<&'a str> {
    let named = |container: &&Container<'_>| &*container.name == GATEWAY;
    let gateways = pod.spec.containers.iter().filter(named);
    let containers = gateways.chain(&pod.spec.containers);
    let mut mounts = containers.flat_map(|container| &container.volume_mounts);
    mounts.find(|mount| is_ignition_path(mount)).map(|mount| &*mount.name)
}

fn is_ignition_path(mount: &Mount<'_>) -> bool {
    mount.path.trim_end_matches('/') == IGNITION_DATA
}

//! What the controller keeps of an injected pod, to tell later whether it has to be restarted.

use stoker_api::GatewaySync;

use super::data::Data;
use super::warning::Findings;
use super::{Asked, Chosen, Pod, Settings, hash, image, volume};

/// Where the agent of a pod has the gateway's data: small enough to be kept for every pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    volume: String,
    path: String,
    sub_path: Option<String>,
    sub_path_expr: Option<String>,
}

/// What a pod would be injected with now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The image of the agent.
    pub image: String,
    /// The value of the annotation `stoker.io/injected-hash`.
    pub hash: String,
}

impl Placement {
    /// Finds where a pod has its data. `None` where it would not get an agent.
    pub fn of(pod: &Pod<'_>) -> Option<Self> {
        let mut findings = Findings::default();
        let asked = Asked::read(pod, &mut findings);
        let data = Data::find(pod, asked.data_volume, &mut findings)?;
        Some(Self {
            volume: data.volume.to_owned(),
            path: data.path.to_owned(),
            sub_path: data.sub_path.map(ToOwned::to_owned),
            sub_path_expr: data.sub_path_expr.map(ToOwned::to_owned),
        })
    }

    /// Returns what the pod would be injected with now. `asked` is the pod's annotation
    /// `stoker.io/agent-image`.
    pub fn expected(
        &self,
        asked: Option<&str>,
        sync: &GatewaySync,
        settings: &Settings,
    ) -> Option<Expected> {
        let name = sync.metadata.name.as_deref()?;
        let chosen = Chosen { name, sync: Some(sync), is_derived: false };
        let image = image::resolve(asked, chosen.sync, settings, &mut Findings::default());
        let data = Data {
            volume: &self.volume,
            path: &self.path,
            sub_path: self.sub_path.as_deref(),
            sub_path_expr: self.sub_path_expr.as_deref(),
            variables: Vec::new(),
            gateway: None,
        };
        let hash = hash::of(&image, &volume::secrets(chosen), &data);
        Some(Expected { image: image.to_string(), hash })
    }
}

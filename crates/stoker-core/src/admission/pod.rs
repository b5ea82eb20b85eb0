//! What is read of a pod: a view that borrows from the request and skips what is not needed.

use std::borrow::{Borrow, Cow};
use std::collections::BTreeMap;
use std::fmt::{self, Formatter};
use std::ops::Deref;

use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use serde_json::Value;
use stoker_api::names::AGENT_CONTAINER;

use super::data::OWN_VOLUME;

/// A string of the request, borrowed unless it holds an escape.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Text<'a>(Cow<'a, str>);

/// A pod of which only the annotations are read.
#[derive(Debug, Default, Deserialize)]
pub struct Peek<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    metadata: PeekMetadata<'a>,
}

#[derive(Debug, Default, Deserialize)]
struct PeekMetadata<'a> {
    #[serde(borrow, default, deserialize_with = "nullable")]
    annotations: BTreeMap<Text<'a>, Text<'a>>,
}

/// A pod.
#[derive(Debug, Default, Deserialize)]
pub struct Pod<'a> {
    /// Its metadata.
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub metadata: Metadata<'a>,
    /// Its spec.
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub spec: Spec<'a>,
}

/// The metadata of a pod.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Metadata<'a> {
    /// Its name; a pod of a controller has none yet.
    #[serde(borrow, default)]
    pub name: Option<Text<'a>>,
    /// How its name will begin.
    #[serde(borrow, default)]
    pub generate_name: Option<Text<'a>>,
    /// Its annotations.
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub annotations: BTreeMap<Text<'a>, Text<'a>>,
    /// Its labels.
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub labels: BTreeMap<Text<'a>, Text<'a>>,
}

/// The spec of a pod.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Spec<'a> {
    /// The node that has taken it.
    #[serde(borrow, default)]
    pub node_name: Option<Text<'a>>,
    /// Its service account.
    #[serde(borrow, default)]
    pub service_account_name: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub(super) init_containers: Vec<Container<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub(super) containers: Vec<Container<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub(super) volumes: Vec<Named<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub(super) image_pull_secrets: Vec<Named<'a>>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) security_context: SecurityContext,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) host_network: bool,
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub(super) os: Named<'a>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub(super) node_selector: BTreeMap<Text<'a>, Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Container<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default)]
    pub(super) image: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) restart_policy: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub(super) volume_mounts: Vec<Mount<'a>>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) ports: Vec<Port>,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) security_context: SecurityContext,
    #[serde(default, deserialize_with = "nullable")]
    pub(super) env: Vec<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Mount<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, default, rename = "mountPath")]
    pub(super) path: Text<'a>,
    #[serde(borrow, default)]
    pub(super) sub_path: Option<Text<'a>>,
    #[serde(borrow, default)]
    pub(super) sub_path_expr: Option<Text<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Port {
    #[serde(default)]
    pub(super) container_port: Option<i64>,
    #[serde(default)]
    pub(super) host_port: Option<i64>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SecurityContext {
    #[serde(default)]
    pub(super) run_as_user: Option<i64>,
    #[serde(default)]
    pub(super) run_as_group: Option<i64>,
    #[serde(default)]
    pub(super) fs_group: Option<i64>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Named<'a> {
    #[serde(borrow, default)]
    pub(crate) name: Text<'a>,
}

impl Peek<'_> {
    /// Returns an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.get(name).map(|value| &**value)
    }
}

impl Metadata<'_> {
    pub(crate) fn display_name(&self) -> &str {
        let name = self.name.as_deref().filter(|name| !name.is_empty());
        name.or(self.generate_name.as_deref()).unwrap_or_default()
    }
}

impl Pod<'_> {
    /// Returns an annotation.
    pub fn annotation(&self, name: &str) -> Option<&str> {
        self.metadata.annotations.get(name).map(|value| &**value)
    }

    /// Returns a label.
    pub fn label(&self, name: &str) -> Option<&str> {
        self.metadata.labels.get(name).map(|value| &**value)
    }

    /// Returns its name, or how its name will begin, for logs.
    pub fn display_name(&self) -> &str {
        self.metadata.display_name()
    }

    /// Returns the image of its agent; none where it has no agent.
    pub fn agent_image(&self) -> Option<&str> {
        let agent = self.all_containers().find(|it| &*it.name == AGENT_CONTAINER)?;
        Some(agent.image.as_deref().unwrap_or_default())
    }

    /// Says whether the webhook gave its agent a volume of its own, for want of a gateway's data.
    pub fn lacks_gateway(&self) -> bool {
        self.has_volume(OWN_VOLUME)
    }

    pub(super) fn fs_group(&self) -> Option<i64> {
        self.spec.security_context.fs_group
    }

    pub(super) fn is_for_windows(&self) -> bool {
        let selected = self.spec.node_selector.get("kubernetes.io/os").map(|value| &**value);
        &*self.spec.os.name == "windows" || selected == Some("windows")
    }

    /// Returns every container, those of the init phase first.
    pub(super) fn all_containers(&self) -> impl Iterator<Item = &Container<'_>> {
        self.spec.init_containers.iter().chain(&self.spec.containers)
    }

    pub(super) fn has_volume(&self, name: &str) -> bool {
        self.spec.volumes.iter().any(|volume| &*volume.name == name)
    }
}

impl Container<'_> {
    pub(super) fn mounts(&self, volume: &str) -> bool {
        self.volume_mounts.iter().any(|mount| &*mount.name == volume)
    }

    pub(super) fn is_sidecar(&self) -> bool {
        self.restart_policy.as_deref() == Some("Always")
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for Text<'_> {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Borrowing;

        impl<'de> Visitor<'de> for Borrowing {
            type Value = Text<'de>;

            fn expecting(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
                formatter.write_str("a string")
            }

            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E: de::Error>(self, text: String) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text)))
            }
        }

        deserializer.deserialize_str(Borrowing)
    }
}

/// Reads `null` as what is there without a value.
pub(crate) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

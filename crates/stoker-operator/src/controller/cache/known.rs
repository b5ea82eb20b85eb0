//! A GatewaySync as the watch has seen it.

use std::sync::Arc;

use kube::core::DeserializeGuard;
use kube::core::error_boundary::InvalidObject;
use stoker_api::GatewaySync;

/// A GatewaySync as far as it could be read.
#[derive(Debug, Clone)]
pub(crate) enum Known {
    /// It was read.
    Sync(Arc<GatewaySync>),
    /// It could not be read.
    Undecodable(Undecodable),
}

/// A GatewaySync or SyncProfile that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Undecodable {
    /// What is wrong with it.
    pub(crate) fault: String,
    /// Its UID.
    pub(crate) uid: Option<String>,
    /// Its generation.
    pub(crate) generation: Option<i64>,
    /// Its version.
    pub(crate) resource_version: Option<String>,
    /// Its finalizers.
    pub(crate) finalizers: Vec<String>,
    /// Whether it is being deleted.
    pub(crate) is_deleted: bool,
}

impl Known {
    /// Says whether two versions differ in nothing but their status.
    pub(super) fn is_same_but_status(&self, before: &Self) -> bool {
        let (now, before) = match (self, before) {
            (Self::Sync(now), Self::Sync(before)) => (&now.metadata, &before.metadata),
            (Self::Undecodable(now), Self::Undecodable(before)) => {
                return now.is_same(before);
            }
            (Self::Sync(_), Self::Undecodable(_)) | (Self::Undecodable(_), Self::Sync(_)) => {
                return false;
            }
        };
        now.uid == before.uid
            && now.generation == before.generation
            && now.annotations == before.annotations
            && now.labels == before.labels
            && now.finalizers == before.finalizers
            && now.deletion_timestamp == before.deletion_timestamp
    }
}

impl Undecodable {
    /// Says whether the same is wrong with two versions.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.uid == other.uid
            && self.generation == other.generation
            && self.fault == other.fault
            && self.is_deleted == other.is_deleted
    }
}

impl From<DeserializeGuard<GatewaySync>> for Known {
    fn from(guard: DeserializeGuard<GatewaySync>) -> Self {
        match guard.0 {
            Ok(mut sync) => {
                sync.metadata.managed_fields = None;
                Self::Sync(Arc::new(sync))
            }
            Err(invalid) => Self::Undecodable(invalid.into()),
        }
    }
}

impl From<InvalidObject> for Undecodable {
    fn from(invalid: InvalidObject) -> Self {
        Self {
            fault: invalid.error,
            uid: invalid.metadata.uid,
            generation: invalid.metadata.generation,
            resource_version: invalid.metadata.resource_version,
            finalizers: invalid.metadata.finalizers.unwrap_or_default(),
            is_deleted: invalid.metadata.deletion_timestamp.is_some(),
        }
    }
}

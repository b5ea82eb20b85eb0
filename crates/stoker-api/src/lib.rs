//! The words of Stoker: custom resources, conditions, names, and the contract between its parts.
//!
//! Every other crate speaks these words. There is no I/O, no async and no clock here.
//!
//! | module | words |
//! |---|---|
//! | [`gatewaysync`], [`syncprofile`], [`podbootstrap`] | the custom resources that users write |
//! | [`condition`] | condition types, reasons, events, the states of a gateway |
//! | [`names`], [`limit`] | annotations, labels, object names, ports, limits: each spelled once |
//! | [`contract`] | what controller, webhook and agent owe each other |
//! | [`word`] | strings with a meaning: commits, refs, paths, URLs, intervals, secrets |
//! | [`crd`] | the definitions of the custom resources, as they are installed |
//! | [`chain`] | the one printer of errors |
//! | [`warning`], [`retry`], [`remedy`] | what a run warns of; when it is tried again; what helps |
//!
//! With the feature `generate`, `generated` turns all of this into the CRD files and the reference
//! pages. With `validate`, `validation` judges a manifest as the API server would.

pub mod chain;
pub mod condition;
pub mod contract;
pub mod crd;
pub mod gatewaysync;
#[cfg(feature = "generate")]
pub mod generated;
pub mod limit;
pub mod names;
pub mod podbootstrap;
mod registry;
pub mod remedy;
pub mod retry;
mod rule;
mod schema;
pub mod syncprofile;
#[cfg(feature = "validate")]
pub mod validation;
pub mod warning;
pub mod word;

pub use gatewaysync::GatewaySync;
pub use podbootstrap::PodBootstrap;
pub use syncprofile::SyncProfile;

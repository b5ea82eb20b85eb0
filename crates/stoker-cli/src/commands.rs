//! One file per command.

pub(crate) mod bootstrap;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod dev;
pub(crate) mod doctor;
pub(crate) mod logs;
pub(crate) mod migrate;
pub(crate) mod pause;
pub(crate) mod plan;
pub(crate) mod reference;
pub(crate) mod render;
pub(crate) mod status;
pub(crate) mod sync;
pub(crate) mod sync_now;
pub(crate) mod watch;

//! One file per command.

pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod dev;
pub(crate) mod plan;
pub(crate) mod reference;
pub(crate) mod sync;
pub(crate) mod sync_now;
pub(crate) mod watch;

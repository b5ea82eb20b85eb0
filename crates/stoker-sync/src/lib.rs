//! The file engine of Stoker: brings a directory to exactly the state of a commit, safely.
//!
//! It does not know Kubernetes, git or the gateway's API. A [`source::Source`] says what a commit
//! holds; everything else follows from that, the mappings, and the manifest of the last sync. All
//! functions block; long loops check a [`Cancel`].

pub mod apply;
mod cancel;
pub mod compose;
mod dir_stamp;
mod disk;
pub mod drift;
mod engine;
pub mod file_lock;
mod halves;
mod hash;
pub mod input_file;
mod journal;
mod lfs;
pub mod lock;
mod manifest;
pub mod manipulate;
mod ownership;
pub mod path;
pub mod plan;
pub mod recover;
pub mod report;
pub mod request;
pub mod reserved;
pub mod source;
pub mod space;
mod survey;
#[cfg(test)]
mod testing;
mod transform;
pub mod warning;
mod workdir;
pub mod write;

pub use cancel::{Cancel, Cancelled};
pub use disk::DiskError;
pub use engine::{
    EarlyCheck, Engine, Interrupted, Missing, OpenError, Opened, Options, View, Written,
};
pub use halves::{Half, Halves};
pub use path::RelPath;
pub use plan::Plan;
pub use report::Report;
pub use request::Request;
pub use workdir::{Scope, WorkDir};

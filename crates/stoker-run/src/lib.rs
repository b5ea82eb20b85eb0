//! One run of Stoker, for the CLI and for the agent: it connects git, the engine and the gateway
//! to each other.
//!
//! It does not resolve refs, does not read flags or objects of a cluster, and prints nothing: the
//! caller does, from the [`RunReport`] and the [`Error`].
//!
//! # Flow
//!
//! ```text
//! recover(target)                      finish or undo what a killed run left, before git is contacted
//!   └─ check_while(resolve)            drift check of the live files while the remote resolves the ref
//! sync(target, content, recovered)     open ─ plan ─ ask gateway ─ write ─ lock ─ apply ─ scan
//!   └─ Ok(RunReport)                   everything that was done, as data
//!   └─ Err(Failed { report, error })   what was done before that, and which step failed
//! ```
//!
//! [`plan`] ends after planning. [`scan_owed`] only makes up for scans that earlier runs owe.
//! [`state()`] reads what is applied, without a run.
//!
//! # What blocks
//!
//! Everything. No function here is `async`, and none needs the runtime of its caller: git is a
//! subprocess, the engine uses blocking system calls, and the gateway's client has a small runtime
//! of its own. So an asynchronous caller runs one whole `recover` and `sync` on a thread where
//! blocking is allowed (`tokio::task::spawn_blocking`), never on an async worker.
//!
//! # Cancelling
//!
//! Clone the [`Cancel`] and call [`Cancel::cancel`]. A run that has not begun to rename is undone
//! and fails with an error that [is cancelled](Error::is_cancelled). A run that has begun to rename
//! finishes the renames; its scan stays owed and the report says so.

mod content;
mod contract;
mod early_check;
mod error;
mod gateway_session;
pub mod profile;
mod progress;
mod recover;
mod report;
mod run;
mod scan_lock;
mod state;
mod target;
mod warning;

pub use content::{CommitContent, Content};
pub use error::{Error, Failed, git_reason};
pub use progress::{Phase, Progress, Silent};
pub use recover::{Recovered, inspect, recover};
pub use report::{Durations, Outcome, Repair, RunReport, Scans};
pub use run::{plan, scan_owed, sync};
pub use state::{State, state};
pub use target::{GatewayAbsence, GatewayTarget, Target};
pub use warning::Warning;

/// The errors of the steps, for a program that explains them to its user.
pub mod step {
    pub use stoker_sync::{OpenError, apply, compose, lock, manipulate, plan, source, write};
}

pub use stoker_api::retry::Retry;
pub use stoker_core::refs::Resolution;
pub use stoker_ignition::Scan;
pub use stoker_sync::manipulate::Values;
pub use stoker_sync::path::Quoted;
pub use stoker_sync::plan::{Action, Change, DriftKind, Drifted, MassDeletion};
pub use stoker_sync::recover::Finished;
pub use stoker_sync::report::{Listed, MOST_LISTED};
pub use stoker_sync::request::{Deletion, DriftCheck, Excess, Mapping, Origin};
pub use stoker_sync::{
    Cancel, DiskError, Halves, Missing, OpenError, Options, RelPath, Scope, WorkDir,
};

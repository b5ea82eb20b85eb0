//! The front door: open a data directory, plan, write, apply.
//!
//! ```text
//! let mut engine = match Engine::open(&options, &cancel)? {     // lock the data directory
//!     Opened::Ready(engine) => engine,
//!     Opened::Interrupted(run) => run.finish(&mut renew)?,      // a killed run; scan lock first
//! };
//! let plan = engine.plan(&mut source, &request, &cancel)?;      // a dry run ends here
//! let written = engine.write(plan, &mut source, &cancel)?;      // durable, not yet visible
//! let report = written.apply(&mut renew)?;                      // renames, deletes, manifest
//! engine.record_scanned(halves)?;                               // the gateway has read them
//! ```

mod early_check;
mod plan;
mod resource_json;
#[cfg(test)]
mod tests;
mod view;
mod written;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use early_check::EarlyCheck;
pub use view::View;
pub use written::Written;

use rustix::fs::{Mode, OFlags};
use view::{SETTLED, is_left, volume};

use crate::cancel::Cancel;
use crate::disk::{Dir, DiskError};
use crate::halves::Halves;
use crate::lock::{self, Lock};
use crate::path::RelPath;
use crate::plan::Plan;
use crate::recover::{self, Left, Recovered, Unfinished};
use crate::request::Request;
use crate::reserved::STATE_DIR;
use crate::source::Source;
use crate::write;

/// The permission bits of everyone but the owner.
const OTHERS: u32 = 0o077;

/// How a data directory is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// The data directory.
    pub data: PathBuf,
    /// Whether a missing one is made.
    pub missing: Missing,
    /// How long to wait for another run to end.
    pub lock_timeout: Duration,
    /// Symbolic links below the data directory that are followed, each to a directory.
    pub follow: Vec<RelPath>,
}

/// What happens if there is no data directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// An error: a typing mistake must not become a directory.
    Refuse,
    /// It is made.
    Create,
}

/// A data directory, locked for this run.
#[derive(Debug)]
pub struct Engine {
    view: View,
    state: Dir,
    lock: Lock,
}

/// A data directory that was opened.
#[derive(Debug)]
pub enum Opened {
    /// It can be planned and written.
    Ready(Engine),
    /// A run was killed after its renames had begun. It has to be finished first.
    Interrupted(Interrupted),
}

/// A data directory, locked, with a run that was killed after its renames had begun.
///
/// Finishing it changes live files. A value that is dropped leaves everything as it is.
#[derive(Debug)]
pub struct Interrupted {
    root: Dir,
    state: Dir,
    lock: Lock,
    data: PathBuf,
    unfinished: Unfinished,
}

/// Why a data directory could not be opened.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum OpenError {
    #[error("failed to open the data directory")]
    Disk { source: DiskError },
    #[error("failed to lock the data directory")]
    Lock { source: lock::Error },
    #[error("failed to recover the data directory")]
    Recover { source: DiskError },
}

impl Opened {
    /// Returns the engine of a data directory without a gateway: a killed run is finished at once.
    pub fn finish(self) -> Result<Engine, OpenError> {
        match self {
            Self::Ready(engine) => Ok(engine),
            Self::Interrupted(run) => run.finish(&mut || {}),
        }
    }
}

impl Interrupted {
    /// Returns the halves of the gateway in which files will change.
    pub fn halves(&self) -> Halves {
        self.unfinished.halves()
    }

    /// Finishes the run. `renew` is called between two directories, as in [`Written::apply`].
    pub fn finish(self, renew: &mut dyn FnMut()) -> Result<Engine, OpenError> {
        let Self { root, state, lock, data, unfinished } = self;
        let recovered = unfinished.finish(&root, &state, renew);
        let recovered = recovered.map_err(|source| OpenError::Recover { source })?;
        Engine::ready(root, state, lock, &data, recovered)
    }
}

impl Engine {
    /// Opens and locks a data directory, and undoes what a run left that was killed before its
    /// renames.
    pub fn open(options: &Options, cancel: &Cancel) -> Result<Opened, OpenError> {
        let disk = |source| OpenError::Disk { source };
        if options.missing == Missing::Create {
            crate::disk::create_root(&options.data).map_err(disk)?;
        }
        let root = Dir::open_root(&options.data).map_err(disk)?;
        let root = root.following(&options.follow).map_err(disk)?;
        let state = root.open_or_make_dir(STATE_DIR.as_bytes(), 0o700).map_err(disk)?;
        restrict_state_dir(&root, &options.data);
        let lock = Lock::take(&state, options.lock_timeout, cancel);
        let mut lock = lock.map_err(|source| OpenError::Lock { source })?;
        let root = root.with_modes(lock.modes(&state).map_err(disk)?);
        if is_left(&root, &state).map_err(disk)? {
            // Finishing may have to wait for the gateway, and others then wait for us. That it
            // can't be written, for example on a full volume, does not stop it.
            drop(lock.write_holder(&state));
        }
        let left = recover::inspect(&root, &state);
        match left.map_err(|source| OpenError::Recover { source })? {
            Left::Nothing(recovered) => {
                Self::ready(root, state, lock, &options.data, recovered).map(Opened::Ready)
            }
            Left::Unfinished(unfinished) => {
                let data = options.data.clone();
                Ok(Opened::Interrupted(Interrupted { root, state, lock, data, unfinished }))
            }
        }
    }

    fn ready(
        root: Dir,
        state: Dir,
        mut lock: Lock,
        data: &Path,
        recovered: Recovered,
    ) -> Result<Self, OpenError> {
        let disk = |source| OpenError::Disk { source };
        let Recovered { manifest, warnings: notices, finished } = recovered;
        lock.clean(&state).map_err(disk)?;
        let volume = volume(&root, data).map_err(disk)?;
        let own = root.open(STATE_DIR.as_bytes()).map_err(disk)?;
        let view =
            View { root, state: Some(own), manifest, notices, finished, volume, early_check: None };
        Ok(Self { view, state, lock })
    }

    /// Plans what would bring the data directory to the state of the source. Writes nothing.
    pub fn plan(
        &mut self,
        source: &mut dyn Source,
        request: &Request,
        cancel: &Cancel,
    ) -> Result<Plan, crate::plan::Error> {
        self.view.plan(source, request, cancel)
    }

    /// Writes the new files of a plan and makes them durable. Nothing is visible yet.
    pub fn write(
        &mut self,
        plan: Plan,
        source: &mut dyn Source,
        cancel: &Cancel,
    ) -> Result<Written<'_>, write::Error> {
        Written::write(self, plan, source, cancel)
    }

    /// Remembers that the gateway has scanned these halves.
    pub fn record_scanned(&mut self, scanned: Halves) -> Result<(), DiskError> {
        let owed = self.view.owed();
        if owed.without(scanned) == owed {
            return Ok(());
        }
        let header = self.view.manifest.header();
        let settled = header.owed.without(owed).and(scanned);
        let words = format!("{} {}\n", header.generation, settled.to_bits());
        // Not made durable: if it is lost, a scan is done twice.
        let mut file = self.state.open_or_create(SETTLED, 0o600)?;
        self.state.overwrite(SETTLED, &mut file, words.as_bytes())
    }

    /// Writes down who has the data directory, for those who wait: before something that may take
    /// long. A run that has nothing to do does not.
    pub fn write_holder(&mut self) -> Result<(), DiskError> {
        self.lock.write_holder(&self.state)
    }

    /// Takes over what was seen before the data directory was locked.
    pub fn set_early_check(&mut self, early_check: Option<EarlyCheck>) {
        self.view.set_early_check(early_check);
    }

    /// Returns the data directory, read only.
    pub fn view(&self) -> &View {
        &self.view
    }
}

/// Removes permissions of other users that an administrator's `mkdir` or a volume's group gave.
///
/// Best effort: a directory of another user may be usable, and is not ours to change.
fn restrict_state_dir(root: &Dir, data: &Path) {
    let name = STATE_DIR.as_bytes();
    let Ok(Some(stat)) = root.stat(name) else { return };
    if stat.mode & OTHERS == 0 {
        return;
    }
    // A link that may be there by now is not followed.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    if let Ok(directory) = rustix::fs::open(data.join(STATE_DIR), flags, Mode::empty()) {
        root.correct_file_mode(name, &File::from(directory), stat.mode & !OTHERS).ok();
    }
}

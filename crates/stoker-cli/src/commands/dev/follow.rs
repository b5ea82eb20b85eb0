//! Follows the directory that is edited: which directory is at its path, and when to scan it again.

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use notify::{RecursiveMode, Watcher as _};
use stoker_api::condition::Reason;
use stoker_run::{Cancel, DiskError, RelPath, Scope, WorkDir};

use crate::cli::Context;
use crate::failure::Failure;
use crate::output::shown;
use crate::trigger::{Trigger, Woken};

/// An editor writes a file in several steps; this long without one more means that it is done.
const SETTLED: Duration = Duration::from_millis(40);
/// Somebody who never stops writing is not waited for any longer.
const LONGEST_BURST: Duration = Duration::from_millis(500);
/// How often to check whether the path is still the same directory.
const GLANCE: Duration = Duration::from_millis(500);
/// File systems that send no events are scanned this often.
const RESCAN: Duration = Duration::from_secs(30);

/// A directory, followed by its path.
pub(super) struct Follow {
    path: PathBuf,
    parts: Vec<RelPath>,
    /// The directory at the path at the last scan.
    open: Option<WorkDir>,
    was_open: bool,
    trigger: Trigger,
    /// Watches for changes; absent for a single scan.
    watcher: Option<notify::RecommendedWatcher>,
}

impl Follow {
    pub(super) fn new(directory: &Path, parts: Vec<RelPath>) -> Self {
        // Events have whole paths, and are compared with this one.
        let path = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
        let trigger = Trigger::new();
        Self { path, parts, open: None, was_open: false, trigger, watcher: None }
    }

    pub(super) fn begin(&mut self) -> Result<(), Failure> {
        let failed = |error: notify::Error| {
            Failure::world(Reason::WatchFailed, &error)
                .hint("raise the limit: sysctl fs.inotify.max_user_watches=1000000")
        };
        let (sender, path) = (self.trigger.sender(), self.path.clone());
        let scope = Scope::of(self.parts.clone());
        let mut watcher =
            notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
                if event.is_ok_and(|event| is_news(&event, &path, &scope)) {
                    sender.try_send(()).ok();
                }
            })
            .map_err(failed)?;
        watcher.watch(&self.path, RecursiveMode::Recursive).map_err(failed)?;
        self.watcher = Some(watcher);
        Ok(())
    }

    /// Opens the directory at the path. If it is another one than before, this is printed, and it is watched from here
    /// on.
    fn source(&mut self, context: &Context) -> Result<&mut WorkDir, Failure> {
        if self.open.as_ref().is_some_and(|open| !open.is_at(&self.path)) {
            self.open = None;
        }
        if self.open.is_none() {
            let cancel = &context.interruption.cancel;
            let opened = WorkDir::open(&self.path, self.parts.clone(), cancel);
            let opened = opened.map_err(|error| failed(&error))?;
            if self.was_open {
                let place = shown(&self.path);
                context
                    .console
                    .note(&format!("{place} is another directory now; following that one"));
                self.begin()?;
            }
            self.open = Some(opened);
            self.was_open = true;
        }
        Ok(self.open.as_mut().expect("it was opened above"))
    }

    /// Scans the directory at the path, and returns it with the id of its content.
    pub(super) fn scan(&mut self, context: &Context) -> Result<(String, &mut WorkDir), Failure> {
        let source = self.source(context)?;
        let root = source.scan().map_err(|error| failed(&error))?;
        Ok((root.to_string(), source))
    }

    /// Waits for a reason to scan again.
    pub(super) fn wait(&self, cancel: &Cancel) -> Woken {
        let started = Instant::now();
        while started.elapsed() < RESCAN {
            match self.trigger.wait(GLANCE, cancel) {
                Woken::Time if self.is_replaced() => return Woken::Request,
                Woken::Time => {}
                Woken::Cancelled => return Woken::Cancelled,
                Woken::Request => {
                    self.trigger.settle(SETTLED, LONGEST_BURST, cancel);
                    return Woken::Request;
                }
            }
        }
        Woken::Time
    }

    fn is_replaced(&self) -> bool {
        match &self.open {
            Some(open) => !open.is_at(&self.path),
            None => self.path.is_dir(),
        }
    }
}

/// The directory could not be scanned.
pub(super) fn failed(error: &DiskError) -> Failure {
    let failure = Failure::world(Reason::WorkingDirectory, error);
    match error.kind() {
        ErrorKind::NotFound => failure.hint("bring it back: it is followed once it is there"),
        _ => failure.hint("check who may read it: ls -la"),
    }
}

/// Whether an event is about a file that is mapped.
fn is_news(event: &notify::Event, directory: &Path, scope: &Scope) -> bool {
    let is_mapped = |path: &PathBuf| {
        let Ok(below) = path.strip_prefix(directory) else { return false };
        let below = RelPath::parse(below.as_os_str().as_bytes());
        below.is_ok_and(|below| scope.holds_file(&below) || scope.holds(&below) && path.is_dir())
    };
    event.need_rescan() || !event.kind.is_access() && event.paths.iter().any(is_mapped)
}

#[cfg(test)]
mod tests {
    use notify::Event;
    use notify::event::{AccessKind, CreateKind, EventKind, Flag};

    use super::*;

    #[test]
    fn only_changes_of_what_is_mapped_are_news() {
        let scope = Scope::of(vec![RelPath::parse("src").unwrap()]);
        let made =
            |path: &str| Event::new(EventKind::Create(CreateKind::Any)).add_path(path.into());
        let is_news = |event: &Event| is_news(event, Path::new("/w"), &scope);
        for path in ["/w", "/w/src", "/w/src/a/b"] {
            assert!(is_news(&made(path)), "{path}");
        }
        for path in ["/w/data/projects/a", "/w/.git/index", "/w/src/.git/x", "/w/src/.a.swp", "/x"]
        {
            assert!(!is_news(&made(path)), "{path}");
        }
        let read = Event::new(EventKind::Access(AccessKind::Any)).add_path("/w/src/a".into());
        assert!(!is_news(&read));
        assert!(is_news(&read.set_flag(Flag::Rescan)), "events were lost");
    }
}

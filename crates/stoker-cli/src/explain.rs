//! From the errors of the steps to what a user reads: a reason, the chain of causes, the next
//! command.

use std::error::Error;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;

use jiff::Timestamp;
use stoker_api::chain::Chain;
use stoker_api::condition::Reason;
use stoker_run::DiskError;
use stoker_run::step::{OpenError, apply, compose, plan, write};

use crate::failure::Failure;
use crate::job::{MEND_THE_PROFILE, Target};
use crate::output::shown;

/// How a deletion is confirmed where the command goes on and on.
pub(crate) const CONFIRM_IN_DEV: &str =
    "stop it with Ctrl-C and start it again with --allow-mass-delete";

/// What a command does, as far as it matters for a hint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// It brings the data directory to a commit.
    Sync,
    /// It only plans.
    Plan,
    /// It brings a working directory to the data directory, again and again.
    Dev,
}

/// Why a run failed, for the user.
pub(crate) fn run(error: &stoker_run::Error, target: &Target, mode: Mode) -> Failure {
    use stoker_run::Error;
    let failure = Failure::world(error.reason(), error);
    match error {
        Error::Profile(_) => failure.hint(MEND_THE_PROFILE),
        Error::Open(cause) => open(failure, cause, target, mode),
        Error::Fetch(error) => git(error),
        Error::Plan(cause) => plan(failure, cause, target, mode),
        Error::Write(cause) => write(failure, cause, target),
        Error::Apply(cause) => apply(failure, cause, target),
        Error::Gateway(error) | Error::ScanLock(error) | Error::Scan(error) => {
            failure.hint(error.hint())
        }
        Error::ProjectsNotLoaded { .. } => {
            failure.hint("look at the gateway's log for what it says of their project.json")
        }
        Error::RecordScan(cause) => on_disk(failure, cause, target)
            .hint("the files and the scan are done; run it again, and the scan is made once more"),
    }
}

/// The data directory could not be opened.
fn open(failure: Failure, error: &OpenError, target: &Target, mode: Mode) -> Failure {
    let data = shown(target.data());
    match (failure.reason, error) {
        (Reason::Cancelled, _) => failure,
        (Reason::Locked, _) => Failure { message: with_readable_time(&failure.message), ..failure }
            .hint("wait for the other run, or give it longer with --lock-timeout 5m"),
        (Reason::DataDirectoryMissing, _) => {
            let message = format!("the data directory {data} does not exist");
            let hint = match mode {
                Mode::Sync | Mode::Dev => "check --data, or add --create to make it".to_owned(),
                // A plan makes none, though --create is given.
                Mode::Plan => {
                    format!("check --data; a plan only looks, so make it first: mkdir -p {data}")
                }
            };
            Failure { message, ..failure }.hint(hint)
        }
        (_, OpenError::Disk { source })
            if source.kind() == ErrorKind::NotADirectory && target.data().is_file() =>
        {
            let message = format!("--data {data} is a file, not a directory");
            Failure { message, ..failure }.hint("name the gateway's data directory with --data")
        }
        (_, OpenError::Disk { source }) if source.kind() == ErrorKind::ReadOnlyFilesystem => {
            on_disk(failure, error, target).hint(read_only(target))
        }
        (_, OpenError::Disk { source }) => {
            let data = target.data();
            let is_data = data.as_os_str().as_bytes() == source.path().as_bytes();
            let below = data.join(OsStr::from_bytes(source.path()));
            let place = shown(if is_data { data } else { &below });
            on_disk(failure, error, target).hint(format!("look at it: ls -ld {place}"))
        }
        _ => on_disk(failure, error, target).hint(format!("look at it: ls -ld {data}")),
    }
}

/// The moment since which a lock is held, as people write it. The holder wrote seconds since 1970.
pub(crate) fn with_readable_time(message: &str) -> String {
    let Some((before, after)) = message.split_once(" since ") else { return message.to_owned() };
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let (seconds, rest) = after.split_at(digits);
    let time = seconds.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or(message.to_owned(), |time| format!("{before} since {time}{rest}"))
}

/// There is no plan.
fn plan(failure: Failure, error: &plan::Error, target: &Target, mode: Mode) -> Failure {
    match error {
        plan::Error::Compose { source } => compose(failure, source, target),
        plan::Error::MassDeletion(_) if mode == Mode::Dev => failure.hint(CONFIRM_IN_DEV),
        plan::Error::OtherRepository { .. } => {
            failure.hint("if that is meant, look with `stoker plan`, then add --allow-mass-delete")
        }
        plan::Error::Link { path } => {
            let place = target.data().join(OsStr::from_bytes(path));
            let place = shown(&place);
            failure.hint(format!("if its target is right (ls -ld {place}), add --follow {path}"))
        }
        plan::Error::MassDeletion(_) => {
            failure.hint("look with `stoker plan`, then add --allow-mass-delete")
        }
        plan::Error::Make { path, .. } => {
            let what = if failure.message.contains("`.GatewayName` is not known") {
                "the name of the gateway comes by --gateway-name NAME"
            } else {
                "a variable comes by --var NAME=VALUE"
            };
            failure.hint(format!("mend the template or patch that makes {path}; {what}"))
        }
        plan::Error::Conflict { path, .. } => {
            let place = target.data().join(OsStr::from_bytes(path));
            failure.hint(format!("move it out of the way: ls -la {}", shown(&place)))
        }
        plan::Error::Drift { .. } | plan::Error::Survey { .. } => {
            let data = shown(target.data());
            on_disk(failure, error, target).hint(format!("look at it: ls -la {data}"))
        }
        plan::Error::Fetch { .. } | plan::Error::Cancelled(_) => failure,
    }
}

/// The commit can't be laid out as the mappings say.
fn compose(failure: Failure, error: &compose::Error, target: &Target) -> Failure {
    let listing = &target.listing;
    match error {
        compose::Error::Read { .. } | compose::Error::Cancelled(_) => failure,
        compose::Error::SourceMissing { .. } => {
            failure.hint(format!("check the source of the mapping: {listing}"))
        }
        compose::Error::FileOverDirectory { path, file } => failure.hint(format!(
            "to put the file into the directory, end its destination with a slash: --map {file}:{path}/"
        )),
        compose::Error::Names { .. } => {
            failure.hint("rename them in the repository, or exclude them")
        }
        compose::Error::TooManyEntries { .. } => {
            failure.hint("map less of the repository, or exclude what no gateway needs")
        }
        _ => failure.hint(format!("look at what is there: {listing}, then mend the mapping")),
    }
}

/// The new files could not be written.
fn write(failure: Failure, error: &write::Error, target: &Target) -> Failure {
    match (failure.reason, error) {
        (Reason::DiskFull, _) => on_disk(failure, error, target).hint(make_room(target)),
        (_, write::Error::Read { .. } | write::Error::Cancelled(_)) => failure,
        (_, write::Error::LfsPointers { .. }) => {
            failure.hint("commit the files themselves, or exclude them with --exclude")
        }
        (_, write::Error::Disk { source }) if source.kind() == ErrorKind::ReadOnlyFilesystem => {
            on_disk(failure, error, target).hint(read_only(target))
        }
        _ => on_disk(failure, error, target).hint(
            "nothing was applied; look at the volume (df -h, dmesg | tail), then run it again",
        ),
    }
}

/// The new files could not be put in place.
fn apply(failure: Failure, error: &apply::Error, target: &Target) -> Failure {
    match error {
        apply::Error::Incomplete { failed, .. } => incomplete(failure, failed.first(), target),
        _ => on_disk(failure, error, target).hint("run the same command again to finish it"),
    }
}

/// The error counts the paths and names the first; what the system said of that one is the reason.
fn incomplete(failure: Failure, first: Option<&DiskError>, target: &Target) -> Failure {
    let Some(first) = first else { return failure };
    let message = format!("{}: {}", failure.message, Chain(first));
    let failure = Failure { message, ..failure };
    if first.kind() == ErrorKind::StorageFull {
        return failure.hint(make_room(target));
    }
    let parent = target.data().join(OsStr::from_bytes(&first.path().parent()));
    failure.hint(format!(
        "look who may write there, and mend it: ls -ld {}; then run it again to finish the rest",
        shown(&parent)
    ))
}

/// Something of the data directory failed. The engine knows it as that; its path is added.
fn on_disk(failure: Failure, error: &(dyn Error + 'static), target: &Target) -> Failure {
    let mut causes =
        std::iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source());
    let on_root = causes
        .find_map(|error| error.downcast_ref::<DiskError>().filter(|error| error.path().is_root()));
    let Some(on_root) = on_root else { return failure };
    let said = on_root.to_string();
    let data = shown(target.data());
    let message = failure.message.replace(&said, &format!("{said} {data}"));
    Failure { message, ..failure }
}

fn read_only(target: &Target) -> String {
    let data = shown(target.data());
    format!("the volume is mounted read-only; see how: findmnt -T {data}")
}

fn make_room(target: &Target) -> String {
    let data = shown(target.data());
    format!("make room on the data volume, for bytes or for files: df -h {data}; df -i {data}")
}

/// Git did not do what was asked.
pub(crate) fn git(error: &stoker_git::Error) -> Failure {
    let failure = Failure::world(stoker_run::git_reason(error), error);
    match error.hint() {
        // The default place is chosen by HOME, which a user may not be able to change.
        Some(hint)
            if matches!(error, stoker_git::Error::Store { .. }) && !hint.contains("--store") =>
        {
            failure.hint(format!("{hint}; or keep objects elsewhere: --store DIR"))
        }
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_since_a_time_that_people_read() {
        let said = "another run holds it (pid 7 on host since 1794803368); waited 1 s";
        let told = "another run holds it (pid 7 on host since 2026-11-16T04:29:28Z); waited 1 s";
        assert_eq!(with_readable_time(said), told);
        for odd in ["it has not signed", "pid 7 on host since then", "since 1"] {
            assert_eq!(with_readable_time(odd), odd);
        }
    }
}

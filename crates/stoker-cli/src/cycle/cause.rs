//! From the errors of the steps to what a user reads: a reason, the chain of causes, the next
//! command.

use std::error::Error;
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;

use jiff::Timestamp;
use stoker_api::chain::Chain;
use stoker_git::diagnosis::Fault;
use stoker_sync::{DiskError, OpenError, apply, compose, lock, plan, recover, source, write};

use crate::failure::{Blame, Failure};
use crate::job::Target;
use crate::output::shown;
use crate::word::{Reason, Word};

/// The data directory could not be opened.
pub(super) fn open(error: &OpenError, target: &Target) -> Failure {
    let data = shown(&target.data.data);
    match error {
        OpenError::Lock { source: lock::Error::Held { .. } } => {
            let failure = Failure::world(Reason::Locked, error);
            Failure { message: with_readable_time(&failure.message), ..failure }
                .hint("wait for the other run, or give it longer with --lock-timeout 5m")
        }
        OpenError::Lock { source: lock::Error::Cancelled(_) } => cancelled(error),
        OpenError::Recover { source: recover::Error::Gate { source } } => {
            match source.downcast_ref::<stoker_ignition::Error>() {
                Some(refusal) => gateway(refusal),
                None => on_disk(Reason::DataDirectoryUnusable, error, target)
                    .hint(format!("look at it: ls -ld {data}")),
            }
        }
        OpenError::Disk { source } if source.kind() == ErrorKind::NotFound => {
            let message = format!("the data directory {data} does not exist");
            let failure = Failure::world(Reason::DataDirectoryMissing, error);
            Failure { message, ..failure }.hint("check --data, or add --create to make it")
        }
        OpenError::Disk { source } => {
            let place = target.data.data.join(OsStr::from_bytes(source.path()));
            on_disk(Reason::DataDirectoryUnusable, error, target)
                .hint(format!("look at it: ls -ld {}", shown(&place)))
        }
        _ => on_disk(Reason::DataDirectoryUnusable, error, target)
            .hint(format!("look at it: ls -ld {data}")),
    }
}

/// The data directory could not be looked at. A plan makes none, whatever the flags say.
pub(super) fn view(error: &OpenError, target: &Target) -> Failure {
    let failure = open(error, target);
    if failure.reason != Reason::DataDirectoryMissing {
        return failure;
    }
    let data = shown(&target.data.data);
    failure.hint(format!("check --data; a plan only looks, so make it first: mkdir -p {data}"))
}

/// The moment since which a lock is held, as people write it. The holder wrote seconds since 1970.
fn with_readable_time(message: &str) -> String {
    let Some((before, after)) = message.split_once(" since ") else { return message.to_owned() };
    let digits = after.bytes().take_while(u8::is_ascii_digit).count();
    let (seconds, rest) = after.split_at(digits);
    let time = seconds.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    time.map_or(message.to_owned(), |time| format!("{before} since {time}{rest}"))
}

/// There is no plan.
pub(super) fn plan(error: &plan::Error, target: &Target) -> Failure {
    match error {
        plan::Error::Compose { source } => compose(source, error, target),
        plan::Error::Fetch { source } => read(source, error),
        plan::Error::MassDeletion(_) => Failure::world(Reason::DeletionBlocked, error)
            .hint("look with `stoker plan`, then add --allow-mass-delete"),
        plan::Error::OtherRepository { .. } => Failure::world(Reason::OtherRepository, error)
            .hint("if that is meant, look with `stoker plan`, then add --allow-mass-delete"),
        plan::Error::Link { path } => {
            let place = target.data.data.join(OsStr::from_bytes(path));
            Failure::world(Reason::Conflict, error).hint(format!(
                "if its target is right (ls -ld {}), add --follow {path}",
                shown(&place)
            ))
        }
        plan::Error::Make { path, .. } => {
            let failure = Failure::world(Reason::RenderFailed, error);
            let what = if failure.message.contains("`.GatewayName` is not known") {
                "the name of the gateway comes by --gateway-name NAME"
            } else {
                "a variable comes by --var NAME=VALUE"
            };
            failure.hint(format!("mend the template or patch that makes {path}; {what}"))
        }
        plan::Error::Conflict { path, .. } => {
            let place = target.data.data.join(OsStr::from_bytes(path));
            Failure::world(Reason::Conflict, error)
                .hint(format!("move it out of the way: ls -la {}", shown(&place)))
        }
        plan::Error::Drift { .. } | plan::Error::Survey { .. } => {
            let data = shown(&target.data.data);
            on_disk(Reason::DiskFailed, error, target).hint(format!("look at it: ls -la {data}"))
        }
        plan::Error::Cancelled(_) => cancelled(error),
    }
}

/// The new files could not be written.
pub(super) fn write(error: &write::Error, target: &Target) -> Failure {
    match error {
        write::Error::Space { .. } => {
            Failure::world(Reason::DiskFull, error).hint(make_room(target))
        }
        write::Error::Disk { source } if source.kind() == ErrorKind::StorageFull => {
            on_disk(Reason::DiskFull, error, target).hint(make_room(target))
        }
        write::Error::Read { source } => read(source, error),
        write::Error::LfsPointers { .. } => Failure::world(Reason::LfsPointer, error)
            .hint("commit the files themselves, or exclude them with --exclude"),
        write::Error::Cancelled(_) => cancelled(error),
        _ => on_disk(Reason::WriteFailed, error, target).hint(
            "nothing was applied; look at the volume (df -h, dmesg | tail), then run it again",
        ),
    }
}

/// The new files could not be put in place.
pub(super) fn apply(error: &apply::Error, target: &Target) -> Failure {
    let source = match error {
        apply::Error::Gate { source } => source,
        apply::Error::Incomplete { failed, .. } => {
            return incomplete(error, failed.first(), target);
        }
        _ => {
            return on_disk(Reason::ApplyFailed, error, target)
                .hint("run the same command again to finish it");
        }
    };
    match source.downcast_ref::<stoker_ignition::Error>() {
        Some(refusal) => gateway(refusal),
        None => Failure::world(Reason::GatewayRefused, error)
            .hint("nothing was applied; run the same command again"),
    }
}

/// The error counts the paths and names the first; what the system said of that one is the reason.
fn incomplete(error: &apply::Error, first: Option<&DiskError>, target: &Target) -> Failure {
    let failure = Failure::world(Reason::ApplyFailed, error);
    let Some(first) = first else { return failure };
    let message = format!("{}: {}", failure.message, Chain(first));
    if first.kind() == ErrorKind::StorageFull {
        return Failure { reason: Reason::DiskFull.into(), message, ..failure }
            .hint(make_room(target));
    }
    let parent = target.data.data.join(OsStr::from_bytes(&first.path().parent()));
    Failure { message, ..failure }.hint(format!(
        "look who may write there, and mend it: ls -ld {}; then run it again to finish the rest",
        shown(&parent)
    ))
}

/// Something of the data directory failed. The engine knows it as that; its path is added.
fn on_disk(reason: Reason, error: &(dyn Error + 'static), target: &Target) -> Failure {
    let failure = Failure::world(reason, error);
    let mut causes =
        std::iter::successors(Some(error), |error: &&(dyn Error + 'static)| (*error).source());
    let on_root = causes
        .find_map(|error| error.downcast_ref::<DiskError>().filter(|error| error.path().is_root()));
    let Some(on_root) = on_root else { return failure };
    let said = on_root.to_string();
    let data = shown(&target.data.data);
    let message = failure.message.replace(&said, &format!("{said} {data}"));
    Failure { message, ..failure }
}

fn make_room(target: &Target) -> String {
    let data = shown(&target.data.data);
    format!("make room on the data volume, for bytes or for files: df -h {data}; df -i {data}")
}

/// That the gateway has scanned could not be remembered.
pub(super) fn settle(error: &DiskError, target: &Target) -> Failure {
    on_disk(Reason::DiskFailed, error, target)
        .hint("the files and the scan are done; run it again, and the scan is made once more")
}

/// The gateway did not do what was asked.
pub(super) fn gateway(error: &stoker_ignition::Error) -> Failure {
    Failure::world(error.reason(), error).hint(error.hint())
}

/// The gateway scanned, and does not have what it should.
pub(super) fn not_loaded(names: &[String]) -> Failure {
    Failure {
        reason: Reason::ProjectsNotLoaded.into(),
        message: format!("the gateway scanned, but has not loaded {}", names.join(", ")),
        hint: Some("look at the gateway's log for what it says of their project.json".to_owned()),
        blame: Blame::World,
        git_ref: None,
    }
}

/// Git did not do what was asked.
pub(crate) fn git(error: &stoker_git::Error) -> Failure {
    let reason = match error {
        // In a cluster the message alone tells it from others of its kind.
        stoker_git::Error::NotACommit { .. } => Word::from(Reason::NotACommit),
        error if is_without_git(error) => Reason::GitMissing.into(),
        error => error.reason().into(),
    };
    let failure = Failure::world(reason, error);
    match error.hint() {
        // The default place is chosen by HOME, which a user may not be able to mend.
        Some(hint)
            if matches!(error, stoker_git::Error::Store { .. }) && !hint.contains("--store") =>
        {
            failure.hint(format!("{hint}; or keep objects elsewhere: --store DIR"))
        }
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

/// Whether git, or a part of it that lies in the same package, is not there.
fn is_without_git(error: &stoker_git::Error) -> bool {
    matches!(error.fault(), Some(Fault::NotInstalled { program }) if program.starts_with("git"))
}

fn compose(error: &compose::Error, whole: &plan::Error, target: &Target) -> Failure {
    let listing = &target.listing;
    match error {
        compose::Error::Read { source } => read(source, whole),
        compose::Error::SourceMissing { .. } => Failure::world(Reason::SourceNotFound, whole)
            .hint(format!("check the source of the mapping: {listing}")),
        compose::Error::FileOverDirectory { path, file } => Failure::world(Reason::Conflict, whole)
            .hint(format!(
                "to put the file into the directory, end it with a slash: --map {file}:{path}/"
            )),
        compose::Error::Names { .. } => Failure::world(Reason::NamesRefused, whole)
            .hint("rename them in the repository, or exclude them"),
        compose::Error::TooManyEntries { .. } => Failure::world(Reason::MappingInvalid, whole)
            .hint("map less of the repository, or exclude what no gateway needs"),
        compose::Error::Cancelled(_) => cancelled(whole),
        _ => Failure::world(Reason::MappingInvalid, whole)
            .hint(format!("look at what is there: {listing}, then mend the mapping")),
    }
}

/// What git says is in the chain as git's own error, reason and hint included.
fn read(error: &source::Error, whole: &(dyn Error + 'static)) -> Failure {
    match error {
        source::Error::Cancelled => cancelled(whole),
        source::Error::Failed { source } => match source.downcast_ref::<stoker_git::Error>() {
            Some(error) => git(error),
            None => Failure::world(Reason::SourceFailed, whole),
        },
        _ => Failure::world(Reason::SourceFailed, whole),
    }
}

fn cancelled(error: &(dyn Error + 'static)) -> Failure {
    Failure::world(Reason::Cancelled, error)
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

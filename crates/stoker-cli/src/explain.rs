//! Explains errors to a user: a reason, the chain of causes, the next command.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;

use stoker_api::chain::Chain;
use stoker_api::condition::Reason;
use stoker_api::remedy::Remedy;
use stoker_git::auth;
use stoker_run::DiskError;
use stoker_run::step::{OpenError, apply, compose, manipulate, plan, write};

use crate::failure::Failure;
use crate::job::{FIX_THE_PROFILE, Target};
use crate::output::shown;
use crate::remedy;

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
        Error::Profile(_) => failure.hint(FIX_THE_PROFILE),
        Error::Open(cause) => open(failure, cause, target, mode),
        Error::Fetch(error) => git(error, target),
        Error::Plan(cause) => plan(failure, cause, target, mode),
        Error::Write(cause) => write(failure, cause, target),
        Error::Apply(cause) => apply(failure, cause, target),
        Error::Gateway(error) | Error::ScanLock(error) | Error::Scan(error) => {
            failure.hint(remedy::hint(&error.remedy()))
        }
        Error::ProjectsNotLoaded { .. } => {
            failure.hint("check the gateway's log for errors about their project.json")
        }
        Error::RecordScan(_) => failure
            .hint("the files and the scan are done; run it again, and the scan is made once more"),
    }
}

/// The data directory could not be opened.
fn open(failure: Failure, error: &OpenError, target: &Target, mode: Mode) -> Failure {
    let data = shown(target.data());
    match (failure.reason, error) {
        (Reason::Cancelled, _) => failure,
        (Reason::Locked, _) => {
            failure.hint("wait for the other run, or give it longer with --lock-timeout 5m")
        }
        (Reason::DataDirectoryMissing, _) => {
            let message = format!("the data directory {data} does not exist");
            let hint = match mode {
                Mode::Sync | Mode::Dev => "check --data, or add --create to create it".to_owned(),
                // A plan makes none, though --create is given.
                Mode::Plan => {
                    format!(
                        "check --data; a plan creates nothing, so create it first: mkdir -p {data}"
                    )
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
            failure.hint(read_only(target))
        }
        (_, OpenError::Disk { source }) => {
            let data = target.data();
            let is_data = data.as_os_str().as_bytes() == source.path().as_bytes();
            let below = data.join(OsStr::from_bytes(source.path()));
            let place = shown(if is_data { data } else { &below });
            failure.hint(format!("check it: ls -ld {place}"))
        }
        _ => failure.hint(format!("check it: ls -ld {data}")),
    }
}

/// Planning failed.
fn plan(failure: Failure, error: &plan::Error, target: &Target, mode: Mode) -> Failure {
    match error {
        plan::Error::Compose { source } => compose(failure, source, target),
        plan::Error::MassDeletion(_) if mode == Mode::Dev => failure.hint(CONFIRM_IN_DEV),
        plan::Error::OtherRepository { .. } => failure
            .hint("if you want that, review it with `stoker plan`, then add --allow-mass-delete"),
        plan::Error::Link { path } => {
            let place = target.data().join(OsStr::from_bytes(path));
            let place = shown(&place);
            failure.hint(format!("if its target is right (ls -ld {place}), add --follow {path}"))
        }
        plan::Error::MassDeletion(_) => {
            failure.hint("review it with `stoker plan`, then add --allow-mass-delete")
        }
        plan::Error::Transform { path, source } => {
            let missing = match source {
                manipulate::Error::Template { source } => source.missing.as_deref(),
                _ => None,
            };
            let step = format!("fix the template or patch that makes {path}");
            match missing.and_then(give) {
                Some(give) => failure.hint(format!("{step}, or {give}")),
                None => failure.hint(step),
            }
        }
        plan::Error::Conflict { path, .. } => {
            let place = target.data().join(OsStr::from_bytes(path));
            failure.hint(format!("move it out of the way: ls -la {}", shown(&place)))
        }
        plan::Error::Drift { .. } | plan::Error::Survey { .. } => {
            let data = shown(target.data());
            failure.hint(format!("check it: ls -la {data}"))
        }
        plan::Error::Fetch { .. } | plan::Error::Cancelled(_) => failure,
    }
}

/// How a user gives a field of templates a value that has none.
pub(crate) fn give(field: &str) -> Option<String> {
    match field {
        ".GatewayName" => Some("give it: --gateway-name NAME".to_owned()),
        ".CRName" => Some("add metadata.name to the file".to_owned()),
        field => {
            let name = field.strip_prefix(".Vars.")?;
            Some(format!("give it a value: --var {name}=VALUE"))
        }
    }
}

/// The source can't be laid out as the mappings say.
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
        compose::Error::Names { .. } => failure.hint("rename them, or exclude them"),
        compose::Error::TooManyEntries { .. } => {
            failure.hint("map a smaller part, or exclude what no gateway needs")
        }
        _ => failure.hint(format!("list the source: {listing}, then fix the mapping")),
    }
}

/// The new files could not be written.
fn write(failure: Failure, error: &write::Error, target: &Target) -> Failure {
    match (failure.reason, error) {
        (Reason::DiskFull, _) => failure.hint(make_room(target)),
        (_, write::Error::Read { .. } | write::Error::Cancelled(_)) => failure,
        (_, write::Error::LfsPointers { .. }) => {
            failure.hint("commit the files themselves, or exclude them with --exclude")
        }
        (_, write::Error::Disk { source }) if source.kind() == ErrorKind::ReadOnlyFilesystem => {
            failure.hint(read_only(target))
        }
        _ => failure
            .hint("nothing was applied; check the volume (df -h, dmesg | tail), then run it again"),
    }
}

/// The new files could not be put in place.
fn apply(failure: Failure, error: &apply::Error, target: &Target) -> Failure {
    match error {
        apply::Error::Incomplete { failed, .. } => incomplete(failure, failed.first(), target),
        _ => failure.hint("run the same command again to finish it"),
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
        "fix the permissions there: ls -ld {}; then run it again to finish the rest",
        shown(&parent)
    ))
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
pub(crate) fn git(error: &stoker_git::Error, target: &Target) -> Failure {
    let mut failure = Failure::world(stoker_run::git_reason(error), error);
    if let stoker_git::Error::Credentials { remote, source } = error
        && let auth::Error::GithubApp { api, key, source } = source
    {
        let (key, cause) = (target.title(key), Chain(source));
        failure.message = format!(
            "failed to authenticate to {remote}: failed to get a token for the GitHub App from \
             {api} with the key {key}: {cause}"
        );
    }
    if let (stoker_git::Error::NotACommit { remote, object }, Some(git_ref)) =
        (error, &target.run.values.git_ref)
    {
        failure.message = format!(
            "the ref {git_ref:?} of {remote} is {object}, a file or a directory, not a commit"
        );
    }
    let Some(remedy) = error.remedy() else { return failure };
    let hint = remedy::hint(&remedy);
    match (error, remedy) {
        // The default place is chosen by HOME, which a user may not be able to change.
        (stoker_git::Error::Store { .. }, Remedy::Step(_)) => {
            failure.hint(format!("{hint}; or keep objects elsewhere: --store DIR"))
        }
        _ => failure.hint(hint),
    }
}

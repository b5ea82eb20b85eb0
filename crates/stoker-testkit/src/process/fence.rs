//! What stands around a guarded program: a parent-death signal, and a pid namespace where possible.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::find_program;

/// Ends at once if we died before the parent-death signal was armed: the shell's parent is then
/// somebody else. `$0` is our process id.
const STILL_OURS: &str = r#"[ "$PPID" = "$0" ] && exec "$@""#;

const AS_ROOT: &[&str] = &["--pid", "--fork", "--kill-child"];
const AS_USER: &[&str] = &["--user", "--map-current-user", "--pid", "--fork", "--kill-child"];

/// Wraps a program, given by its full path, into the fence.
pub(super) fn wrap(program: &Path) -> io::Result<Command> {
    let mut command = Command::new(setpriv()?);
    command.args(["--pdeathsig", "KILL", "--", "/bin/sh", "-c", STILL_OURS]);
    command.arg(std::process::id().to_string());
    if let Some(namespace) = namespace() {
        command.arg(&namespace.unshare).args(namespace.flags).arg("--");
    }
    command.arg(program);
    Ok(command)
}

/// Says whether a command begins as [`wrap`] makes them.
pub(super) fn is_wrapped(command: &Command) -> bool {
    setpriv().is_ok_and(|setpriv| command.get_program() == setpriv)
        && command.get_args().next() == Some(OsStr::new("--pdeathsig"))
}

/// Says whether programs run without a namespace: then a program is our direct child.
pub(super) fn is_none() -> bool {
    namespace().is_none()
}

struct Namespace {
    unshare: PathBuf,
    flags: &'static [&'static str],
}

fn namespace() -> Option<&'static Namespace> {
    static NAMESPACE: OnceLock<Option<Namespace>> = OnceLock::new();
    NAMESPACE.get_or_init(probe).as_ref()
}

/// Root may still lack the right, and a user may have it: only trying tells.
fn probe() -> Option<Namespace> {
    let unshare = find_program(OsStr::new("unshare")).ok()?;
    let works = |flags: &&[&str]| {
        let mut attempt = Command::new(&unshare);
        attempt.args(*flags).args(["--", "/bin/true"]);
        attempt.stdout(Stdio::null()).stderr(Stdio::null());
        attempt.status().is_ok_and(|status| status.success())
    };
    let flags = [AS_ROOT, AS_USER].into_iter().find(works)?;
    Some(Namespace { unshare, flags })
}

fn setpriv() -> io::Result<PathBuf> {
    find_program(OsStr::new("setpriv"))
}

//! Runs ssh with one key and the host keys that we trust, and nothing of the user's own.
//!
//! Git runs our own program instead of ssh, and that becomes ssh ([`arguments`]): no shell and no
//! quoting is involved. Key and host keys lie in memory, so that neither their mode nor blanks in
//! their paths matter to ssh.

use std::ffi::OsString;
use std::path::Path;

use rustix::process::{getgid, getuid};
use stoker_api::word::Secret;

use super::{Access, Error, Granted, absolute, hold, passwd, read};
use crate::host_key;

pub(crate) const KEY: &str = "STOKER_SSH_KEY";
pub(crate) const KNOWN_HOSTS: &str = "STOKER_SSH_KNOWN_HOSTS";
/// Only for a uid that ssh would not run for: see [`super::passwd`].
pub(crate) const LIBRARY: &str = "STOKER_SSH_LIBRARY";
pub(crate) const PASSWD: &str = "STOKER_SSH_PASSWD";
pub(crate) const CONNECT_SECONDS: &str = "STOKER_SSH_CONNECT_SECONDS";
/// The address to connect to instead of resolving the host's name, and the name that its key is
/// known by.
pub(crate) const ADDRESS: &str = "STOKER_SSH_ADDRESS";
pub(crate) const ALIAS: &str = "STOKER_SSH_ALIAS";

/// Nothing of the user, nothing of the system, no questions, no forwarding, no trust on first use.
const OPTIONS: &[&str] = &[
    "BatchMode=yes",
    "IdentitiesOnly=yes",
    "IdentityAgent=none",
    "PreferredAuthentications=publickey",
    "StrictHostKeyChecking=yes",
    "GlobalKnownHostsFile=/dev/null",
    "UpdateHostKeys=no",
    "CheckHostIP=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ControlPath=none",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=2",
    "LogLevel=ERROR",
];

/// Returns the arguments of ssh: our own before those that git gave; `None` if git did not ask us.
pub fn arguments(
    environment: &dyn Fn(&str) -> Option<OsString>,
    from_git: impl IntoIterator<Item = OsString>,
) -> Option<Vec<OsString>> {
    let mut known_hosts = OsString::from("UserKnownHostsFile=");
    known_hosts.push(environment(KNOWN_HOSTS)?);
    let mut connect = OsString::from("ConnectTimeout=");
    connect.push(environment(CONNECT_SECONDS)?);
    let key = environment(KEY)?;
    let mut arguments: Vec<OsString> =
        ["-F", "none", "-a", "-x", "-T", "-i"].map(Into::into).into();
    arguments.push(key);
    for option in OPTIONS.iter().map(OsString::from).chain([known_hosts, connect]) {
        arguments.extend(["-o".into(), option]);
    }
    for (option, name) in [("HostName=", ADDRESS), ("HostKeyAlias=", ALIAS)] {
        if let Some(value) = environment(name) {
            let mut option = OsString::from(option);
            option.push(value);
            arguments.extend(["-o".into(), option]);
        }
    }
    arguments.extend(from_git);
    Some(arguments)
}

pub(super) fn grant(access: &Access, key: &Path, known_hosts: &Path) -> Result<Granted, Error> {
    let secret = read_key(key)?;
    let hosts = read_hosts(known_hosts)?;
    // OpenSSH does not take a key whose last line has no end, which is how many Secrets hold it.
    let key = hold(whole_lines(&secret).reveal())?;
    let hosts = hold(whole_lines(&hosts).reveal())?;
    let seconds = access.limits.timeout.as_secs().max(1).to_string();
    let mut environment = vec![
        ("GIT_SSH", absolute(&access.helper).into_os_string()),
        ("GIT_SSH_VARIANT", "ssh".into()),
        (KEY, key.path().into()),
        (KNOWN_HOSTS, hosts.path().into()),
        (CONNECT_SECONDS, seconds.into()),
    ];
    if let Some((address, name)) = access.addresses.first().zip(host_key::known_name(&access.url)) {
        environment.push((ADDRESS, address.to_string().into()));
        environment.push((ALIAS, name.into()));
    }
    let mut held = vec![key, hosts];
    if let Some(substitute) = passwd::substitute(getuid().as_raw(), getgid().as_raw()) {
        let passwd = hold(&substitute.passwd)?;
        environment.push((LIBRARY, substitute.library.into_os_string()));
        environment.push((PASSWD, passwd.path().into_os_string()));
        held.push(passwd);
    }
    Ok(Granted { environment, _held: held })
}

/// Reads a private key without a passphrase.
pub(super) fn read_key(path: &Path) -> Result<Secret, Error> {
    let secret = read("SSH key", path)?;
    if !secret.reveal().starts_with(b"-----BEGIN ") {
        let fault = "does not begin with \"-----BEGIN\", so it is not a private key";
        return Err(Error::Malformed { what: "SSH key", path: path.into(), fault });
    }
    if is_encrypted(secret.reveal()) {
        return Err(Error::Encrypted { path: path.into() });
    }
    Ok(secret)
}

/// Reads host keys, of one host at least.
pub(super) fn read_hosts(path: &Path) -> Result<Secret, Error> {
    let hosts = read("known hosts file", path)?;
    if !hosts.reveal().split(|byte| *byte == b'\n').any(names_a_host) {
        return Err(Error::Empty { what: "known hosts file", path: path.into() });
    }
    Ok(hosts)
}

/// Whether a private key wants a passphrase. OpenSSH's own form says so right at the beginning, in
/// base64: its name, the length of the cipher's name, and that name.
fn is_encrypted(key: &[u8]) -> bool {
    const OPENSSH: &[u8] = b"b3BlbnNzaC1rZXktdjEA";
    const OPENSSH_WITHOUT_CIPHER: &[u8] = b"b3BlbnNzaC1rZXktdjEAAAAABG5vbmU";
    let mut lines = key.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.next().unwrap_or_default();
    let second = lines.next().unwrap_or_default();
    first.starts_with(b"-----BEGIN ENCRYPTED")
        || second == b"Proc-Type: 4,ENCRYPTED"
        || second.starts_with(OPENSSH) && !second.starts_with(OPENSSH_WITHOUT_CIPHER)
}

fn names_a_host(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    !line.is_empty() && !line.starts_with(b"#")
}

fn whole_lines(text: &Secret) -> Secret {
    let mut lines = Vec::with_capacity(text.reveal().len() + 1);
    lines.extend(text.reveal().iter().filter(|byte| **byte != b'\r'));
    lines.push(b'\n');
    Secret::new(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ours_come_first_and_what_git_gives_stays_last() {
        let environment = |name: &str| Some(OsString::from(format!("/{name}")));
        let given = ["-o", "SendEnv=GIT_PROTOCOL", "git@host", "git-upload-pack 'x'"];
        let arguments = arguments(&environment, given.map(OsString::from)).unwrap();
        assert_eq!(arguments[..2], ["-F", "none"]);
        assert!(arguments.contains(&"StrictHostKeyChecking=yes".into()));
        assert!(arguments.contains(&"UserKnownHostsFile=/STOKER_SSH_KNOWN_HOSTS".into()));
        assert_eq!(arguments[arguments.len() - 4..], given.map(OsString::from));
    }

    #[test]
    fn a_key_with_a_passphrase_is_known_by_its_beginning() {
        let directory = tempfile::tempdir().unwrap();
        for (form, kind) in [("RFC4716", "ed25519"), ("PEM", "rsa"), ("PKCS8", "rsa")] {
            for (passphrase, wanted) in [("", false), ("secret", true)] {
                let file = directory.path().join(format!("{form}-{wanted}"));
                let made = std::process::Command::new("ssh-keygen")
                    .args(["-q", "-t", kind, "-m", form, "-N", passphrase, "-f"])
                    .arg(&file)
                    .status();
                assert!(made.unwrap().success());
                let key = std::fs::read(&file).unwrap();
                assert_eq!(is_encrypted(&key), wanted, "{form} {passphrase:?}");
            }
        }
    }

    #[test]
    fn comments_and_blanks_name_no_host() {
        assert!(!names_a_host(b"  # comment"));
        assert!(!names_a_host(b" \r"));
        assert!(names_a_host(b"git.example ssh-ed25519 AAAA"));
    }

    #[test]
    fn a_key_without_its_last_newline_or_with_windows_ends_is_made_whole() {
        assert_eq!(whole_lines(&Secret::new("a\r\nb")).reveal(), b"a\nb\n");
    }
}

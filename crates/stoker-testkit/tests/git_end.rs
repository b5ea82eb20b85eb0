//! Nothing outlives the process that started it, and nothing needs root.

#![expect(clippy::unwrap_used, reason = "a set-up that fails is a test that fails")]

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Child, Command, Stdio};

use stoker_testkit::git::{Client, command};
use stoker_testkit::process::{self, Guarded};
use stoker_testkit::wait::eventually;
use tempfile::TempDir;

const SERVERS: &str = env!("CARGO_BIN_EXE_git-servers");
const NOBODY: u32 = 65_534;

/// The lines that the program prints, by their first word.
fn read_lines(stdout: impl Read) -> HashMap<String, String> {
    let lines = BufReader::new(stdout).lines().map(Result::unwrap).take(6);
    lines.map(|line| line.split_once(' ').map(|(a, b)| (a.into(), b.into())).unwrap()).collect()
}

fn authority(url: &str) -> &str {
    url.split('/').nth(2).unwrap()
}

/// A process and its start time: an id alone may be given to somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Process {
    pid: u32,
    parent: u32,
    command: String,
    started: String,
}

fn processes() -> Vec<Process> {
    let ids = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    ids.filter_map(|id| id.parse().ok()).filter_map(process).collect()
}

/// A zombie has ended: whether its new parent has noticed is not our affair.
fn process(pid: u32) -> Option<Process> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<_> = rest.split_ascii_whitespace().collect();
    if matches!(fields[0], "Z" | "X") {
        return None;
    }
    let command = fs::read_to_string(format!("/proc/{pid}/cmdline")).ok()?.replace('\0', " ");
    Some(Process { pid, parent: fields[1].parse().ok()?, command, started: fields[19].to_owned() })
}

fn descendants(root: u32) -> Vec<Process> {
    let all = processes();
    let mut found: Vec<Process> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        let children = all.iter().filter(|process| process.parent == parent);
        for child in children {
            parents.push(child.pid);
            found.push(child.clone());
        }
    }
    found
}

/// Ends with the thread of the test, but without a namespace: that would prove nothing here.
fn start_unfenced(directory: &TempDir) -> Child {
    let mut servers = Command::new("setpriv");
    servers.args(["--pdeathsig", "KILL", "--", SERVERS]).env("TMPDIR", directory.path());
    servers.stdout(Stdio::piped()).spawn().unwrap()
}

/// Opens a session on every server and leaves it in the middle.
fn open_sessions(urls: &HashMap<String, String>, client: &Client) -> (Vec<TcpStream>, Guarded) {
    let mut http = TcpStream::connect(authority(&urls["http"])).unwrap();
    http.write_all(
        b"POST /repo.git/git-upload-pack HTTP/1.1\r\nHost: localhost\r\n\
          Content-Type: application/x-git-upload-pack-request\r\nTransfer-Encoding: chunked\r\n\r\n",
    )
    .unwrap();
    let mut daemon = TcpStream::connect(authority(&urls["git"])).unwrap();
    daemon.write_all(b"0025git-upload-pack /repo.git\0host=a\0").unwrap();

    let (login, port) = authority(&urls["ssh"]).rsplit_once(':').unwrap();
    let repository = urls["file"].strip_prefix("file://").unwrap();
    let script = format!("{} -p {port} {login} git-upload-pack {repository}", urls["ssh-command"]);
    let mut ssh = process::command("sh").unwrap();
    ssh.args(["-c", &format!("exec {script}")]).current_dir(client.path());
    ssh.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    (vec![http, daemon], Guarded::spawn(ssh).unwrap())
}

#[test]
fn sigkill_ends_all_servers_and_their_sessions() {
    let (directory, client) = (TempDir::new().unwrap(), Client::new().unwrap());
    let mut servers = start_unfenced(&directory);
    let urls = read_lines(servers.stdout.take().unwrap());
    let _sessions = open_sessions(&urls, &client);

    // Behind http-backend, behind the daemon, behind sshd.
    let uploads = ["upload-pack --stateless-rpc", "upload-pack --strict", "git-upload-pack /"];
    let mut family = Vec::new();
    eventually("every server has a session", || {
        family = descendants(servers.id());
        let runs = |upload: &&str| {
            let is_it = |process: &Process| process.command.contains(*upload);
            family.iter().any(is_it)
        };
        uploads.iter().all(runs)
    });
    servers.kill().unwrap();
    servers.wait().unwrap();
    eventually("nothing is left", || {
        family
            .iter()
            .all(|member| process(member.pid).is_none_or(|now| now.started != member.started))
    });
}

#[test]
fn an_ordinary_user_can_run_every_server() {
    // Where the tests run as an ordinary user, all of them show this.
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let directory = TempDir::new().unwrap();
    chown(directory.path(), Some(NOBODY), Some(NOBODY)).unwrap();
    let (program, passwd) = (directory.path().join("git-servers"), directory.path().join("passwd"));
    fs::copy(SERVERS, &program).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(&passwd, "root:x:0:0::/root:/bin/sh\nplant:x:65534:65534::/nonexistent:/bin/sh\n")
        .unwrap();

    // A user with a shell, in a password file that only this process sees.
    let script = r#"mount --bind "$1" /etc/passwd && exec setpriv --reuid 65534 --regid 65534 \
                    --clear-groups --pdeathsig KILL -- "$2""#;
    let mut servers = process::command("unshare").unwrap();
    servers.args(["--mount", "--", "/bin/sh", "-c", script, "sh"]).arg(&passwd).arg(&program);
    servers.env("TMPDIR", directory.path()).stdout(Stdio::piped()).stdin(Stdio::null());
    let mut servers = Guarded::spawn(servers).unwrap();
    let urls = read_lines(servers.take_stdout().unwrap());

    let client = Client::new().unwrap().env("GIT_SSH_COMMAND", &urls["ssh-command"]);
    let mut heads = Vec::new();
    for kind in ["http", "git", "ssh", "bad"] {
        heads.push(client.run(["ls-remote", &urls[kind]]).unwrap());
    }
    heads.dedup();
    assert_eq!(heads.len(), 1);
    assert!(urls["ssh"].contains("plant@"), "{}", urls["ssh"]);
    drop(servers);
    let gone = command(client.path())
        .unwrap()
        .args(["ls-remote", &urls["http"]])
        .stderr(Stdio::null())
        .status();
    assert!(!gone.unwrap().success());
}

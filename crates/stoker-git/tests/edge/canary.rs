//! Credentials are seen nowhere: not in arguments, environments, files or errors.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use stoker_api::chain::Chain;
use stoker_git::{Access, Auth, Error};
use stoker_testkit::git::http::{Auth as Wanted, HttpServer};
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::git::{Repo, Tree};

use crate::world::{Place, public};

/// Reads the arguments and the environment of every process, again and again.
struct Watch {
    over: Arc<AtomicBool>,
    thread: thread::JoinHandle<Seen>,
}

#[derive(Default)]
struct Seen {
    helpers: usize,
    leaks: Vec<String>,
}

impl Watch {
    fn start(canaries: Vec<String>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&over);
        let thread = thread::spawn(move || {
            let mut seen = Seen::default();
            while !flag.load(Ordering::Relaxed) {
                look(&canaries, &mut seen);
                // Others need the processor, too.
                thread::sleep(Duration::from_millis(1));
            }
            seen
        });
        Self { over, thread }
    }

    fn end(self) -> Seen {
        self.over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

fn look(canaries: &[String], seen: &mut Seen) {
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        for name in ["cmdline", "environ"] {
            let Ok(bytes) = fs::read(entry.path().join(name)) else { continue };
            let text = String::from_utf8_lossy(&bytes);
            seen.helpers += usize::from(
                text.contains("STOKER_ASKPASS_FILE") || text.contains("STOKER_SSH_KEY"),
            );
            let leak = canaries.iter().find(|canary| text.contains(canary.as_str()));
            seen.leaks.extend(leak.map(|_| format!("{name} of {}", entry.path().display())));
        }
    }
}

/// The forms in which a secret might get out.
fn forms(secret: &str) -> Vec<String> {
    let percent = secret.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
    let half = secret.len() / 2;
    vec![secret.to_owned(), percent, secret[..half].to_owned(), secret[half..].to_owned()]
}

fn in_files(directory: &Path, canaries: &[String]) -> Vec<String> {
    let mut leaks = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        if entry.file_type().unwrap().is_dir() {
            leaks.extend(in_files(&entry.path(), canaries));
            continue;
        }
        let text = fs::read(entry.path()).unwrap();
        let text = String::from_utf8_lossy(&text);
        if canaries.iter().any(|canary| text.contains(canary.as_str())) {
            leaks.push(entry.path().display().to_string());
        }
    }
    leaks
}

fn in_error(error: &Error, canaries: &[String]) -> bool {
    let told = format!("{} {error:?} {error:#?} {:?}", Chain(error), error.hint());
    canaries.iter().any(|canary| told.contains(canary.as_str()))
}

// F1, F30
#[test]
fn a_token_is_seen_nowhere() {
    let (repo, commit) = Repo::with(Tree::new().file("a", "a")).unwrap();
    let server = HttpServer::start().unwrap();
    let url = server.mount("plant", &repo);
    let token = "canary-7f3a-token-b81e";
    let canaries = forms(token);
    let place = Place::new();
    let secrets = tempfile::tempdir().unwrap();
    let file = secrets.path().join("token");
    fs::write(&file, token).unwrap();
    let auth = Auth::Token { file, username: "robot".to_owned() };
    let access = Access { auth, ..public(&url) };
    server.require(Wanted::Basic("robot".into(), token.into()));
    let watch = Watch::start(canaries.clone());
    for _ in 0..5 {
        place.resolve(&access, "main").unwrap();
    }
    drop(place.commit(&access, &commit).unwrap());
    server.require(Wanted::Basic("robot".into(), "another".into()));
    let error = place.resolve(&access, "main").unwrap_err();
    let seen = watch.end();
    assert!(seen.helpers > 0, "the watch saw no process of ours");
    assert_eq!(seen.leaks, Vec::<String>::new());
    assert_eq!(in_files(place.root.path(), &canaries), Vec::<String>::new());
    assert!(!in_error(&error, &canaries), "{error:?}");
}

#[test]
fn an_ssh_key_is_seen_nowhere() {
    let (repo, commit) = Repo::with(Tree::new().file("a", "a")).unwrap();
    let server = SshServer::start().unwrap();
    let key = server.user_key(Kind::Ed25519);
    let text = fs::read_to_string(&key).unwrap();
    let canaries: Vec<_> =
        text.lines().filter(|line| line.len() == 70).map(ToOwned::to_owned).collect();
    assert!(!canaries.is_empty());
    let place = Place::new();
    let auth = Auth::SshKey { key, known_hosts: server.known_hosts() };
    let access = Access { auth, ..public(&server.url(&repo)) };
    let watch = Watch::start(canaries.clone());
    for _ in 0..3 {
        place.resolve(&access, "main").unwrap();
    }
    drop(place.commit(&access, &commit).unwrap());
    let gone = Access { url: public("ssh://git@127.0.0.1:1/x").url, ..access };
    let error = place.resolve(&gone, "main").unwrap_err();
    let seen = watch.end();
    assert!(seen.helpers > 0, "the watch saw no process of ours");
    assert_eq!(seen.leaks, Vec::<String>::new());
    assert_eq!(in_files(place.root.path(), &canaries), Vec::<String>::new());
    assert!(!in_error(&error, &canaries), "{error:?}");
}

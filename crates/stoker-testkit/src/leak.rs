//! Where a secret could show: what a program says, its processes, and all files around it.

#![expect(clippy::unwrap_used, reason = "only tests call this, and fail where it does")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use tempfile::TempDir;

/// What must not be seen, in all forms it might take.
#[derive(Clone)]
pub struct Canary(Vec<String>);

impl Canary {
    /// A secret that is a text.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        Self(secrets.into_iter().flat_map(forms).collect())
    }

    /// The body of a private key: each of its lines alone gives it away.
    pub fn of_key(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.len() >= 60).collect();
        assert!(lines.len() > 2, "no key in {}", path.display());
        Self(lines.into_iter().map(ToOwned::to_owned).collect())
    }

    /// Both of them.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Whether any form of it stands there.
    #[must_use]
    pub fn is_in(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        self.0.iter().any(|form| text.contains(form.as_str()))
    }
}

fn forms(secret: &str) -> Vec<String> {
    let bytes = secret.as_bytes();
    let each = |letter: fn(u8) -> String| bytes.iter().map(|byte| letter(*byte)).collect();
    let mut forms: Vec<String> = vec![
        secret.to_owned(),
        each(|byte| format!("%{byte:02X}")),
        each(|byte| format!("{byte:02x}")),
        each(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        }),
        serde_json::to_string(secret).unwrap().trim_matches('"').to_owned(),
        format!("{secret:?}").trim_matches('"').to_owned(),
    ];
    // In base64 it looks different behind one or two other bytes, as behind a user name.
    for before in 0..3 {
        let text = BASE64_STANDARD.encode([&vec![b'x'; before], bytes].concat());
        let inner = text.trim_end_matches('=');
        forms.push(inner[4..inner.len() - 3].to_owned());
    }
    // Split: either half is too much.
    let half = secret.ceil_char_boundary(secret.len() / 2);
    forms.extend([secret[..half].to_owned(), secret[half..].to_owned()]);
    forms
}

/// Looks at arguments and environment of processes and at all files of a directory, again and
/// again.
pub struct Watch {
    scene: Arc<Scene>,
    over: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

struct Scene {
    canary: Canary,
    /// What the environment of the processes to look at has: other tests run beside this one.
    mark: String,
    files: PathBuf,
}

#[derive(Default)]
struct Seen {
    processes: BTreeSet<String>,
    leaks: BTreeSet<String>,
}

impl Watch {
    /// Begins to look at `files` and at the processes whose environment has `mark`.
    #[must_use]
    pub fn start(canary: &Canary, mark: &str, files: &Path) -> Self {
        let (canary, mark) = (canary.clone(), mark.to_owned());
        let scene = Arc::new(Scene { canary, mark, files: files.to_owned() });
        let over = Arc::new(AtomicBool::new(false));
        let (flag, seen_by) = (Arc::clone(&over), Arc::clone(&scene));
        let thread = thread::spawn(move || {
            let mut seen = Seen::default();
            while !flag.load(Ordering::Relaxed) {
                seen_by.look_at_processes(&mut seen);
                look_at_files(&seen_by.canary, &seen_by.files, &mut seen);
                // Others need the processor, too.
                thread::sleep(Duration::from_millis(1));
            }
            seen
        });
        Self { scene, over, thread }
    }

    /// Claims that it saw the processes it was to see, and the canary nowhere.
    #[track_caller]
    pub fn ends_without_a_leak(self, programs: &[&str]) {
        self.over.store(true, Ordering::Relaxed);
        let mut seen = self.thread.join().unwrap();
        look_at_files(&self.scene.canary, &self.scene.files, &mut seen);
        for program in programs {
            let is_seen = seen.processes.iter().any(|known| known.ends_with(program));
            assert!(is_seen, "{program} was not seen: {:?}", seen.processes);
        }
        assert_eq!(seen.leaks, BTreeSet::new());
    }
}

impl Scene {
    fn look_at_processes(&self, seen: &mut Seen) {
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(environ) = fs::read(entry.path().join("environ")) else { continue };
            if !String::from_utf8_lossy(&environ).contains(&self.mark) {
                continue;
            }
            let cmdline = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let program = cmdline.split(|byte| *byte == 0).next().unwrap_or_default();
            let program = String::from_utf8_lossy(program);
            for (name, bytes) in [("environ", &environ), ("cmdline", &cmdline)] {
                if self.canary.is_in(bytes) {
                    seen.leaks.insert(format!("{name} of {program}"));
                }
            }
            seen.processes.insert(program.into_owned());
        }
    }
}

fn look_at_files(canary: &Canary, directory: &Path, seen: &mut Seen) {
    // Files come and go while we look.
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            look_at_files(canary, &path, seen);
        } else if entry.file_type().is_ok_and(|kind| kind.is_file())
            && fs::read(&path).is_ok_and(|bytes| canary.is_in(&bytes))
        {
            seen.leaks.insert(path.display().to_string());
        }
    }
}

/// A directory for secrets, outside of everything that is looked at.
pub struct Safe(TempDir);

impl Safe {
    /// One that is empty.
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    #[must_use]
    pub fn new() -> Self {
        Self(TempDir::with_prefix("stoker-safe-").unwrap())
    }

    /// Puts a secret in, and returns its path.
    #[must_use]
    pub fn put(&self, name: &str, secret: &str) -> String {
        let path = self.path(name);
        fs::write(&path, secret).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// The path that something of this name has here.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

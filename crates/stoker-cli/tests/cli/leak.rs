//! Where a secret could show: what a program says, its processes, and all files around it.

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

use crate::world::{Run, World};

/// What must not be seen, in all forms it might take.
pub(crate) struct Canary(pub(crate) Vec<String>);

impl Canary {
    pub(crate) fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        Self(secrets.into_iter().flat_map(forms).collect())
    }

    /// The body of a private key: each of its lines alone gives it away.
    pub(crate) fn of_key(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let lines: Vec<&str> = text.lines().filter(|line| line.len() >= 60).collect();
        assert!(lines.len() > 2, "no key in {}", path.display());
        Self(lines.into_iter().map(ToOwned::to_owned).collect())
    }

    fn is_in(&self, bytes: &[u8]) -> bool {
        let text = String::from_utf8_lossy(bytes);
        self.0.iter().any(|form| text.contains(form.as_str()))
    }

    #[track_caller]
    pub(crate) fn is_absent_from(&self, run: &Run) {
        assert!(!self.is_in(run.stdout.as_bytes()), "{run:#?}");
        assert!(!self.is_in(run.stderr.as_bytes()), "{run:#?}");
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

/// Looks at arguments and environment of every process and at all files, again and again.
pub(crate) struct Watch {
    over: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

#[derive(Default)]
struct Seen {
    processes: BTreeSet<String>,
    leaks: BTreeSet<String>,
}

impl Watch {
    pub(crate) fn start(canary: &Arc<Canary>, world: &World) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let (flag, canary, root) = (Arc::clone(&over), Arc::clone(canary), world.root().to_owned());
        let thread = thread::spawn(move || {
            let mut seen = Seen::default();
            while !flag.load(Ordering::Relaxed) {
                look_at_processes(&canary, &root, &mut seen);
                look_at_files(&canary, &root, &mut seen);
                // Others need the processor, too.
                thread::sleep(Duration::from_millis(1));
            }
            seen
        });
        Self { over, thread }
    }

    /// Claims that it saw the processes it was to see, and the canary nowhere.
    #[track_caller]
    pub(crate) fn ends_without_a_leak(self, world: &World, canary: &Canary, programs: &[&str]) {
        self.over.store(true, Ordering::Relaxed);
        let mut seen = self.thread.join().unwrap();
        look_at_files(canary, world.root(), &mut seen);
        for program in programs {
            let is_seen = seen.processes.iter().any(|known| known.ends_with(program));
            assert!(is_seen, "{program} was not seen: {:?}", seen.processes);
        }
        assert_eq!(seen.leaks, BTreeSet::new());
    }
}

/// Processes of this world only: other tests run beside this one.
fn look_at_processes(canary: &Canary, root: &Path, seen: &mut Seen) {
    let root = root.to_str().unwrap();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(environ) = fs::read(entry.path().join("environ")) else { continue };
        if !String::from_utf8_lossy(&environ).contains(root) {
            continue;
        }
        let cmdline = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let program = cmdline.split(|byte| *byte == 0).next().unwrap_or_default();
        seen.processes.insert(String::from_utf8_lossy(program).into_owned());
        for (name, bytes) in [("environ", &environ), ("cmdline", &cmdline)] {
            if canary.is_in(bytes) {
                seen.leaks.insert(format!("{name} of {}", String::from_utf8_lossy(program)));
            }
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
pub(crate) struct Safe(TempDir);

impl Safe {
    pub(crate) fn new() -> Self {
        Self(TempDir::with_prefix("stoker-safe-").unwrap())
    }

    pub(crate) fn put(&self, name: &str, secret: &str) -> String {
        let path = self.path(name);
        fs::write(&path, secret).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

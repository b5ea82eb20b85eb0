#![expect(clippy::disallowed_methods, reason = "looks at the disk from outside")]
#![expect(clippy::unwrap_used, reason = "a test")]
//! Modes do not depend on the umask (A11). Alone in its process, because the umask is the
//! process's.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::time::Duration;

use stoker_sync::request::Mapping;
use stoker_sync::{Cancel, Engine, Missing, Opened, Options, RelPath, Request, WorkDir};

#[test]
fn files_and_directories_get_declared_modes_under_any_umask() {
    for umask in [0o000, 0o077, 0o777] {
        let scratch = tempfile::tempdir().unwrap();
        let (work, data) = (scratch.path().join("work"), scratch.path().join("data"));
        std::fs::create_dir_all(work.join("p/a")).unwrap();
        std::fs::create_dir_all(&data).unwrap();
        for (name, mode) in [("plain", 0o666), ("tool", 0o4777)] {
            std::fs::write(work.join("p/a").join(name), name).unwrap();
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(work.join("p/a").join(name), mode).unwrap();
        }
        let before = rustix::process::umask(rustix::fs::Mode::from_raw_mode(umask));
        sync(&work, &data);
        rustix::process::umask(before);
        let mode = |path: &str| std::fs::metadata(data.join(path)).unwrap().mode() & 0o7777;
        let modes = ["projects", "projects/a", "projects/a/plain", "projects/a/tool", ".stoker"];
        assert_eq!(modes.map(mode), [0o755, 0o755, 0o644, 0o755, 0o700], "umask {umask:o}");
    }
}

fn sync(work: &std::path::Path, data: &std::path::Path) {
    let cancel = Cancel::default();
    let mut source = WorkDir::open(work, Vec::new(), &Cancel::default()).unwrap();
    let options = Options {
        data: data.into(),
        missing: Missing::Refuse,
        lock_timeout: Duration::ZERO,
        follow: Vec::new(),
    };
    let path = |text| RelPath::parse(text).unwrap();
    let commit = source.scan().unwrap().to_string();
    let request = Request::new(commit, vec![Mapping::new(path("p"), path("projects"))]);
    let mut engine = Engine::open(&options, &cancel).and_then(Opened::finish).unwrap();
    let plan = engine.plan(&mut source, &request, &cancel).unwrap();
    engine.write(plan, &mut source, &cancel).unwrap().apply(&mut || {}).unwrap();
}

//! A data directory that is a volume of its own.

use stoker_testkit::git::Repo;
use stoker_testkit::{skip, tree};

use super::world::{Run, STOKER, World};

pub(crate) fn is_root() -> bool {
    let is_root = rustix::process::getuid().is_root();
    if !is_root {
        skip::record("mounting needs root");
    }
    is_root
}

/// A shell in a mount namespace of its own. `sync REF NAME` runs a sync, notes exit code and
/// output, and copies the data directory out, because the mount is gone with the shell. `RUN` may
/// name a program that runs the sync.
pub(crate) fn with_mount(world: &World, mount: &str, repo: &Repo, scenario: &str) -> Run {
    let data = world.data();
    let url = repo.url();
    let script = format!(
        "set -e\n\
         sync() {{\n\
           set +e\n\
           $RUN {STOKER} sync --repo {url} --ref $1 --map projects:projects --data {data} \
             >{root}/$2.out 2>{root}/$2.err\n\
           echo $? > {root}/$2.code\n\
           set -e\n\
           cp -a {data} {root}/$2.data\n\
         }}\n\
         {mount}\n{scenario}\n",
        data = data.display(),
        root = world.root().display()
    );
    // The fence of the test kit has made the namespace; nothing that is mounted in it gets out.
    Run::ended(world.command("sh", ["-c", &script]))
}

/// What `sync REF NAME` noted.
pub(crate) fn noted(world: &World, name: &str) -> (i32, String, tree::Tree) {
    let read = |end: &str| std::fs::read_to_string(world.path(&format!("{name}.{end}"))).unwrap();
    let data = tree::Tree::read(&world.path(&format!("{name}.data"))).unwrap();
    for (path, _) in data.iter() {
        let text = String::from_utf8_lossy(path);
        assert!(!text.starts_with(".sync-staging"), "after {name}: {text} is left");
        assert!(!text.contains(".stoker-"), "after {name}: {text} is left");
    }
    let live = data.without(".stoker").without("lost+found");
    (read("code").trim().parse().unwrap(), read("err"), live)
}

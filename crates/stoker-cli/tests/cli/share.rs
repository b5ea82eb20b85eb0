//! Volumes that have no permissions to give, as SMB shares: every file shows the same bits.

use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::{skip, tree};

use crate::mount::{is_root, noted, with_mount};
use crate::world::{Run, STOKER, World, plant, plant_files};

const SCRIPT: &str = "projects/oven/tool.sh";

/// Mounts a share over the data directory; what a file is given comes to this.
fn share(chmod: &str) -> String {
    // It serves until the namespace ends, and holds no pipe of the test meanwhile.
    format!("mkdir -p far && bindfs -p 0777 {chmod} far \"$PWD/data\" >far.log 2>&1")
}

fn can_be_had() -> bool {
    if !is_root() {
        return false;
    }
    let world = World::new();
    let works = Run::ended(world.command("sh", ["-c", &share("--chmod-ignore")]));
    if works.code != 0 {
        skip::record("no bindfs or no /dev/fuse");
    }
    works.code == 0
}

/// The plant and a script, as the share shows them.
fn shown() -> tree::Tree {
    let plant = plant_files().file(SCRIPT, "#!/bin/sh\n");
    plant.iter().fold(tree::Tree::default(), |tree, (path, node)| match node {
        tree::Node::File { bytes, .. } => tree.file_with_mode(path, bytes, 0o777),
        tree::Node::Symlink(_) | tree::Node::EmptyDir => tree,
    })
}

fn converges_on(mount: &str) {
    let (world, repo) = (World::new(), plant());
    let script = Tree::new().executable(SCRIPT, "#!/bin/sh\n");
    repo.commit_to("main", Edit::put(script)).unwrap();
    let plan = format!(
        "{STOKER} plan --exit-code --repo {} --ref main --map projects:projects --data data",
        repo.url()
    );
    let scenario = format!("sync main first; sync main again; {plan}");
    let run = with_mount(&world, mount, &repo, &scenario);
    assert_eq!(run.code, 0, "{run:#?}");
    for name in ["first", "again"] {
        let (code, errors, live) = noted(&world, name);
        assert_eq!((code, &*errors), (0, ""), "{name}");
        live.assert_is(&shown());
    }
    let said = std::fs::read_to_string(world.path("again.out")).unwrap();
    assert!(said.contains("unchanged"), "{said}");
}

#[test]
fn where_permissions_given_to_files_are_ignored_a_second_run_has_nothing_to_do() {
    if can_be_had() {
        converges_on(&share("--chmod-ignore"));
    }
}

#[test]
fn where_nobody_may_give_permissions_files_land_and_a_second_run_has_nothing_to_do() {
    if can_be_had() {
        converges_on(&share("--chmod-deny"));
    }
}

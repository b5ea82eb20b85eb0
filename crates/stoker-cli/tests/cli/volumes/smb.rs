//! Volumes as SMB shares are: without permissions to give, every file showing the same bits, and
//! without case, so that two spellings are one name.

use stoker_testkit::git::{Edit, Repo, Tree};
use stoker_testkit::{skip, tree};

use crate::kit::mount::{is_root, noted, with_mount};
use crate::kit::world::{Run, STOKER, World, plant, plant_files};

const SCRIPT: &str = "projects/oven/tool.sh";

/// Mounts a share over the data directory; what a file is given comes to this.
fn share(chmod: &str) -> String {
    // It serves until the namespace ends, and holds no pipe of the test meanwhile.
    format!("mkdir -p far && bindfs -p 0777 {chmod} far \"$PWD/data\" >far.log 2>&1")
}

/// Makes a volume that ignores case, and two ways to mount it: `caseless`, which lists all names in
/// small letters, and `cased`, which shows how they are spelled.
const CASELESS: &str = "truncate -s 16M far.img && mkfs.ntfs -F -q far.img >far.log 2>&1\n\
    caseless() { lowntfs-3g -o ignore_case,umask=0 far.img data >far.log 2>&1; }\n\
    cased() { ntfs-3g far.img data >far.log 2>&1; }\n\
    caseless && umount data";

fn can_be_had(mount: &str) -> bool {
    if !is_root() {
        return false;
    }
    let world = World::new();
    let works = Run::ended(world.command("sh", ["-c", mount]));
    if works.code != 0 {
        skip::record("no bindfs, no ntfs-3g or no /dev/fuse");
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
    let mount = share("--chmod-ignore");
    if can_be_had(&mount) {
        converges_on(&mount);
    }
}

#[test]
fn without_permissions_files_arrive_and_a_second_run_has_nothing_to_do() {
    let mount = share("--chmod-deny");
    if can_be_had(&mount) {
        converges_on(&mount);
    }
}

fn holding(files: &[&str]) -> Tree {
    let add = |tree: Tree, file: &&str| tree.file(format!("projects/{file}"), file);
    files.iter().fold(Tree::new(), add)
}

/// `sync REF NAME` runs a sync, and notes exit code, output, and what is then on the volume.
fn caseless_syncs(world: &World, repo: &Repo, scenario: &str) -> Run {
    let url = repo.url();
    let script = format!(
        "set -e\n\
         {CASELESS}\n\
         sync() {{\n\
           caseless\n\
           {STOKER} sync --repo {url} --ref $1 --map projects:projects --data data \
             >$2.out 2>$2.err && echo 0 >$2.code || echo $? >$2.code\n\
           umount data && cased && cp -a data $2.data && umount data\n\
         }}\n\
         {scenario}\n"
    );
    Run::ended(world.command("sh", ["-c", &script]))
}

// A10: on such a volume the old name and the new one are one file.
#[test]
fn where_case_is_ignored_a_change_of_case_loses_no_file() {
    if !can_be_had(CASELESS) {
        return;
    }
    let world = World::new();
    let repo = Repo::with(holding(&["oven/a", "oven/sub/b", "lamp", "Dir/in"])).unwrap().0;
    let steps: [(&str, &[&str]); 5] = [
        ("file", &["oven/A", "oven/sub/b", "lamp", "Dir/in"]),
        ("dir", &["Oven/A", "Oven/Sub/b", "lamp", "Dir/in"]),
        ("grown", &["Oven/A", "Oven/Sub/b", "Lamp/in", "Dir/in"]),
        ("shrunk", &["Oven/A", "Oven/Sub/b", "Lamp/in", "dir"]),
        ("moved", &["Oven/a/deep", "Oven/c", "lamp", "dir"]),
    ];
    let mut scenario = vec!["sync main main".to_owned()];
    for (branch, files) in steps {
        repo.commit_to(branch, Edit::put(holding(files))).unwrap();
        scenario.push(format!("sync {branch} {branch}; sync {branch} {branch}-again"));
    }
    let run = caseless_syncs(&world, &repo, &scenario.join("\n"));
    assert_eq!(run.code, 0, "{run:#?}");
    for (branch, files) in steps {
        for name in [branch.to_owned(), format!("{branch}-again")] {
            let (code, errors, live) = noted(&world, &name);
            // Each branch is reported once as another source than the last.
            let is_other = |line: &str| line.starts_with("warning: the last run brought ");
            assert!(code == 0 && errors.lines().all(is_other), "{name}: {errors}");
            assert!(errors.is_empty() || name == branch, "{name}: {errors}");
            let live = live.iter().map(|(path, _)| String::from_utf8_lossy(path).into_owned());
            let mut live: Vec<_> = live.collect();
            live.sort_by_key(|path| path.to_lowercase());
            let mut expected =
                files.iter().map(|file| format!("projects/{file}")).collect::<Vec<_>>();
            expected.sort_by_key(|path| path.to_lowercase());
            assert_eq!(live, expected, "{name}");
        }
        let said = std::fs::read_to_string(world.path(&format!("{branch}-again.out"))).unwrap();
        assert!(said.contains("unchanged"), "{branch}: {said}");
    }
}

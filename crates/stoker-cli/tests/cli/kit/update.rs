//! Two commits that differ in many ways, an update from one to the other, and which states may be
//! seen in between.

use std::ffi::OsString;

use stoker_testkit::git::{Repo, Tree};
use stoker_testkit::tree::{self, Node};

use super::strace::{KILLED, Point, can_trace, learn, strike};
use super::world::World;

/// A repository with the branches `old` and `new`, more than 200 files apart, and both as trees.
pub(crate) struct Update {
    pub(crate) repo: Repo,
    pub(crate) old: tree::Tree,
    pub(crate) new: tree::Tree,
}

impl Update {
    pub(crate) fn new() -> Self {
        let repo = Repo::empty().unwrap();
        let old = versions("old", (0..220).collect());
        let new = versions("new", (0..200).chain(220..240).collect());
        // A file becomes a directory, another the other way round, a third changes its mode only.
        let old = old.file("projects/p0/turn", "file").file("projects/p1/turn/inner", "inner");
        let new = new.file("projects/p0/turn/inner", "inner").file("projects/p1/turn", "file");
        let old = old.file("projects/p2/mode", "same");
        let new = new.file_with_mode("projects/p2/mode", "same", 0o755);
        repo.commit_to("old", as_git(&old)).unwrap();
        repo.commit_to("new", as_git(&new)).unwrap();
        Self { repo, old, new }
    }

    /// An update, and a world at `old`, where processes can be traced.
    pub(crate) fn traceable() -> Option<(World, Self)> {
        let (world, update) = (World::new(), Self::new());
        can_trace(&world).then(|| update.sync(&world, "old"))?;
        Some((world, update))
    }

    pub(crate) fn words(&self, world: &World, branch: &str) -> Vec<OsString> {
        // The test reverses everything on purpose.
        let more = ["--ref", branch, "--allow-mass-delete", "-q"];
        world.words("sync", &self.repo.url(), &more)
    }

    /// A world of its own that is at this branch.
    pub(crate) fn world_at(&self, branch: &str) -> World {
        let world = World::new();
        self.sync(&world, branch);
        world
    }

    pub(crate) fn sync(&self, world: &World, branch: &str) {
        world.stoker(self.words(world, branch)).exits(0);
        let wanted = if branch == "old" { &self.old } else { &self.new };
        assert_eq!(&world.live(), wanted, "not exactly {branch}");
        nothing_is_left(world);
    }

    /// Kills an update from `old` to `new` in the middle of its renames.
    pub(crate) fn break_off(&self, world: &World, more: &[OsString]) {
        let words = |branch| {
            let mut words = self.words(world, branch);
            words.extend_from_slice(more);
            words
        };
        world.stoker(words("old")).exits(0);
        let is_rename = |point: &Point| point.call.starts_with("renameat");
        let points = learn(world, words("new"), |line| line.contains("/data/"));
        let renames: Vec<Point> = points.into_iter().filter(is_rename).collect();
        world.stoker(words("old")).exits(0);
        let run = strike(world, words("new"), &renames[renames.len() / 2], "signal=KILL");
        assert_eq!(run.code, KILLED, "{run:#?}");
        let live = world.live();
        assert!(live != self.old && live != self.new, "it is no mixture");
    }

    pub(crate) fn url(&self) -> String {
        self.repo.url()
    }

    /// Each live file is whole, and of one of the two commits; what is in both is there.
    pub(crate) fn is_old_or_new(&self, world: &World, when: &str) {
        self.allows(&world.live(), when);
    }

    /// The same of a copy of the live files.
    pub(crate) fn allows(&self, live: &tree::Tree, when: &str) {
        let allowed = [&self.old, &self.new];
        for (path, node) in live.iter().filter(|(path, _)| !is_temporary(path)) {
            let is_known = allowed.iter().any(|tree| same(tree.get(path), node));
            let is_bare = *node == Node::EmptyDir;
            assert!(is_known || is_bare, "{when}: {} is {node:?}", path.escape_ascii());
        }
        for (path, _) in self.old.iter().filter(|(path, _)| self.new.get(path).is_some()) {
            assert!(live.get(path).is_some(), "{when}: {} is lost", path.escape_ascii());
        }
    }
}

/// Contents that differ by version, in a few projects.
fn versions(word: &str, numbers: Vec<usize>) -> tree::Tree {
    tree::tree(numbers.into_iter().map(|number| {
        let (project, view) = (number % 6, number % 18);
        // Long enough that a torn write would show, with an end that says so.
        let content = format!("{word} {number} {}end\n", word.repeat(40));
        (format!("projects/p{project}/v{view}/f{number}.json"), content)
    }))
}

fn as_git(files: &tree::Tree) -> Tree {
    files.iter().fold(Tree::new(), |tree, (path, node)| match node {
        Node::File { bytes, mode: 0o755 } => tree.executable(path, bytes),
        Node::File { bytes, .. } => tree.file(path, bytes),
        Node::Symlink(_) | Node::EmptyDir => tree,
    })
}

/// The same bytes: between a rename and the end of a run a mode may be of either side.
pub(crate) fn same(known: Option<&Node>, live: &Node) -> bool {
    match (known, live) {
        (Some(Node::File { bytes: known, .. }), Node::File { bytes, .. }) => known == bytes,
        _ => false,
    }
}

pub(crate) fn is_temporary(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|part| part.starts_with(b".stoker-"))
}

/// Nothing but our one directory, and in it nothing but lock and manifest.
#[track_caller]
pub(crate) fn nothing_is_left(world: &World) {
    let all = tree::Tree::read(&world.data()).unwrap();
    for (path, _) in all.iter() {
        let text = String::from_utf8_lossy(path);
        let is_ours = text == ".stoker/lock" || text.starts_with(".stoker/manifest");
        let is_left = text.starts_with(".stoker/") && !is_ours
            || text.starts_with(".sync-staging")
            || is_temporary(path);
        assert!(!is_left, "{text} is left behind");
    }
}

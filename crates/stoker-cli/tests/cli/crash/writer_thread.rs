//! So many files that a thread of their own writes them: it may be struck like any other (promises
//! A1, A5).

use stoker_testkit::git::{Repo, Tree};
use stoker_testkit::tree;

use crate::kit::strace::{KILLED, can_trace, traced};
use crate::kit::update::nothing_is_left;
use crate::kit::world::{Run, World};

/// Beyond the number from which on the thread is worth it.
const FILES: usize = 2_100;
/// More openings than git or our first thread make, so that the thread that writes is struck.
const STRIKES: [usize; 3] = [400, 1_200, 2_050];

struct Crowd {
    repo: Repo,
    files: tree::Tree,
}

impl Crowd {
    fn new() -> Self {
        let file = |n: usize| (format!("projects/p{}/f{n}", n % 30), format!("{n}"));
        let all = (0..FILES).map(file);
        let git = all.clone().fold(Tree::new(), |tree, (path, text)| tree.file(path, text));
        let (repo, _) = Repo::with(git).unwrap();
        Self { repo, files: tree::tree(all) }
    }

    /// Runs first syncs of which the n-th opening of any of their threads ends so; the next run
    /// completes each.
    fn struck(&self, how: &str, judge: impl Fn(&World, Run)) {
        for number in STRIKES {
            let world = World::new();
            if !can_trace(&world) {
                return;
            }
            let inject = format!("inject=openat:{how}:when={number}");
            let options = ["-f", "-o", "/dev/null", "-e", "trace=openat", "-e", &inject];
            let words = world.words("sync", &self.repo.url(), &["-q"]);
            judge(&world, traced(&world, &options, words));
            assert_eq!(world.live(), tree::Tree::default(), "nothing was renamed yet");
            world.sync(&self.repo.url(), &["-q"]).exits(0);
            assert_eq!(world.live(), self.files);
            nothing_is_left(&world);
        }
    }
}

#[test]
fn a_run_killed_while_its_thread_writes_is_completed_by_the_next() {
    Crowd::new().struck("signal=KILL", |_, run| drop(run.exits(KILLED)));
}

#[test]
fn a_failure_of_the_thread_that_writes_is_the_failure_of_the_run() {
    Crowd::new().struck("error=ENOSPC", |world, run| {
        run.exits(1).says(&["No space left on device"]);
        nothing_is_left(world);
    });
}

//! Machines that lack what git needs.

use crate::kit::mount::is_root;
use crate::kit::result::refused;
use crate::kit::world::{Run, STOKER, World, plant};

#[test]
fn a_machine_without_git_is_told_so() {
    let (world, repo) = (World::new(), plant());
    let words = world.words("sync", &repo.url(), &["-o", "json"]);
    let words = ["PATH=/nowhere".into(), STOKER.into()].into_iter().chain(words);
    let run = Run::ended(world.command("env", words));
    refused(run, 1, "GitMissing", &["\"git\" is not installed"]);
}

#[test]
fn a_machine_without_proc_is_told_so() {
    if !is_root() {
        return;
    }
    let (world, repo) = (World::new(), plant());
    let sync = "mount -t tmpfs none /proc && exec \"$@\"";
    let mut words = vec!["-c".into(), sync.into(), "sh".into(), STOKER.into()];
    words.extend(world.words("sync", &repo.url(), &["-o", "json"]));
    let run = Run::ended(world.command("sh", words));
    refused(run, 1, "FetchFailed", &["our own program"]);
}

//! Limits that the command line shares with a cluster, and spans of time in which nothing can
//! happen.

use rustix::process::Signal;
use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::wait::eventually;

use crate::kit::background::end;
use crate::kit::world::{Run, STOKER, World, plant, plant_files};

const NOWHERE: &str = "https://nowhere.invalid/a.git";

fn told(run: &Run, words: &[&str]) {
    for word in words {
        assert!(run.stderr.contains(word), "no {word:?}: {run:?}");
    }
}

#[test]
fn what_is_beyond_a_limit_is_exit_2_and_names_it() {
    let world = World::new();
    let watch = |more: &[&str]| {
        let words = world.words("watch", NOWHERE, more);
        world.stoker(words).exits(2)
    };
    told(&watch(&["--interval", "4s"]), &["--interval", "shortest interval is 5 s"]);
    told(&watch(&["--interval", "0"]), &["--interval", "5 s"]);
    let name = "n".repeat(254);
    let sync = |more: &[&str]| world.sync(NOWHERE, more).exits(2);
    told(&sync(&["--gateway-name", &name]), &["at most 253 characters"]);
    told(&sync(&["--timeout", "0s"]), &["--timeout", "no time"]);
    told(&sync(&["--gateway-timeout", "0"]), &["--gateway-timeout", "no time"]);
    world.sync(NOWHERE, &["--lock-timeout", "0"]).exits(1);
}

#[test]
fn a_url_that_can_not_work_is_exit_2_and_the_one_that_can_is_named() {
    let (world, repo) = (World::new(), plant());
    let sync = |url: &str| world.sync(url, &[]);
    told(&sync("https://host:99999/x").exits(2), &["65535"]);
    told(&sync("file://repo").exits(2), &["hint: write file:///ABSOLUTE/PATH"]);
    let place = world.path("sp \u{fc}%41.git");
    std::os::unix::fs::symlink(repo.path(), &place).unwrap();
    let run = sync("./sp \u{fc}%41.git").exits(2);
    let hint = run.stderr.split("hint: use --repo ").nth(1).unwrap().trim();
    assert!(hint.ends_with("/sp%20%C3%BC%2541.git"), "{hint}");
    sync(hint).exits(0);
    assert_eq!(world.live(), plant_files());
}

#[test]
fn the_files_own_pace_counts_unless_a_flag_says_another() {
    let (world, repo) = (World::new(), plant());
    let file = |polling: &str| {
        let yaml = format!(
            "apiVersion: stoker.io/v1alpha1\nkind: GatewaySync\nspec:\n  polling: {polling}\n\
             \x20 git: {{repo: '{}', ref: main}}\n\
             \x20 sync: {{profiles: {{site: {{mappings: [{{source: projects, destination: projects}}]}}}}}}\n",
            repo.url()
        );
        world.file("sync.yaml", yaml)
    };
    file("{interval: 5s}");
    let watch = ["watch", "-f", "sync.yaml", "--data", "data"];
    let child = world.start(watch);
    eventually("the first sync", || world.live() == plant_files());
    repo.commit(Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    eventually("the new commit", || world.live().get("projects/oven/new.json").is_some());
    end(child, Signal::INT).exits(130);

    file("{enabled: false}");
    let refused = world.stoker(watch).exits(2);
    told(&refused, &["spec.polling.enabled", "--listen", "--interval"]);
    repo.commit(Edit::put(Tree::new().file("projects/oven/more.json", "{}"))).unwrap();
    let child = world.start(watch.iter().chain(&["--interval", "5s"]));
    eventually("it polls all the same", || world.live().get("projects/oven/more.json").is_some());
    end(child, Signal::INT).exits(130);
}

#[test]
fn a_variable_that_is_empty_counts_as_unset() {
    let (world, repo) = (World::new(), plant());
    let mut command = world.command(STOKER, world.words("sync", &repo.url(), &[]));
    for name in ["API_KEY_FILE", "GIT_TOKEN_FILE", "GIT_SSH_KEY_FILE", "GIT_KNOWN_HOSTS_FILE"] {
        command.env(name, "");
    }
    command.env("GIT_CA_FILE", "").env("GATEWAY_NAME", "").env("DATA_PATH", "");
    Run::ended(command).exits(0);
    let mut command = world.command(STOKER, ["sync", "--repo", NOWHERE, "--map", "a:b"]);
    command.env("DATA_PATH", "");
    told(&Run::ended(command).exits(2), &["--data"]);
    // One that is set counts; nobody but the repository decides whether it can be used.
    let mut command = world.command(STOKER, world.words("sync", &repo.url(), &[]));
    command.env("GIT_TOKEN_FILE", "token");
    told(&Run::ended(command).exits(0), &["warning: GIT_TOKEN_FILE is not used"]);
    let both = ["--ssh-key-file", "key", "--token-file", "token"];
    let refused = world.sync(NOWHERE, &both).exits(2);
    told(&refused, &["--token-file and --ssh-key-file exclude each other"]);
}

#[test]
fn foreign_directories_may_be_deeper_than_the_usual_number_of_open_files() {
    let (world, repo) = (World::new(), plant());
    world.sync(&repo.url(), &[]).exits(0);
    std::fs::create_dir_all(world.data().join("projects/line").join("d/".repeat(600))).unwrap();
    let stray = format!("projects/line/{}stray", "d/".repeat(600));
    std::fs::write(world.data().join(&stray), "s").unwrap();
    let script = "ulimit -Sn 256; exec \"$0\" \"$@\"";
    let mut words = vec!["-c".into(), script.into(), STOKER.into()];
    words.extend(world.words("sync", &repo.url(), &[]));
    Run::ended(world.command("sh", words)).exits(0);
    assert_eq!(world.live(), plant_files());
}

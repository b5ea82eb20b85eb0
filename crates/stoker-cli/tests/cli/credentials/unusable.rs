//! Credentials that can't be used, with this URL or at all.

use crate::kit::manifest::{PROJECTS, gateway_sync, run_in, tells};
use crate::kit::world::{Run, STOKER, World, plant, plant_files};

const SSH: &str = "    auth: {sshKey: {secretRef: {name: key}}}\n    caSecretRef: {name: ca}\n";

#[test]
fn what_another_url_can_not_use_of_the_file_is_left_aside() {
    let (world, repo) = (World::new(), plant());
    let clone = repo.url();
    let yaml = gateway_sync("ssh://git@nowhere.invalid/plant.git", PROJECTS) + SSH;
    let told = run_in(&world, &yaml, &["--repo", &clone], &[]).exits(0);
    let aside = format!("warning: spec.git.auth.sshKey is not used: it does not fit {clone}");
    tells(&told, &[&aside, "warning: spec.git.caSecretRef is not used"]);
    assert_eq!(world.live(), plant_files());
    // Who gives one for this run means it.
    let key = ["--repo", &clone, "--ssh-key-file", "key", "--known-hosts-file", "hosts"];
    tells(&run_in(&world, &yaml, &key, &[]).exits(2), &["an SSH key", "leave out --ssh-key-file"]);
    let token = ["--repo", &clone, "--token-file", "token"];
    tells(&run_in(&world, &yaml, &token, &[]).exits(2), &["a token", "leave out --token-file"]);
    // A file that does not fit its own URL is wrong.
    let odd = gateway_sync(&clone, PROJECTS) + SSH;
    run_in(&world, &odd, &[], &[]).exits(2);
}

#[test]
fn a_flag_for_another_method_takes_the_place_of_the_files() {
    let world = World::new();
    let auth = "    auth: {token: {secretRef: {name: git-token}}}\n";
    let yaml = gateway_sync("https://nowhere.invalid/plant.git", PROJECTS) + auth;
    let (key, hosts) = (world.file("key", "-----BEGIN x"), world.file("hosts", "h ssh-rsa AAAA"));
    let more = [
        ["--repo", "ssh://git@127.0.0.1:1/plant.git"],
        ["--ssh-key-file", key.to_str().unwrap()],
        ["--known-hosts-file", hosts.to_str().unwrap()],
    ];
    let reached = run_in(&world, &yaml, more.as_flattened(), &[]).exits(1);
    tells(&reached, &["warning: spec.git.auth.token is not used: --ssh-key-file takes its place"]);
}

#[test]
fn what_the_url_can_not_use_of_the_environment_is_left_aside() {
    let (world, repo) = (World::new(), plant());
    let token = world.file("token", "t");
    let sync = |url: &str, variables: &[&str]| {
        let mut command = world.command(STOKER, world.words("sync", url, &[]));
        command.envs(variables.iter().map(|name| (name, &token)));
        Run::ended(command)
    };
    for name in ["GIT_TOKEN_FILE", "GIT_SSH_KEY_FILE", "GIT_CA_FILE"] {
        let told = sync(&repo.url(), &[name]).exits(0);
        tells(&told, &[&format!("warning: {name} is not used: it does not fit {}", repo.url())]);
    }
    let far = sync("http://nowhere.invalid/plant.git", &["GIT_TOKEN_FILE"]).exits(1);
    tells(&far, &["warning: GIT_TOKEN_FILE is not used: credentials over http://"]);
    // Of two, the one that fits.
    let both = sync("https://nowhere.invalid/plant.git", &["GIT_TOKEN_FILE", "GIT_SSH_KEY_FILE"]);
    assert!(!both.exits(1).stderr.contains("warning"));
}

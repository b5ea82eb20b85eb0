//! Credentials that can't be used: by this URL, or by anyone.

use stoker_testkit::leak::Canary;

use crate::kit::manifest::{PROJECTS, gateway_sync, run_in, secret, tells};
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

#[test]
fn a_value_that_can_not_work_is_told_by_its_secret() {
    let (world, canary) = (World::new(), Canary::new(["canary-value"]));
    let url = "https://nowhere.invalid/plant.git";
    let token = gateway_sync(url, PROJECTS) + "    auth: {token: {secretRef: {name: s}}}\n";
    let ssh = gateway_sync("ssh://git@nowhere.invalid/plant.git", PROJECTS)
        + "    auth: {sshKey: {secretRef: {name: s}, knownHosts: {secretRef: {name: h}}}}\n";
    let authority = gateway_sync(url, PROJECTS) + "    caSecretRef: {name: s}\n";
    let app = gateway_sync(url, PROJECTS)
        + "    auth: {githubApp: {appId: 1, installationId: 2, privateKeySecretRef: {name: s}}}\n";
    for (yaml, key, value, fault) in [
        (&token, "token", "canary-value\nx", "the value holds more than one line"),
        (&token, "token", "", "the value is empty"),
        (&ssh, "ssh-privatekey", "canary-value", "it is no private key"),
        (&authority, "ca.crt", "canary-value", "the value holds no certificate"),
        (&app, "private-key.pem", "canary-value", "the value is not an RSA private key"),
    ] {
        let refused =
            run_in(&world, &format!("{yaml}{}", secret("s", key, value)), &[], &[]).exits(2);
        tells(&refused, &[&format!("Secret s, key {key}: "), fault, &format!("stringData.{key}")]);
        assert!(!refused.stderr.contains("/proc/"), "{refused:?}");
        refused.hides(&canary);
    }
    let key = format!("{}{}", gateway_sync(url, PROJECTS), secret("gateway-key", "apiKey", "x"));
    let refused = run_in(&world, &key, &["--gateway", "http://localhost:1"], &[]).exits(2);
    tells(&refused, &["spec.gateway.api: Secret gateway-key, key apiKey", "name:secret"]);
}

#[test]
fn a_secret_that_is_there_and_does_not_serve_says_why() {
    let world = World::new();
    let yaml = gateway_sync("https://nowhere.invalid/plant.git", PROJECTS)
        + "    auth: {token: {secretRef: {name: s}}}\n---\napiVersion: v1\nkind: Secret\n";
    for (rest, words) in [
        (
            "metadata: {name: s}\nstringData: {tokn: x, a: x}\n",
            "Secret s has no key token, only a, tokn",
        ),
        ("metadata: {name: s}\n", "Secret s has no key token, nor any other"),
        ("metadata: {name: s}\nstringData: {token: 5}\n", "stringData.token must be a string"),
        ("metadata: {name: s}\ndata: {token: true}\n", "data.token must be a string"),
        ("metadata: {name: s}\ndata: {token: '*'}\n", "data.token is not base64"),
        ("metadata: {name: s}\nstringData: x\n", "stringData must be keys"),
        ("metadata: {name: n}\nstringData: {token: x}\n", "metadata.name: must be a string"),
    ] {
        let refused = run_in(&world, &format!("{yaml}{rest}"), &[], &[]).exits(2);
        tells(&refused, &[words]);
        assert!(!refused.stderr.contains("nothing serves"), "{refused:?}");
    }
    // Where the key is missing, a flag still serves.
    let file = format!("{yaml}metadata: {{name: s}}\n");
    run_in(&world, &file, &["--token-file", "absent"], &[]).exits(1);
}

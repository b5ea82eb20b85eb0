//! Which value is used for a reference of the file: its own Secret, else a flag, else the
//! environment; and credentials that can't be used.

use std::fs;
use std::path::Path;

use stoker_testkit::gateway::{Gateway, Options};
use stoker_testkit::git::Edit;
use stoker_testkit::git::Tree;
use stoker_testkit::git::http::{Auth, HttpServer};
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::git::tls::{Authority, Flaw};

use super::never_shown::rsa_key;
use crate::kit::manifest::{PROJECTS, gateway_sync, run_in, secret};
use crate::kit::world::{Run, STOKER, World, guarded, plant, plant_files};

fn text(path: impl AsRef<Path>) -> String {
    path.as_ref().to_str().unwrap().to_owned()
}

const TOKEN: &str = "    auth: {token: {secretRef: {name: git-token}, username: bob}}\n";

#[test]
fn the_user_name_of_the_file_holds_for_every_source_of_the_token() {
    let (world, repo, server) = (World::new(), plant(), HttpServer::start().unwrap());
    let yaml = gateway_sync(&server.mount("plant", &repo), PROJECTS) + TOKEN;
    let token = text(world.file("token", "s3cret"));
    server.require(Auth::Basic("bob".into(), "s3cret".into()));
    run_in(&world, &yaml, &["--token-file", &token], &[]).exits(0);
    run_in(&world, &yaml, &[], &[("GIT_TOKEN_FILE", &token)]).exits(0);
    server.require(Auth::Basic("alice".into(), "s3cret".into()));
    let by_flag = ["--token-file", &token, "--username", "alice"];
    run_in(&world, &yaml, &by_flag, &[]).exits(0);
}

#[test]
fn a_secret_of_the_file_comes_before_flags_and_before_the_environment() {
    let (world, repo) = (World::new(), plant());
    let (_server, url) = guarded(&repo, "s3cret");
    let auth = TOKEN.replace(", username: bob", "");
    let bare = gateway_sync(&url, PROJECTS) + &auth;
    let yaml = format!("{bare}{}", secret("git-token", "token", "s3cret"));
    let (right, wrong) = (text(world.file("right", "s3cret")), text(world.file("wrong", "other")));
    let told = run_in(&world, &yaml, &["--token-file", &wrong], &[]).exits(0);
    told.says(&["warning: --token-file is not used: Secret git-token, key token of the file"]);
    let told = run_in(&world, &yaml, &["--token-file", &wrong, "-o", "json"], &[]).exits(0).json();
    assert_eq!(told["warnings"][0]["code"], "CredentialUnused", "{told:#}");
    // An exported variable is not an error.
    for variables in [("GIT_TOKEN_FILE", "absent"), ("GIT_SSH_KEY_FILE", "absent")] {
        let quiet = run_in(&world, &yaml, &[], &[variables]).exits(0);
        assert_eq!(quiet.stderr, "", "{variables:?}");
    }
    run_in(&world, &bare, &["--token-file", &right], &[("GIT_TOKEN_FILE", &wrong)]).exits(0);
    run_in(&world, &bare, &["--token-file", &right], &[("GIT_SSH_KEY_FILE", "key")]).exits(0);
    let unserved = run_in(&world, &bare, &[], &[("GIT_SSH_KEY_FILE", "key")]).exits(2);
    unserved.says(&["spec.git.auth.token.secretRef", "--token-file"]);
}

// A token that is given together with another server is for that server; the file's is not.
#[test]
fn a_flag_beside_another_server_comes_before_a_secret_of_the_file() {
    let (world, repo) = (World::new(), plant());
    let (_server, url) = guarded(&repo, "mine");
    let yaml = gateway_sync("https://corp.invalid/plant.git", PROJECTS)
        + &TOKEN.replace(", username: bob", "")
        + &secret("git-token", "token", "corporate");
    let mine = text(world.file("mine", "mine"));
    let told = run_in(&world, &yaml, &["--repo", &url, "--token-file", &mine], &[]).exits(0);
    told.says(&["warning: spec.git.auth.token is not used: --token-file takes its place"]);
    assert_eq!(world.live(), plant_files());
}

#[test]
fn key_and_host_keys_are_served_each_by_itself() {
    let (world, repo, server) = (World::new(), plant(), SshServer::start().unwrap());
    let auth =
        "    auth: {sshKey: {secretRef: {name: key}, knownHosts: {secretRef: {name: hosts}}}}\n";
    let yaml = gateway_sync(&server.url(&repo), PROJECTS) + auth;
    let (key, hosts) = (text(server.user_key(Kind::Ed25519)), text(server.known_hosts()));
    let held = |path: &str| fs::read_to_string(path).unwrap();
    let with_hosts = format!("{yaml}{}", secret("hosts", "known_hosts", &held(&hosts)));
    run_in(&world, &with_hosts, &["--ssh-key-file", &key], &[]).exits(0);
    run_in(&world, &with_hosts, &[], &[("GIT_SSH_KEY_FILE", &key)]).exits(0);
    let unserved = run_in(&world, &yaml, &["--ssh-key-file", &key], &[]).exits(2);
    unserved.says(&["spec.git.auth.sshKey.knownHosts.secretRef", "--known-hosts-file"]);
    let whole = format!("{with_hosts}{}", secret("key", "ssh-privatekey", &held(&key)));
    let stranger = text(server.stranger_key().unwrap());
    let nobody = text(server.empty_known_hosts().unwrap());
    let flags = ["--ssh-key-file", &stranger, "--known-hosts-file", &nobody];
    let told = run_in(&world, &whole, &flags, &[]).exits(0);
    told.says(&["warning: --ssh-key-file is not", "warning: --known-hosts-file is not"]);
    let variables = [("GIT_SSH_KEY_FILE", &*stranger), ("GIT_KNOWN_HOSTS_FILE", &*nobody)];
    run_in(&world, &whole, &[], &variables).exits(0);
    let by_key = format!("{yaml}{}", secret("key", "ssh-privatekey", &held(&key)));
    run_in(&world, &by_key, &[], &[("GIT_KNOWN_HOSTS_FILE", &hosts)]).exits(0);
    assert_eq!(world.live(), plant_files());
}

#[test]
fn certificates_of_the_file_come_first() {
    let (world, repo) = (World::new(), plant());
    let (ours, other) = (Authority::new().unwrap(), Authority::new().unwrap());
    let server = HttpServer::start_tls(&ours.issue(Flaw::None).unwrap()).unwrap();
    let url = server.mount("plant", &repo);
    let yaml = gateway_sync(&url, PROJECTS) + "    caSecretRef: {name: ca}\n";
    let whole =
        format!("{yaml}{}", secret("ca", "ca.crt", &fs::read_to_string(ours.file()).unwrap()));
    let other = text(other.file());
    let told = run_in(&world, &whole, &["--ca-file", &other], &[]).exits(0);
    told.says(&["warning: --ca-file is not used"]);
    run_in(&world, &whole, &[], &[("GIT_CA_FILE", &other)]).exits(0);
    run_in(&world, &yaml, &[], &[("GIT_CA_FILE", &text(ours.file()))]).exits(0);
}

#[test]
fn the_api_key_of_the_file_comes_first() {
    let (world, repo) = (World::new(), plant());
    let gateway = Gateway::start(Options::over(world.data()).token("sync:key")).unwrap();
    let yaml = gateway_sync(&repo.url(), PROJECTS);
    let whole = format!("{yaml}{}", secret("gateway-key", "apiKey", "sync:key"));
    let (right, wrong) = (text(world.file("r", "sync:key")), text(world.file("w", "sync:other")));
    let url = gateway.url();
    let news = |name: &str| {
        let tree = Tree::new().file(format!("projects/oven/{name}.json"), "{}");
        repo.commit(Edit::put(tree)).unwrap();
    };
    let told = run_in(&world, &whole, &["--gateway", &url, "--api-key-file", &wrong], &[]).exits(0);
    told.says(&["warning: --api-key-file is not used"]);
    news("a");
    run_in(&world, &whole, &["--gateway", &url], &[("API_KEY_FILE", &wrong)]).exits(0);
    news("b");
    run_in(&world, &yaml, &["--gateway", &url], &[("API_KEY_FILE", &right)]).exits(0);
    let spelled = yaml.replace("api: {secretName: gateway-key}", "apiKeySecretRef: {name: k}");
    let unserved = run_in(&world, &spelled, &["--gateway", &url], &[]).exits(2);
    unserved.says(&["spec.gateway.apiKeySecretRef", "--api-key-file"]);
}

#[test]
fn the_key_of_an_app_is_named_by_its_secret() {
    let world = World::new();
    let auth = "    auth: {githubApp: {appId: 1, installationId: 2, privateKeySecretRef: {name: app}, apiBaseURL: 'http://127.0.0.1:1'}}\n";
    let yaml = gateway_sync("https://nowhere.invalid/a.git", PROJECTS) + auth;
    rsa_key(&world.path("key.pem"));
    let key = fs::read_to_string(world.path("key.pem")).unwrap();
    let whole = format!("{yaml}{}", secret("app", "private-key.pem", &key));
    let failed = run_in(&world, &whole, &["--github-key-file", "absent"], &[]).exits(1);
    failed.says(&["with the key Secret app, key private-key.pem", "--github-key-file is not used"]);
    assert!(!failed.stderr.contains("/proc/"), "{failed:?}");
}

#[test]
fn a_reference_that_only_a_cluster_uses_is_a_warning() {
    let (world, repo) = (World::new(), plant());
    let sync = format!("  webhook: {{secretRef: {{name: hook}}}}\n{PROJECTS}");
    let yaml = gateway_sync(&repo.url(), &sync);
    let told = run_in(&world, &yaml, &[], &[]).exits(0);
    told.says(&["warning: spec.webhook.secretRef: no value for Secret hook, key hmac-key"]);
    let whole = format!("{yaml}{}", secret("hook", "hmac-key", "x"));
    assert_eq!(run_in(&world, &whole, &[], &[]).exits(0).stderr, "");
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
    let mut command = world.command(STOKER, ["sync", "--repo", &repo.url(), "--map", "a:b"]);
    command.env("DATA_PATH", "");
    Run::ended(command).exits(2).says(&["--data"]);
    // A variable that is set counts; whether it is used depends on the repository.
    let mut command = world.command(STOKER, world.words("sync", &repo.url(), &[]));
    command.env("GIT_TOKEN_FILE", "token");
    Run::ended(command).exits(0).says(&["warning: GIT_TOKEN_FILE is not used"]);
}

const SSH: &str = "    auth: {sshKey: {secretRef: {name: key}}}\n    caSecretRef: {name: ca}\n";

#[test]
fn what_another_url_can_not_use_of_the_file_is_left_aside() {
    let (world, repo) = (World::new(), plant());
    let clone = repo.url();
    let yaml = gateway_sync("ssh://git@nowhere.invalid/plant.git", PROJECTS) + SSH;
    let told = run_in(&world, &yaml, &["--repo", &clone], &[]).exits(0);
    let aside = format!("warning: spec.git.auth.sshKey is not used: it does not fit {clone}");
    told.says(&[&aside, "warning: spec.git.caSecretRef is not used"]);
    assert_eq!(world.live(), plant_files());
    // Who gives one for this run means it.
    let key = ["--repo", &clone, "--ssh-key-file", "key", "--known-hosts-file", "hosts"];
    run_in(&world, &yaml, &key, &[]).exits(2).says(&["an SSH key", "leave out --ssh-key-file"]);
    let token = ["--repo", &clone, "--token-file", "token"];
    run_in(&world, &yaml, &token, &[]).exits(2).says(&["a token", "leave out --token-file"]);
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
    reached.says(&["warning: spec.git.auth.token is not used: --ssh-key-file takes its place"]);
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
        told.says(&[&format!("warning: {name} is not used: it does not fit {}", repo.url())]);
    }
    let far = sync("http://nowhere.invalid/plant.git", &["GIT_TOKEN_FILE"]).exits(1);
    far.says(&["warning: GIT_TOKEN_FILE is not used: credentials over http://"]);
    // Of two, the one that fits.
    let both = sync("https://nowhere.invalid/plant.git", &["GIT_TOKEN_FILE", "GIT_SSH_KEY_FILE"]);
    assert!(!both.exits(1).stderr.contains("warning"));
}

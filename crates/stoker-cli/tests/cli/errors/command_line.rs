//! Errors about flags, and about the `-f` file with its Secrets: exit code 2, before a run contacts
//! anything.

use stoker_testkit::git::Tree;

use super::table::Table;
use crate::kit::manifest::{PROJECTS, gateway_sync, run, secret};
use crate::kit::result::refused;
use crate::kit::world::{Run, STOKER, World, plant, plant_files};

const NOWHERE: &str = "https://nowhere.invalid/plant.git";

#[test]
fn flags() {
    let (world, repo, mut table) = (World::new(), plant(), Table::new("flags"));
    table.hide(&repo.url(), "$REPO");
    let (name, flag) = ("n".repeat(254), "--gateway-name");
    table.hide(&name, "<254 times n>");
    for more in [
        &["--interval", "4s"] as &[&str],
        &["--interval", "0"],
        &["--timeout", "0s"],
        &["--gateway-timeout", "0"],
        &[flag, &name],
        &[flag, ""],
        &["--var", "my-var=1"],
        &["--var", "x"],
        &["--follow", "."],
        &["--gateway", "localhost", "--api-key-file", "key"],
        &["--gateway", "http://localhost:1"],
        &["--no-such-flag"],
    ] {
        let title = more.join(" ").replace(&name, "<254 times n>");
        table.words(&title, &world, world.words("watch", NOWHERE, more));
    }
    let dev = ["dev", ".", "--map", "tmp:p", "--data", "data", "--gateway", "http://localhost:1"];
    table.words("dev with a gateway and no key", &world, dev);
    table.words("a command that does not exist", &world, ["synch"]);
    table.words("watch without flags", &world, ["watch"]);
    table.words("plan --bad", &world, ["plan", "--bad"]);
    let plan = ["plan", "--repo", NOWHERE, "--ref", "a..b", "--map", "a:b", "--data", "data"];
    table.words("plan of a..b", &world, plan);
    table.words("sync without --data", &world, ["sync", "--repo", NOWHERE]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    table.hide(&address, "ADDRESS");
    let words = world.words("watch", &repo.url(), &["--listen", &address]);
    table.words("an address that is taken", &world, words);
    let words = world.words("sync", &repo.url(), &["-o", "json"]);
    let words = ["PATH=/nowhere".into(), STOKER.into()].into_iter().chain(words);
    table.take("a machine without git", &world, &Run::ended(world.command("env", words)));
    table.matches();
    world.sync(NOWHERE, &["--lock-timeout", "0"]).exits(1);
}

// Not in the table, which would change with every new command.
#[test]
fn a_missing_command_lists_all_but_hidden_ones() {
    let run = World::new().stoker(["-o", "json"]).exits(2);
    let message = run.json()["error"]["message"].to_string();
    assert!(message.contains("completions") && !message.contains("reference"), "{message}");
}

#[test]
fn a_machine_without_proc_is_reported() {
    if !crate::kit::mount::is_root() {
        return;
    }
    let (world, repo) = (World::new(), plant());
    let sync = "mount -t tmpfs none /proc && exec \"$@\"";
    let mut words = vec!["-c".into(), sync.into(), "sh".into(), STOKER.into()];
    words.extend(world.words("sync", &repo.url(), &["-o", "json"]));
    let run = Run::ended(world.command("sh", words));
    refused(run, 1, "FetchFailed", &["our own program"]);
}

#[test]
fn the_result_names_the_ref_whatever_else_is_wrong() {
    let world = World::new();
    for more in [
        &["--exclude", "[a"] as &[&str],
        &["--map", "p:/etc"],
        &["--gateway", "http://localhost:1"],
        &["-f", "absent.yaml"],
        &["--ref", "a..b"],
    ] {
        let run = world.sync(NOWHERE, &[more, &["-o", "json"]].concat()).exits(2);
        let wanted = if more.contains(&"--ref") { "a..b" } else { "main" };
        assert_eq!(run.json()["ref"], wanted, "{more:?}: {run:?}");
    }
    let yaml = gateway_sync(NOWHERE, PROJECTS).replace("ref: main", "ref: release");
    let run = run(&world, &yaml, &["-o", "json", "--exclude", "[a"]).exits(2);
    assert_eq!(run.json()["ref"], "release");
}

#[test]
fn a_plan_that_failed_has_an_empty_list_of_changes() {
    let world = World::new();
    let plan = |git_ref: &str| {
        let words = ["plan", "--repo", NOWHERE, "--ref", git_ref, "--map", "a:b", "--data", "data"];
        world.stoker(words.into_iter().chain(["-o", "json"]))
    };
    let unread = world.stoker(["plan", "--bad", "-o", "json"]);
    for (run, code) in [(plan("a..b"), 2), (plan("main"), 1), (unread, 2)] {
        assert_eq!(run.exits(code).json()["changes"], serde_json::json!([]));
    }
    let sync = world.sync(NOWHERE, &["-o", "json"]).exits(1);
    assert!(sync.json().get("changes").is_none());
}

#[test]
fn manifests() {
    let (world, mut table) = (World::new(), Table::new("manifests"));
    let good = gateway_sync(NOWHERE, PROJECTS);
    let replaced = |from: &str, to: &str| good.replace(from, to);
    let sync =
        "  sync: {profiles: {site: {mappings: [{source: p, destination: 'q/{{.PodName}}'}]}}}";
    let others = "apiVersion: v1\nkind: Namespace\nmetadata: {name: plants}\n---\n\
                  apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: gate}\n";
    let profile = "apiVersion: stoker.io/v1alpha1\nkind: SyncProfile\nmetadata: {name: site}\n\
                   spec: {mappings: [{source: projects, destination: projects}]}\n";
    let two = "  sync: {profiles: {north: {mappings: [{source: a, destination: a}]}, \
               south: {mappings: [{source: b, destination: b}]}}}";
    let two = gateway_sync(NOWHERE, two);
    let bare = format!(
        "apiVersion: stoker.io/v1alpha1\nkind: GatewaySync\nspec: {{git: {{repo: '{NOWHERE}', ref: main}}}}\n"
    );
    let flags = ["--repo", NOWHERE, "--ref", "main", "--profile", "foo"];
    for (title, yaml, more) in [
        ("broken YAML", "spec: [", &[] as &[&str]),
        ("a duplicate key", &format!("{good}spec: {{}}\n"), &[]),
        (
            "an annotation that is not a string",
            &replaced("name: plant", "name: plant\n  annotations: {x: true}"),
            &[],
        ),
        (
            "a namespace that YAML takes for a Boolean",
            &replaced("name: plant", "name: plant\n  namespace: n"),
            &[],
        ),
        ("an unknown field", &replaced("ref: main", "reff: main\n    ref: main"), &[]),
        ("a misspelled field", &replaced("destination", "destinaton"), &[]),
        ("a required field that is missing", &replaced("ref: main", "reff: main"), &[]),
        ("a field of a later version", &format!("{good}    verify: {{mode: HEAD}}\n"), &[]),
        ("an unknown kind", &replaced("kind: GatewaySync", "kind: Gateway"), &[]),
        (
            "an unknown kind of our group",
            &format!("{good}---\napiVersion: stoker.io/v1\nkind: Deployment\n"),
            &[],
        ),
        ("two documents", &format!("{good}---\n{}", replaced("name: plant", "name: b")), &[]),
        ("documents for a cluster only", others, &[]),
        ("a template", &gateway_sync(NOWHERE, sync), &[]),
        ("no profiles", &bare, &[]),
        ("two profiles", &two, &[]),
        ("an unknown profile", &two, &["--profile", "west"]),
        ("a SyncProfile without a repository", profile, &[]),
        ("a SyncProfile of another name", profile, &flags),
    ] {
        table.file(title, &world, yaml, more);
    }
    world.file("sync.yaml", replaced("spec:\n", "spec:\n  polling: {enabled: false}\n"));
    let watch = ["watch", "-f", "sync.yaml", "--data", "data"];
    table.words("watch without polling", &world, watch);
    table.matches();
}

#[test]
fn documents() {
    let (world, mut table) = (World::new(), Table::new("documents"));
    let good = gateway_sync(NOWHERE, PROJECTS);
    for text in ["[]", "- a", "foo", "\"x\"", "42", "true"] {
        table.file(text, &world, text, &[]);
        table.file(&format!("{text} behind another"), &world, &format!("{good}---\n{text}\n"), &[]);
    }
    table.words("no file", &world, ["sync", "-f", "absent.yaml", "--data", "data"]);
    table.matches();
}

#[test]
fn secrets() {
    let (world, repo, mut table) = (World::new(), plant(), Table::new("secrets"));
    table.hide(&repo.url(), "$REPO");
    let with = |url: &str, auth: &str| format!("{}    {auth}\n", gateway_sync(url, PROJECTS));
    let token = with(NOWHERE, "auth: {token: {secretRef: {name: s}}}");
    let ssh_url = "ssh://git@nowhere.invalid/plant.git";
    let ssh_auth = "auth: {sshKey: {secretRef: {name: s}, knownHosts: {secretRef: {name: h}}}}";
    let ssh = with(ssh_url, ssh_auth);
    let authority = with(NOWHERE, "caSecretRef: {name: s}");
    let app_auth =
        "auth: {githubApp: {appId: 1, installationId: 2, privateKeySecretRef: {name: s}}}";
    let app = with(NOWHERE, app_auth);
    for (title, yaml, key, value) in [
        ("a token of two lines", &token, "token", "hunter2\nx"),
        ("an empty token", &token, "token", ""),
        ("an SSH key that is not one", &ssh, "ssh-privatekey", "hunter2"),
        ("a CA that is not one", &authority, "ca.crt", "hunter2"),
        ("an App key that is not one", &app, "private-key.pem", "hunter2"),
    ] {
        table.file(title, &world, &format!("{yaml}{}", secret("s", key, value)), &[]);
    }
    let key = gateway_sync(NOWHERE, PROJECTS) + &secret("gateway-key", "apiKey", "x");
    table.file("an API key without a colon", &world, &key, &["--gateway", "http://localhost:1"]);
    for (title, yaml) in
        [("no token", &token), ("no SSH key", &ssh), ("no CA", &authority), ("no App key", &app)]
    {
        table.file(title, &world, yaml, &[]);
    }
    let head = format!("{token}---\napiVersion: v1\nkind: Secret\n");
    for rest in [
        "metadata: {name: s}\nstringData: {tokn: x, a: x}\n",
        "metadata: {name: s}\n",
        "metadata: {name: s}\nstringData: {token: 5}\n",
        "metadata: {name: s}\ndata: {token: true}\n",
        "metadata: {name: s}\ndata: {token: '*'}\n",
        "metadata: {name: s}\nstringData: x\n",
        "metadata: {name: n}\nstringData: {token: x}\n",
        "metadata: {name: s, namespace: other}\nstringData: {token: x}\n",
    ] {
        table.file(&rest.replace('\n', " "), &world, &format!("{head}{rest}"), &[]);
    }
    let misfit = with(&repo.url(), "auth: {sshKey: {secretRef: {name: key}}}");
    table.file("an SSH key for a file URL", &world, &misfit, &[]);
    let flags = ["--repo", &repo.url(), "--ssh-key-file", "key", "--known-hosts-file", "hosts"];
    table.file("an SSH key by flag for a file URL", &world, &with(ssh_url, ssh_auth), &flags);
    table.matches();
    // Where the key is missing, a flag still serves.
    let file = format!("{head}metadata: {{name: s}}\n");
    run(&world, &file, &["--token-file", "absent"]).exits(1);
}

#[test]
fn a_hint_of_the_file_is_one_that_helps() {
    let (world, repo) = (World::new(), plant());
    let yaml = format!(
        "apiVersion: stoker.io/v1alpha1\nkind: GatewaySync\nspec: {{git: {{repo: '{}', ref: main}}}}\n",
        repo.url()
    );
    run(&world, &yaml, &["--map", "projects:projects"]).exits(0);
    assert_eq!(world.live(), plant_files());
    let pointer = Tree::new().lfs_pointer("projects/line/image.png", 7);
    repo.commit(stoker_testkit::git::Edit::put(pointer)).unwrap();
    let mut plan = world.words("plan", &repo.url(), &["-o", "json"]);
    refused(world.stoker(&plan), 1, "LfsPointer", &["projects/line/image.png"]);
    plan.extend(["--exclude".into(), "**/*.png".into()]);
    assert_eq!(world.stoker(&plan).exits(0).json()["filesAdded"], 0);
}

//! `-f`: Secrets beside the document, and flags in their place.

use stoker_testkit::gateway::{Gateway, Options};
use stoker_testkit::git::{Edit, Tree};

use crate::kit::manifest::{PROJECTS, gateway_sync, run, secret};
use crate::kit::world::{World, guarded, plant, plant_files};

#[test]
fn secrets_beside_the_document_are_used() {
    let (world, repo) = (World::new(), plant());
    let (_server, url) = guarded(&repo, "s3cret");
    let auth = "    auth: {token: {secretRef: {name: git-token}}}\n    allowInsecureHTTP: true\n";
    let yaml = gateway_sync(&url, PROJECTS) + auth;
    let secret = "---\napiVersion: v1\nkind: Secret\nmetadata: {name: git-token}\n";
    let by_text = format!("{yaml}{secret}stringData: {{token: s3cret}}\n");
    run(&world, &by_text, &[]).exits(0);
    assert_eq!(world.live(), plant_files());
    let encoded = format!("{yaml}{secret}data: {{token: czNjcmV0}}\n");
    run(&World::new(), &encoded, &[]).exits(0);
    let token = world.file("token", "s3cret\n");
    run(&World::new(), &yaml, &["--token-file", token.to_str().unwrap()]).exits(0);
}

#[test]
fn a_secret_of_another_namespace_is_not_used() {
    let world = World::new();
    let auth = "    auth: {token: {secretRef: {name: git-token}}}\n";
    let url = "https://nowhere.invalid/plant.git";
    let own = |namespace: &str| {
        let name = format!("name: plant\n  namespace: {namespace}");
        gateway_sync(url, PROJECTS).replace("name: plant", &name) + auth
    };
    let secret = |namespace: &str| {
        format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: git-token, namespace: {namespace}}}\n\
             stringData: {{token: s3cret}}\n"
        )
    };
    let unnamed = gateway_sync(url, PROJECTS) + auth;
    for yaml in [own("plant") + &secret("other"), unnamed.clone() + &secret("other")] {
        let refused = run(&world, &yaml, &[]).exits(2);
        let words = "Secret git-token is in namespace other";
        assert!(refused.stderr.contains(words), "{refused:?}");
        assert!(refused.stderr.contains("add --token-file FILE"), "{refused:?}");
        assert!(!refused.stderr.contains("s3cret"), "{refused:?}");
    }
    // Those that fit get as far as the server.
    for yaml in [own("plant") + &secret("plant"), unnamed + &secret("default")] {
        run(&world, &yaml, &[]).exits(1).says(&["nowhere.invalid"]);
    }
}

#[test]
fn the_gateway_of_the_document_scans_only_with_the_flag() {
    let (world, repo) = (World::new(), plant());
    let gateway = Gateway::start(Options::over(world.data()).token("sync:key")).unwrap();
    let key = secret("gateway-key", "apiKey", "sync:key");
    let yaml = gateway_sync(&repo.url(), PROJECTS) + &key;
    run(&world, &yaml, &[]).exits(0);
    assert_eq!(gateway.calls(), Vec::<String>::new());
    repo.commit(Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    let result = run(&world, &yaml, &["--gateway", &gateway.url(), "-o", "json"]).exits(0).json();
    assert_eq!(result["scan"]["projects"], "done", "{result:#}");
}

// The rule of the command line, not of the cluster: this machine is fine, and flags have the last
// word.
#[test]
fn credentials_over_http_are_judged_when_the_flags_are_known() {
    let (world, repo) = (World::new(), plant());
    let (_server, url) = guarded(&repo, "s3cret");
    let token = secret("git-token", "token", "s3cret");
    let auth = format!("    auth: {{token: {{secretRef: {{name: git-token}}}}}}\n{token}");
    run(&world, &(gateway_sync(&url, PROJECTS) + &auth), &[]).exits(0);
    assert_eq!(world.live(), plant_files());
    let elsewhere = gateway_sync("http://nowhere.invalid/plant.git", PROJECTS) + &auth;
    // A credential of the file is for the file's host.
    let left = run(&world, &elsewhere, &["--repo", &url]).exits(1);
    let told = "warning: spec.git.auth.token is not used: it is for nowhere.invalid";
    assert!(left.stderr.contains(told), "{left:?}");
    let token = world.file("token", "s3cret");
    let given = ["--repo", &url, "--token-file", token.to_str().unwrap()];
    run(&world, &elsewhere, &given).exits(0);
    run(&world, &elsewhere, &[]).exits(2).says(&["--allow-insecure-http"]);
    run(&world, &elsewhere, &["--allow-insecure-http"]).exits(1).says(&["nowhere.invalid"]);
    // Every other rule of the cluster stays.
    let odd = elsewhere.replace("  git:\n", "  git:\n    allowInsecureHTTP: often\n");
    run(&world, &odd, &["--repo", &url]).exits(2).says(&["spec.git.allowInsecureHTTP"]);
}

#[test]
fn the_key_of_an_app_in_the_file_may_come_by_flag() {
    let world = World::new();
    let auth = "    auth: {githubApp: {appId: 1, installationId: 2, privateKeySecretRef: {name: app}, apiBaseURL: 'http://api.invalid'}}\n";
    let yaml = gateway_sync("https://nowhere.invalid/a.git", PROJECTS) + auth;
    run(&world, &yaml, &[]).exits(2).says(&["hint: add --github-key-file FILE"]);
    let key = world.file("key.pem", "-----BEGIN");
    let by_flag = ["--github-key-file", key.to_str().unwrap()];
    // The API's URL is judged by the command line's rule, too.
    run(&world, &yaml, &by_flag).exits(2).says(&["http://api.invalid"]);
    run(&world, &yaml, &[&by_flag[..], &["--allow-insecure-http"]].concat())
        .exits(1)
        .says(&["key.pem"]);
    let plain = gateway_sync("https://nowhere.invalid/a.git", PROJECTS);
    run(&world, &plain, &by_flag).exits(2).says(&["--github-app-id"]);
}

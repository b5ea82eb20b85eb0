//! The page about git authentication, against servers that ask for each kind of credentials.
//!
//! Long: the claim follows the page, one server after the other.

use std::fs;

use stoker_testkit::git::github::GitHubApp;
use stoker_testkit::git::http::{Auth, HttpServer};
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::git::tls::{Authority, Flaw};

use crate::{Guide, World};

#[test]
fn c03_each_credential_of_the_page_resolves_a_ref() {
    let Some(world) = super::world() else { return };
    let (node, repo) = (world.node(), world.quickstart.repo());
    let ssh = SshServer::start().unwrap();
    let by_ssh = node.expose(ssh.address());
    let (host, port) = (by_ssh.address().ip(), by_ssh.address().port());
    let server = HttpServer::start().unwrap();
    server.mount("plant", repo);
    server.require(Auth::Basic("deploy".into(), "secret".into()));
    let by_http = node.expose(server.address());
    let app = GitHubApp::start().unwrap();
    app.mount("plant", repo);
    let by_app = node.expose(app.address());
    let authority = Authority::new().unwrap();
    let private = HttpServer::start_tls(&authority.issue(Flaw::None).unwrap()).unwrap();
    private.mount("plant", repo);
    let by_https = node.expose(private.address());

    let shell = world.shell("credentials");
    let file = |name: &str| shell.directory().join(name);
    fs::copy(ssh.user_key(Kind::Ed25519), file("id_ed25519")).unwrap();
    fs::copy(authority.file(), file("ca.crt")).unwrap();
    fs::write(file("token"), "secret").unwrap();
    fs::write(file("private-key.pem"), app.private_key()).unwrap();
    // The server has another address for us than for pods.
    let scan = format!(
        "ssh-keyscan -p {} 127.0.0.1 | sed 's/^[^ ]*/[{host}]:{port}/'",
        ssh.address().port()
    );
    let insecure = "\n    allowInsecureHTTP: true";
    let mut page = Guide::open(&shell, "docs/guides/git-authentication.md")
        .with("ssh-keyscan git.example.com", &scan)
        .with("git@git.example.com:plant/ignition.git", &ssh.url_at(by_ssh.address(), repo))
        .with(
            "https://git.example.com/plant/ignition.git",
            &format!("http://{}/plant.git{insecure}", by_http.address()),
        )
        .with(
            "https://github.com/example/ignition.git",
            &format!("http://{}/plant.git{insecure}", by_app.address()),
        )
        .with(
            "appId: 12345",
            &format!("appId: {}\n        apiBaseURL: http://{}", app.app_id(), by_app.address()),
        )
        .with("678910", app.installation_id())
        .with(
            "https://git.plant.local/ignition.git",
            &format!("https://{}/plant.git", by_https.address()),
        )
        .with("    proxy: http://proxy.plant.local:3128\n", "");

    world.kubectl("create namespace plant");
    resolve(&world, &mut page, "SSH key");
    page.follow("Host keys");
    resolve(&world, &mut page, "Token");
    resolve(&world, &mut page, "GitHub App");
    assert!(app.tokens() > 0, "the App's key was exchanged");
    resolve(&world, &mut page, "Private CA and proxy");

    world.kubectl("delete secret plant-ca --namespace plant");
    let said = page.follow_to("When it does not work", 1);
    assert!(said.contains("plant-ca") && said.contains("kubectl create secret"), "{said}");
    world.kubectl("delete namespace plant --timeout=90s");
}

/// Runs the commands of a section, applies its manifest, and waits until the ref is resolved.
fn resolve(world: &World, page: &mut Guide<'_>, title: &str) {
    page.follow(title);
    world.apply(&page.page.section(title).manifests[0]);
    world.kubectl("wait gatewaysync/plant -n plant --for=condition=RefResolved --timeout=60s");
}

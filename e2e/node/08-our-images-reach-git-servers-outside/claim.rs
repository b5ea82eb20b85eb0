//! git and ssh of our images work without a shell, as a user without a passwd entry, against
//! servers of the test.

use stoker_testkit::git::http::{Auth, HttpServer};
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::git::tls::{Authority, Flaw};
use stoker_testkit::git::{Oid, Repo, ignition};
use stoker_testkit::images;
use stoker_testkit::node::Node;

const SSH_CONFIG: &str =
    "IdentityFile /files/key\nUserKnownHostsFile /files/known_hosts\nBatchMode yes\n";

/// The repository with the id that `main` has.
struct World {
    node: &'static Node,
    repo: Repo,
    commit: Oid,
}

impl World {
    /// Runs git in a pod of the agent's image and claims that it lists `main`.
    fn lists(&self, name: &str, url: &str, files: &[(&str, String)], variables: &[(&str, &str)]) {
        let namespace = self.node.cluster().namespace();
        let data: Vec<_> = files.iter().map(|(key, text)| format!("  {key}: {text:?}")).collect();
        let variables: Vec<_> = variables
            .iter()
            .map(|(key, value)| format!("    - {{name: {key}, value: {value:?}}}"))
            .collect();
        namespace.apply(
            &include_str!("pod.yaml")
                .replace("IMAGE", &images::load(self.node).agent)
                .replace("URL", url)
                .replace("VARIABLES", &variables.join("\n"))
                .replace("DATA", &data.join("\n")), // last: a key may contain any word
        );
        let pod = self.node.pod(&namespace, "git");
        pod.wait("jsonpath={.status.phase}=Succeeded");
        let expected = format!("{}\trefs/heads/main\n", self.commit);
        assert_eq!(pod.logs("git"), expected, "{name}");
    }
}

#[test]
fn c08_git_over_http_and_ssh_works_in_our_images() {
    let Some(healthy) = super::node() else { return };
    let (repo, commit) = Repo::with(ignition::tree(5, 1)).unwrap();
    let world = World { node: healthy.node, repo, commit };

    let plain = HttpServer::start().unwrap();
    plain.mount("plant", &world.repo);
    let exposed = world.node.expose(plain.address());
    world.lists("http", &format!("http://{}/plant.git", exposed.address()), &[], &[]);

    let authority = Authority::new().unwrap();
    let server = HttpServer::start_tls(&authority.issue(Flaw::None).unwrap()).unwrap();
    server.mount("plant", &world.repo);
    server.require(Auth::Basic("ci".into(), "open-sesame".into()));
    let exposed = world.node.expose(server.address());
    let url = format!("https://ci:open-sesame@{}/plant.git", exposed.address());
    let certificate = std::fs::read_to_string(authority.file()).unwrap();
    let trust = [("GIT_SSL_CAINFO", "/files/ca")];
    world.lists("https with a password", &url, &[("ca", certificate)], &trust);

    let ssh = SshServer::start().unwrap();
    let exposed = world.node.expose(ssh.address());
    let key = std::fs::read_to_string(ssh.user_key(Kind::Ed25519)).unwrap();
    let files = [
        ("key", key),
        ("known_hosts", ssh.known_hosts_at(exposed.address()).unwrap()),
        ("passwd", "ignition:x:2003:2003::/home/ignition:/bin/false\n".to_owned()),
        ("config", SSH_CONFIG.to_owned()),
    ];
    let library = format!("/usr/lib/{}-linux-gnu/libnss_wrapper.so", std::env::consts::ARCH);
    let variables = [
        ("LD_PRELOAD", library.as_str()),
        ("NSS_WRAPPER_PASSWD", "/files/passwd"),
        ("NSS_WRAPPER_GROUP", "/etc/group"),
    ];
    world.lists("ssh", &ssh.url_at(exposed.address(), &world.repo), &files, &variables);
}

//! Credentials are files of mode 0400 that only the agent's group reads. The kubelet replaces them
//! when their Secret changes, and the next fetch uses the new ones. A private authority and a proxy
//! are on the way to the repository.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use stoker_testkit::cluster::Namespace;
use stoker_testkit::git::Tree;
use stoker_testkit::git::http::{Auth, HttpServer};
use stoker_testkit::git::ssh::{Kind, SshServer};
use stoker_testkit::git::tls::{Authority, Flaw};
use stoker_testkit::node::{Pod, succeed};
use stoker_testkit::wait::eventually;

use super::{POD, SYNCED, Setup, World, inside, wait_report, worker};

const CREDENTIALS: &str = "/etc/stoker/git-credentials";

// B13, F7: a token in a file of mode 0400 is rotated; a private CA and a proxy are on the way.
#[test]
fn c05_a_token_is_rotated_behind_a_private_authority_and_a_proxy() {
    let Some(world) = World::begin() else { return };
    let namespace = world.node.cluster().namespace();
    let authority = Authority::new().unwrap();
    let server = HttpServer::start_tls(&authority.issue(Flaw::None).unwrap()).unwrap();
    server.mount("plant", &world.repo);
    require(&server, "canary-one");
    let proxy = world.node.expose(tunnel_to(server.address()));
    // Nothing listens there: the repository is behind the proxy.
    let url = "https://10.99.0.1:9/plant.git";
    let certificate = fs::read_to_string(authority.file()).unwrap();
    let token = format!("{CREDENTIALS}/token");
    let authority = format!("{CREDENTIALS}/ca.crt");
    set_secret(&namespace, &[("token", "canary-one"), ("ca.crt", &certificate)]);
    let proxy = format!("http://{}", proxy.address());
    world.announce(&namespace, url, &[("authType", "token"), ("gitProxy", &proxy)]);
    let environment = [("GIT_TOKEN_FILE", token.as_str()), ("GIT_CA_FILE", authority.as_str())];
    let setup = Setup { environment: &environment, ..Setup::default() };
    let pod = world.start(&namespace, &setup);
    pod.wait_ready();
    wait_report(&namespace, POD, &[SYNCED, world.commit.as_str()]);

    set_secret(&namespace, &[("token", "canary-two"), ("ca.crt", &certificate)]);
    refresh(&namespace, &pod, "token", "canary-two");
    require(&server, "canary-two");
    let commit = world.advance(&namespace, Tree::new().file("projects/line-1/a.json", "{}"));
    let report = wait_report(&namespace, POD, &[SYNCED, commit.as_str()]);
    assert!(!(report + &pod.logs("stoker-agent")).contains("canary"), "a token was shown");
}

// B12, F7: an SSH key in a file of mode 0400 is rotated.
#[test]
fn c05_an_ssh_key_is_rotated() {
    let Some(world) = World::begin() else { return };
    let namespace = world.node.cluster().namespace();
    let server = SshServer::start().unwrap();
    let exposed = world.node.expose(server.address());
    let url = server.url_at(exposed.address(), &world.repo);
    let known_hosts = server.known_hosts_at(exposed.address()).unwrap();
    let stranger = fs::read_to_string(server.stranger_key().unwrap()).unwrap();
    let key = fs::read_to_string(server.user_key(Kind::Ed25519)).unwrap();
    set_secret(&namespace, &[("ssh-privatekey", &stranger)]);
    world.announce(&namespace, &url, &[("authType", "sshKey"), ("knownHosts", &known_hosts)]);
    let file = format!("{CREDENTIALS}/ssh-privatekey");
    let environment = [("GIT_SSH_KEY_FILE", file.as_str())];
    let setup = Setup { environment: &environment, ..Setup::default() };
    let pod = world.start(&namespace, &setup);
    wait_report(&namespace, POD, &["\"reason\":\"AuthenticationFailed\""]);
    set_secret(&namespace, &[("ssh-privatekey", &key)]);
    refresh(&namespace, &pod, "ssh-privatekey", &key);
    wait_report(&namespace, POD, &[SYNCED, world.commit.as_str()]);
}

fn require(server: &HttpServer, token: &str) {
    server.require(Auth::Basic("x-access-token".to_owned(), token.to_owned()));
}

fn set_secret(namespace: &Namespace<'_>, data: &[(&str, &str)]) {
    let lines: Vec<_> = data.iter().map(|(key, value)| format!("  {key}: {value:?}")).collect();
    let lines = lines.join("\n");
    namespace.apply(&format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: git}}\nstringData:\n{lines}\n"
    ));
}

/// Waits until the pod has this content. A change of the pod makes the kubelet look at its volumes
/// now instead of in a minute.
fn refresh(namespace: &Namespace<'_>, pod: &Pod<'_>, key: &str, content: &str) {
    let mut annotate = namespace.kubectl();
    succeed(annotate.args(["annotate", "pod", POD, "example.com/look=now"]));
    let file = inside(worker(namespace, POD), CREDENTIALS).join("..data").join(key);
    eventually("the kubelet writes the new Secret", || {
        fs::read_to_string(&file).is_ok_and(|found| found == content)
    });
    assert_eq!(pod.field("{.status.containerStatuses[0].restartCount}"), "0");
}

/// A proxy that leads every tunnel to this server, whatever its name in the request is.
fn tunnel_to(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            thread::spawn(move || relay(client, server));
        }
    });
    address
}

fn relay(mut client: TcpStream, server: SocketAddr) -> io::Result<()> {
    let mut head = BufReader::new(client.try_clone()?);
    let mut line = String::new();
    while head.read_line(&mut line)? > 2 {
        assert!(line.starts_with("CONNECT ") || line.contains(": "), "{line}");
        line.clear();
    }
    let mut server = TcpStream::connect(server)?;
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n")?;
    let (mut from, mut to) = (client.try_clone()?, server.try_clone()?);
    thread::spawn(move || {
        io::copy(&mut from, &mut to).ok();
        to.shutdown(std::net::Shutdown::Write).ok();
    });
    io::copy(&mut server, &mut client)?;
    client.shutdown(std::net::Shutdown::Write)
}

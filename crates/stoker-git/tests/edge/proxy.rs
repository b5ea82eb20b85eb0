//! Through a proxy: named by the caller, or by the environment, and around it where that says so.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::thread;

use stoker_api::word::HttpUrl;
use stoker_git::Access;
use stoker_testkit::git::http::HttpServer;
use stoker_testkit::git::tls::{Authority, Flaw};
use stoker_testkit::git::{Oid, Repo, Tree};

use crate::world::{Place, files, public};

/// A proxy for `CONNECT` and for whole URLs. Every name leads to the one server behind it, so that
/// a name that does not resolve proves that it was asked.
struct Proxy {
    address: SocketAddr,
    /// The first line of every connection.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        thread::spawn(move || {
            for client in listener.incoming() {
                let log = Arc::clone(&log);
                // Whoever hangs up has had enough.
                thread::spawn(move || serve(&client.unwrap(), server, &log).unwrap_or_default());
            }
        });
        Self { address, asked }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn serve(client: &TcpStream, server: SocketAddr, log: &Mutex<Vec<String>>) -> io::Result<()> {
    let head = head(client)?;
    let line = head.lines().next().unwrap_or_default().to_owned();
    let mut upstream = TcpStream::connect(server)?;
    if line.starts_with("CONNECT ") {
        (&mut &*client).write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
    } else {
        upstream.write_all(head.as_bytes())?;
    }
    log.lock().unwrap().push(line);
    let (to, from) = (upstream.try_clone()?, client.try_clone()?);
    let up = thread::spawn(move || pass(&from, &to));
    pass(&upstream, client);
    up.join().unwrap();
    Ok(())
}

/// Reads up to the empty line, and not one byte of what comes behind it.
fn head(mut client: &TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        client.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    String::from_utf8(head).map_err(io::Error::other)
}

fn pass(mut from: &TcpStream, mut to: &TcpStream) {
    io::copy(&mut from, &mut to).unwrap_or_default();
    to.shutdown(Shutdown::Write).unwrap_or_default();
}

fn repository() -> (Repo, Oid) {
    Repo::with(Tree::new().file("a", "a").file("d/b", "b")).unwrap()
}

/// The same URL with a host that does not resolve.
fn nowhere(server: &HttpServer, url: &str) -> String {
    url.replace(&server.address().to_string(), "git.invalid")
}

fn fetch(access: &Access, commit: &str) {
    let (place, commit) = (Place::new(), Oid::parse(commit).unwrap());
    place.resolve(access, "main").unwrap();
    let mut source = place.commit(access, &commit).unwrap();
    assert_eq!(files(&mut source).len(), 2);
}

#[test]
fn a_proxy_that_is_named_is_asked_for_every_url() {
    let ((repo, commit), server) = (repository(), HttpServer::start().unwrap());
    let url = nowhere(&server, &server.mount("plant", &repo));
    let proxy = Proxy::to(server.address());
    let named = Some(HttpUrl::parse(&proxy.url()).unwrap());
    let access = Access { proxy: named, ..public(&url) };
    fetch(&access, commit.as_str());
    let asked = proxy.asked();
    let is_whole = |line: &String| line.contains(&format!(" {url}/"));
    assert!(!asked.is_empty() && asked.iter().all(is_whole), "{asked:?}");
}

// What is said inside is between us and the server: the proxy passes on bytes.
#[test]
fn a_proxy_tunnels_tls_and_the_certificate_is_still_checked() {
    let authority = Authority::new().unwrap();
    let server = HttpServer::start_tls(&authority.issue(Flaw::None).unwrap()).unwrap();
    let (repo, commit) = repository();
    let url = server.mount("plant", &repo);
    let proxy = Proxy::to(server.address());
    let named = Some(HttpUrl::parse(&proxy.url()).unwrap());
    let access = Access { proxy: named.clone(), ca_file: Some(authority.file()), ..public(&url) };
    fetch(&access, commit.as_str());
    let asked = proxy.asked();
    let tunnel = format!("CONNECT {} HTTP/1.1", server.address());
    assert!(!asked.is_empty() && asked.iter().all(|line| *line == tunnel), "{asked:?}");
    // A name that is not in the certificate: the proxy leads there, and we do not go in.
    let url = nowhere(&server, &url);
    let access = Access { proxy: named, ca_file: Some(authority.file()), ..public(&url) };
    Place::new().resolve(&access, "main").unwrap_err();
    assert_eq!(proxy.asked(), ["CONNECT git.invalid:443 HTTP/1.1"]);
}

type Variables<'a> = &'a [(&'a str, &'a str)];

/// Set for the copy of this test that has another environment.
const ELSEWHERE: &str = "STOKER_TEST_ELSEWHERE";

#[test]
fn the_environment_names_a_proxy_and_what_goes_around_it() {
    if let Ok(words) = std::env::var(ELSEWHERE) {
        let [url, commit, named] = words.split(' ').collect::<Vec<_>>().try_into().unwrap();
        let named = (!named.is_empty()).then(|| HttpUrl::parse(named).unwrap());
        return fetch(&Access { proxy: named, ..public(url) }, commit);
    }
    let ((repo, commit), server) = (repository(), HttpServer::start().unwrap());
    let direct = server.mount("plant", &repo);
    let (proxy, other) = (Proxy::to(server.address()), Proxy::to(server.address()));
    let fetch_with = |url: &str, named: &str, variables: Variables<'_>| {
        let name = "proxy::the_environment_names_a_proxy_and_what_goes_around_it";
        let mut copy = Command::new(std::env::current_exe().unwrap());
        for variable in
            ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"]
        {
            copy.env_remove(variable);
        }
        copy.args(["--exact", name]).env(ELSEWHERE, format!("{url} {commit} {named}"));
        let ended = copy.envs(variables.iter().copied()).output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
        (!proxy.asked().is_empty(), !other.asked().is_empty())
    };
    let (far, by_environment) = (&nowhere(&server, &direct), proxy.url());
    let cases: [(&str, &str, Variables<'_>, (bool, bool)); 6] = [
        (far, "", &[("http_proxy", &by_environment)], (true, false)),
        (far, "", &[("ALL_PROXY", &by_environment)], (true, false)),
        (&direct, "", &[], (false, false)),
        (
            &direct,
            "",
            &[("http_proxy", &by_environment), ("NO_PROXY", "127.0.0.1")],
            (false, false),
        ),
        (&direct, "", &[("http_proxy", &by_environment), ("no_proxy", "elsewhere")], (true, false)),
        // Who names a proxy means it: nothing of the environment counts beside it.
        (far, &other.url(), &[("http_proxy", &by_environment), ("NO_PROXY", "*")], (false, true)),
    ];
    for (url, named, variables, asked) in cases {
        assert_eq!(fetch_with(url, named, variables), asked, "{url} {named} {variables:?}");
    }
}

//! Which port, and whom we trust there, G2.

use std::collections::BTreeSet;

use fake_gateway::{Fault, State, Token, Ugly};
use stoker_api::remedy::Remedy;
use stoker_ignition::{Endpoint, Error, Gateway, Options, Readiness, Reason};

use crate::support::{KEY, World, everything};

/// A port that is taken and has no listener, for as long as the socket lives.
fn dead_port() -> (tokio::net::TcpSocket, u16) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let port = socket.local_addr().unwrap().port();
    (socket, port)
}

fn at(world: &World, endpoint: Endpoint) -> Gateway {
    Gateway::connect(Options { endpoint, ..world.options() }).unwrap()
}

/// Asks a gateway with this in the file of trusted authorities.
fn ask(world: &World, url: &str, pem: &str) -> Result<BTreeSet<String>, Error> {
    let ca_file = world.data().join("ca.pem");
    std::fs::write(&ca_file, pem).unwrap();
    let (endpoint, ca_file) = (Endpoint::parse(url).unwrap(), Some(ca_file));
    Gateway::connect(Options { endpoint, ca_file, ..world.options() })?.projects()
}

#[test]
fn the_tls_port_is_used_where_the_plain_one_does_not_answer() {
    let world = World::with(fake_gateway::Options::tls_only);
    let (_taken, dead) = dead_port();
    let gateway = at(&world, Endpoint::loopback(dead, world.fake.tls_port()));
    assert!(matches!(gateway.readiness(), Readiness::Running));
    gateway.projects().unwrap();
}

#[test]
fn the_tls_port_is_used_where_the_key_demands_a_secure_channel() {
    let world = World::with(fake_gateway::Options::with_tls);
    world.fake.set_tokens([Token::parse(KEY).unwrap().secure_channel_required()]);
    let gateway = at(&world, Endpoint::loopback(world.fake.plain_port(), world.fake.tls_port()));
    gateway.projects().unwrap();
    let before = world.fake.calls().len();
    gateway.projects().unwrap();
    assert_eq!(world.fake.calls().len(), before + 1, "what worked is asked first from then on");
}

#[test]
fn a_gateway_that_redirects_to_https_is_met_there() {
    let world = World::with(fake_gateway::Options::with_tls);
    world.fake.fail(Fault::new(Ugly::Redirect("https://gateway:8043/".into())).times(1));
    let gateway = at(&world, Endpoint::loopback(world.fake.plain_port(), world.fake.tls_port()));
    gateway.projects().unwrap();
}

#[test]
fn a_missing_permission_stays_one_on_both_ports() {
    let world = World::with(fake_gateway::Options::with_tls);
    world.fake.set_tokens([Token::parse(KEY).unwrap().without_read()]);
    let endpoint = Endpoint::loopback(world.fake.plain_port(), world.fake.tls_port());
    let error = at(&world, endpoint).projects().unwrap_err();
    assert_eq!(error.reason(), Reason::GatewayForbidden);
    assert!(error.to_string().contains("http://"), "{error}");
}

#[test]
fn two_dead_ports_are_one_refusal_that_names_the_first() {
    let world = World::new();
    world.fake.set(State::Down);
    let (_taken, dead) = dead_port();
    let endpoint = Endpoint::loopback(world.fake.plain_port(), dead);
    let error = at(&world, endpoint).projects().unwrap_err();
    assert_eq!(error.reason(), Reason::GatewayConnectionRefused);
    assert!(error.to_string().contains(&world.fake.url()), "{error}");
}

#[test]
fn an_address_that_is_set_counts_exactly() {
    let world = World::with(fake_gateway::Options::with_tls);
    world.fake.set_tokens([Token::parse(KEY).unwrap().secure_channel_required()]);
    let error = world.gateway().projects().unwrap_err();
    assert_eq!(error.reason(), Reason::GatewayForbidden);
}

// G2
#[test]
fn tls_on_one_side_only_is_told_apart_both_ways() {
    let world = World::with(fake_gateway::Options::with_tls);
    let plain_to_tls = format!("http://localhost:{}", world.fake.tls_port());
    let tls_to_plain = format!("https://localhost:{}", world.fake.plain_port());
    for url in [plain_to_tls, tls_to_plain] {
        let error = at(&world, Endpoint::parse(&url).unwrap()).projects().unwrap_err();
        assert_eq!(error.reason(), Reason::GatewayTlsMismatch, "{url}: {error}");
        assert!(matches!(error.remedy(), Remedy::Step(step) if step.contains("8043")));
    }
}

#[test]
fn a_given_authority_is_what_counts_even_on_loopback() {
    let (world, stranger) = (
        World::with(fake_gateway::Options::tls_only),
        World::with(fake_gateway::Options::tls_only),
    );
    let ask = |pem: &str| ask(&world, &world.fake.tls_url(), pem);
    ask(world.fake.authority_pem().unwrap()).unwrap();
    let other = ask(stranger.fake.authority_pem().unwrap()).unwrap_err();
    assert_eq!(other.reason(), Reason::GatewayCertificateUntrusted);
    assert_eq!(ask("no certificate").unwrap_err().reason(), Reason::GatewayCertificatesUnusable);
}

// What people give who have a self-signed certificate, and most tools mark it as an authority's.
#[test]
fn a_given_certificate_is_trusted_though_it_is_an_authority_s() {
    let self_signed = || {
        World::with(|options| fake_gateway::Options { is_self_signed: true, ..options.tls_only() })
    };
    let (world, stranger) = (self_signed(), self_signed());
    let (url, pem) = (world.fake.tls_url(), world.fake.authority_pem().unwrap());
    ask(&world, &url, pem).unwrap();
    let by_address = url.replace("localhost", "127.0.0.1");
    let stranger = stranger.fake.authority_pem().unwrap();
    for (url, pem, word) in [(&by_address, pem, "host name"), (&url, stranger, "CA:TRUE")] {
        let error = ask(&world, url, pem).unwrap_err();
        assert_eq!(error.reason(), Reason::GatewayCertificateUntrusted);
        let text = everything(&error);
        assert!(text.contains(word) && !text.contains("Other("), "{text}");
    }
}

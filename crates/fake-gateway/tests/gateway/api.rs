//! Tokens, states and routes, over real HTTP.

use crate::support::{PATIENCE, TOKEN, gateway, get, post, request, send};
use fake_gateway::{Api, Fault, Half, Items, Options, State, Token, Ugly};
use serde_json::json;

/// A route that needs a token.
const PROJECTS: &str = "/data/api/v1/projects/names";

#[test]
fn only_the_full_pair_in_its_own_header_is_a_token() {
    let (_data, gateway) = gateway(|options| options);
    let cases = [
        (format!("X-Ignition-API-Token: {TOKEN}\r\n"), 200),
        ("X-Ignition-API-Token: s3cret\r\n".to_owned(), 401),
        ("X-Ignition-API-Token: ci:other\r\n".to_owned(), 401),
        (format!("Authorization: Bearer {TOKEN}\r\n"), 401),
        ("Authorization: Basic Y2k6czNjcmV0\r\n".to_owned(), 401),
        (String::new(), 401),
    ];
    for (headers, status) in cases {
        let call = request("GET", PROJECTS, &headers, "");
        let answer = send(&gateway, &call).unwrap();
        assert_eq!(answer.status, status, "{headers}");
        assert_eq!(answer.head.contains("text/html"), status == 401, "{headers}");
    }
}

#[test]
fn permissions_and_the_secure_channel_are_403() {
    let (_data, gateway) = gateway(|options| options);
    let token = || Token::parse(TOKEN).unwrap();
    gateway.set_tokens([token().without_write()]);
    assert_eq!(get(&gateway, PROJECTS).status, 200);
    assert_eq!(post(&gateway, "/data/api/v1/scan/projects", "").status, 403);
    gateway.set_tokens([token().without_read()]);
    assert_eq!(get(&gateway, PROJECTS).status, 403);
    gateway.set_tokens([token().secure_channel_required()]);
    assert_eq!(get(&gateway, PROJECTS).status, 403);
    gateway.set_tokens([Token::parse("ci:rotated").unwrap()]);
    assert_eq!(get(&gateway, PROJECTS).status, 401);
}

#[test]
fn an_uncommissioned_gateway_redirects_every_route_but_gwinfo() {
    let (_data, gateway) = gateway(|options| options.state(State::Uncommissioned));
    for path in ["/StatusPing", PROJECTS, "/", "/data/api/v1/scan/projects"] {
        let answer = get(&gateway, path);
        assert_eq!(answer.status, 302, "{path}");
        assert!(answer.head.contains("location: /welcome"), "{path}");
    }
    assert!(get(&gateway, "/system/gwinfo").body.contains("ContextStatus=NEEDS_COMMISSIONING;"));
}

#[test]
fn a_starting_gateway_says_so_and_serves_nothing_else() {
    let (_data, gateway) = gateway(|options| options.state(State::Starting));
    assert_eq!(get(&gateway, "/StatusPing").json(), json!({"state": "STARTING"}));
    assert_eq!(get(&gateway, PROJECTS).status, 503);
    gateway.set(State::Running);
    assert_eq!(get(&gateway, "/StatusPing").json(), json!({"state": "RUNNING"}));
}

#[test]
fn a_gateway_that_is_down_refuses_connections_and_comes_back_on_its_port() {
    let (_data, gateway) = gateway(|options| options);
    let port = gateway.plain_port();
    gateway.set(State::Down);
    let refused = send(&gateway, &request("GET", "/StatusPing", "", "")).unwrap_err();
    assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    gateway.set(State::Running);
    assert_eq!((gateway.plain_port(), get(&gateway, "/StatusPing").status), (port, 200));
}

#[test]
fn older_generations_lack_routes() {
    let (_data, old) = gateway(|options| Options { api: Api::V81, ..options });
    assert_eq!(get(&old, PROJECTS).status, 404);
    assert_eq!(get(&old, "/StatusPing").status, 200);
    let (_data, lockless) = gateway(|options| Options { api: Api::WithoutScanLock, ..options });
    assert_eq!(get(&lockless, "/data/api/v1/scan-lock/config").status, 404);
    assert_eq!(get(&lockless, "/data/api/v1/scan/config").status, 200);
}

#[test]
fn lists_have_an_envelope_and_an_unknown_parameter_matches_nothing() {
    let (_data, gateway) = gateway(|options| options);
    let all = json!({
        "items": ["plant"],
        "metadata": {"total": 1, "matching": 1, "limit": -1, "offset": 0},
    });
    assert_eq!(get(&gateway, PROJECTS).json(), all);
    let none = get(&gateway, &format!("{PROJECTS}?colour=red")).json();
    assert_eq!((&none["items"], &none["metadata"]["total"]), (&json!([]), &json!(1)));
    assert_eq!(get(&gateway, &format!("{PROJECTS}?offset=1")).items(), json!([]));
}

#[test]
fn project_names_can_be_objects() {
    let (_data, gateway) = gateway(|options| Options { items: Items::Objects, ..options });
    let items = get(&gateway, PROJECTS).items();
    assert_eq!(items[0]["name"], "plant");
}

#[test]
fn designers_are_listed_while_they_are_open_and_unknown_routes_are_404() {
    let (_data, gateway) = gateway(|options| options);
    let designers = "/data/api/v1/designers";
    let id = gateway.open_designer("ada", "plant");
    let open = get(&gateway, designers).items();
    assert_eq!((&open[0]["user"], &open[0]["project"]), (&json!("ada"), &json!("plant")));
    gateway.close_designer(&id);
    assert_eq!(get(&gateway, designers).items(), json!([]));
    for route in ["status", "restart", "nonsense"] {
        assert_eq!(get(&gateway, &format!("/data/api/v1/{route}")).status, 404, "{route}");
    }
}

#[test]
fn requests_are_recorded_without_the_secret() {
    let (_data, gateway) = gateway(|options| options);
    post(&gateway, "/data/api/v1/scan/projects?a=1", "");
    let call = gateway.requests().remove(0);
    assert_eq!((call.method.as_str(), call.path.as_str()), ("POST", "/data/api/v1/scan/projects"));
    assert_eq!((call.query.as_str(), call.token.as_deref(), call.status), ("a=1", Some("ci"), 200));
    assert!(!format!("{:?}", gateway.requests()).contains("s3cret"));
    assert!(!format!("{:?}", Options::default().token(TOKEN)).contains("s3cret"));
}

#[test]
fn faults_strike_where_and_as_often_as_asked() {
    let (_data, gateway) = gateway(|options| options);
    gateway.fail(Fault::new(Ugly::Status(500)).on("/data/api/v1/scan").get().times(1));
    assert_eq!(get(&gateway, "/StatusPing").status, 200);
    assert_eq!(post(&gateway, "/data/api/v1/scan/config", "").status, 200);
    assert_eq!(get(&gateway, "/data/api/v1/scan/config").status, 500);
    assert_eq!(get(&gateway, "/data/api/v1/scan/config").status, 200);
}

#[test]
fn ugly_answers_are_as_ugly_as_they_say() {
    let (_data, gateway) = gateway(|options| options);
    let strike = |ugly| {
        gateway.heal();
        gateway.fail(Fault::new(ugly));
        send(&gateway, &request("GET", "/StatusPing", "", ""))
    };
    assert!(strike(Ugly::Html).unwrap().body.contains("<html>"));
    assert_eq!(strike(Ugly::Empty(503)).unwrap().body, "");
    assert!(strike(Ugly::Redirect("/welcome".into())).unwrap().head.contains("location: /welcome"));
    let cut = strike(Ugly::Cut).unwrap();
    assert!(cut.head.contains("content-length: 4096") && cut.body.len() < 4096, "{cut:?}");
    assert!(strike(Ugly::Huge(1 << 20)).unwrap().body.len() > 1 << 20);
    assert!(strike(Ugly::Drop).is_ok_and(|answer| answer.status == 0));
}

#[test]
fn locks_held_by_others_can_be_played() {
    let (_data, gateway) = gateway(|options| options);
    gateway.hold_lock(Half::Config, PATIENCE);
    assert!(gateway.is_locked(Half::Config) && !gateway.is_locked(Half::Projects));
    gateway.release_lock(Half::Config);
    assert!(!gateway.is_locked(Half::Config));
}

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::SystemTime;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::*;

/// A forge's API: every request is recorded; `answer` makes the response.
struct Api {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
}

#[derive(Debug, Clone)]
struct Seen {
    path: String,
    claims: Value,
    body: Value,
}

type Shared = (Arc<Mutex<Vec<Seen>>>, Arc<Answer>);
type Answer = dyn Fn(usize, &Seen) -> Response + Send + Sync;

impl Api {
    fn start(answer: impl Fn(usize, &Seen) -> Response + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        listener.set_nonblocking(true).unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let state: Shared = (Arc::clone(&seen), Arc::new(answer));
        let router = Router::new().fallback(respond).with_state(state);
        std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                axum::serve(listener, router).await.unwrap();
            });
        });
        Self { address, seen }
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

async fn respond(
    State((seen, answer)): State<Shared>,
    uri: Uri,
    headers: HeaderMap,
    body: String,
) -> Response {
    let jwt = headers["authorization"].to_str().unwrap();
    let claims = jwt.split('.').nth(1).unwrap();
    let claims = base64::Engine::decode(&base64::prelude::BASE64_URL_SAFE_NO_PAD, claims).unwrap();
    let request = Seen {
        path: uri.path().to_owned(),
        claims: serde_json::from_slice(&claims).unwrap(),
        body: serde_json::from_str(&body).unwrap(),
    };
    let count = {
        let mut seen = seen.lock().unwrap();
        seen.push(request.clone());
        seen.len()
    };
    answer(count, &request)
}

fn granted(token: &str, minutes: i64, server_ahead: i64) -> Response {
    let now = jiff::Timestamp::now() + jiff::SignedDuration::from_secs(server_ahead);
    let expires_at = now + jiff::SignedDuration::from_mins(minutes);
    let date =
        jiff::fmt::rfc2822::DateTimePrinter::new().timestamp_to_rfc9110_string(&now).unwrap();
    let body = json!({ "token": token, "expires_at": expires_at.to_string() }).to_string();
    (StatusCode::CREATED, [("date", date)], body).into_response()
}

fn app(api: &Api, directory: &tempfile::TempDir) -> GithubApp {
    let key_file = directory.path().join("key.pem");
    if !key_file.exists() {
        let made = std::process::Command::new("ssh-keygen")
            .args(["-q", "-t", "rsa", "-b", "2048", "-m", "PEM", "-N", "", "-f"])
            .arg(&key_file)
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
    GithubApp::new(Settings {
        app_id: "12345".into(),
        installation_id: 678,
        key_file,
        api: HttpUrl::parse(&format!("http://{}/api/v3", api.address)).unwrap(),
        repository: Some("plant".into()),
        ca_file: None,
        proxy: None,
        addresses: Vec::new(),
        plain_http: PlainHttp::Refused,
        timeout: Duration::from_secs(5),
    })
}

fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs()
}

// R1: the token is for one repository, to read.
#[test]
fn a_token_is_asked_for_with_a_short_lived_jwt_and_little_power() {
    let directory = tempfile::tempdir().unwrap();
    let api = Api::start(|_, _| granted("ghs_1", 60, 0));
    let token = app(&api, &directory).token(&Cancel::default()).unwrap();
    assert_eq!(token.reveal(), b"ghs_1");
    let seen = &api.seen()[0];
    assert_eq!(seen.path, "/api/v3/app/installations/678/access_tokens");
    assert_eq!(seen.claims["iss"], "12345");
    let (iat, exp) = (seen.claims["iat"].as_u64().unwrap(), seen.claims["exp"].as_u64().unwrap());
    assert!(iat <= now() - 55 && exp - iat <= 600);
    let body = json!({ "permissions": { "contents": "read" }, "repositories": ["plant"] });
    assert_eq!(seen.body, body);
}

// F4
#[test]
fn names_are_not_resolved_again_where_addresses_were_checked() {
    let directory = tempfile::tempdir().unwrap();
    let api = Api::start(|_, _| granted("ghs_1", 60, 0));
    let url =
        |host: &str| HttpUrl::parse(&format!("http://{host}:{}", api.address.port())).unwrap();
    // Neither name exists: only the addresses lead to the API, directly or by way of a proxy.
    for (host, proxy) in [("api.invalid", None), ("127.0.0.1", Some(url("proxy.invalid")))] {
        let mut app = app(&api, &directory);
        app.settings = Settings {
            api: url(host),
            proxy,
            addresses: vec![api.address.ip()],
            plain_http: PlainHttp::Allowed,
            ..app.settings
        };
        assert_eq!(app.token(&Cancel::default()).unwrap().reveal(), b"ghs_1", "{host}");
    }
}

#[test]
fn a_token_is_used_again_until_ten_minutes_before_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let api = Api::start(|count, _| granted(&format!("t{count}"), 60, 0));
    let fresh = app(&api, &directory);
    assert_eq!(fresh.token(&Cancel::default()).unwrap(), fresh.token(&Cancel::default()).unwrap());
    assert_eq!(api.seen().len(), 1);
    fresh.forget();
    assert_eq!(fresh.token(&Cancel::default()).unwrap().reveal(), b"t2");
    let api = Api::start(|count, _| granted(&format!("t{count}"), 9, 0));
    let short = app(&api, &directory);
    assert_eq!(short.token(&Cancel::default()).unwrap().reveal(), b"t1");
    assert_eq!(short.token(&Cancel::default()).unwrap().reveal(), b"t2");
}

// B13: our clock may be ten minutes off; the server's counts.
#[test]
fn the_servers_clock_counts() {
    let directory = tempfile::tempdir().unwrap();
    for ahead in [-600_i64, 600] {
        let api = Api::start(move |_, seen| {
            let server = now().saturating_add_signed(ahead);
            let (iat, exp) =
                (seen.claims["iat"].as_u64().unwrap(), seen.claims["exp"].as_u64().unwrap());
            if iat > server || exp < server || exp > server + 600 {
                let date = jiff::Timestamp::from_second(i64::try_from(server).unwrap()).unwrap();
                let printer = jiff::fmt::rfc2822::DateTimePrinter::new();
                let date = printer.timestamp_to_rfc9110_string(&date).unwrap();
                return (StatusCode::UNAUTHORIZED, [("date", date)], "canary").into_response();
            }
            granted("ok", 60, ahead)
        });
        let token = app(&api, &directory).exchange(&Cancel::default()).unwrap();
        let left = token.ends - Instant::now();
        assert!(left > Duration::from_mins(58) && left < Duration::from_mins(62), "{left:?}");
        assert_eq!(api.seen().len(), 2, "{ahead}");
    }
}

#[test]
fn refusals_carry_their_status_and_no_body() {
    let directory = tempfile::tempdir().unwrap();
    for status in [401, 403, 404, 422, 500] {
        let answer =
            move |_, _: &Seen| (StatusCode::from_u16(status).unwrap(), "canary").into_response();
        let api = Api::start(answer);
        let error = app(&api, &directory).token(&Cancel::default()).unwrap_err();
        assert!(matches!(error, Error::Refused { status: found } if found == status), "{error:?}");
        assert!(!format!("{error} {error:?}").contains("canary"));
    }
    let answers: [fn() -> Response; 3] = [
        || "canary".into_response(),
        || {
            json!({ "token": "a\nb", "expires_at": "2100-01-01T00:00:00Z" })
                .to_string()
                .into_response()
        },
        || "x".repeat(100_000).into_response(),
    ];
    for answer in answers {
        let api = Api::start(move |_, _| answer());
        let error = app(&api, &directory).token(&Cancel::default()).unwrap_err();
        assert!(matches!(error, Error::Malformed), "{error:?}");
    }
}

// F31
#[test]
fn an_api_that_hangs_is_given_up_in_time() {
    let directory = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let api = Api { address: listener.local_addr().unwrap(), seen: Arc::default() };
    let mut app = app(&api, &directory);
    app.settings.timeout = Duration::from_millis(300);
    let started = Instant::now();
    assert!(matches!(app.token(&Cancel::default()), Err(Error::TimedOut)));
    assert!(started.elapsed() < Duration::from_secs(20));
}

#[test]
fn an_exchange_that_is_cancelled_ends_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let api = Api { address: listener.local_addr().unwrap(), seen: Arc::default() };
    let mut app = app(&api, &directory);
    app.settings.timeout = Duration::from_mins(10);
    let cancel = Cancel::default();
    let heard = cancel.clone();
    let running = std::thread::spawn(move || app.token(&heard));
    let _connection = listener.accept().unwrap();
    cancel.cancel();
    assert!(matches!(running.join().unwrap(), Err(Error::Cancelled)));
}

#[test]
fn keys_that_are_none_and_plain_http_elsewhere_are_refused_unasked() {
    let directory = tempfile::tempdir().unwrap();
    let api = Api::start(|_, _| granted("t", 60, 0));
    let mut app = app(&api, &directory);
    app.settings.api = HttpUrl::parse("http://ghe.example/api/v3").unwrap();
    assert!(matches!(app.token(&Cancel::default()), Err(Error::PlainHttp)));
    app.settings.api = HttpUrl::parse(&format!("http://{}", api.address)).unwrap();
    app.settings.proxy = Some(HttpUrl::parse("http://proxy.example:3128").unwrap());
    assert!(matches!(app.token(&Cancel::default()), Err(Error::PlainHttp)));
    app.settings.proxy = None;
    fs::write(&app.settings.key_file, "-----BEGIN canary").unwrap();
    let error = app.token(&Cancel::default()).unwrap_err();
    assert!(matches!(error, Error::MalformedKey), "{error:?}");
    fs::remove_file(&app.settings.key_file).unwrap();
    assert!(matches!(app.token(&Cancel::default()), Err(Error::Key { .. })));
    assert!(api.seen().is_empty());
}

#[test]
fn the_host_of_an_api_is_found() {
    for (url, host) in [("http://h:1/x", "h"), ("https://h", "h"), ("http://[::1]:2/a", "::1")] {
        assert_eq!(host_of(&HttpUrl::parse(url).unwrap()), host);
    }
}

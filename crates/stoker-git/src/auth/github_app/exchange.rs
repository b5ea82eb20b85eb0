//! The two requests at most that turn a private key into a token.

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde::{Deserialize, Serialize};
use stoker_api::word::Secret;
use stoker_http::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, DATE, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use stoker_http::{ClientConfig, Method, Place, Proxy, Response, Server, Uri, trust};

use super::{Settings, Token};
use crate::Cancel;
use crate::access::{host_of, is_loopback};
use crate::auth;

/// The longest response that is read.
const MAX_ANSWER: usize = 64 * 1024;
/// GitHub refuses JWTs that are valid for more than ten minutes.
const JWT_LIFETIME: u64 = 540;
/// GitHub advises to date a JWT back, for clocks that differ a little.
const JWT_BACKDATE: u64 = 60;
/// How often the exchange checks whether it was cancelled.
const TICK: Duration = Duration::from_millis(50);
/// A difference of clocks that explains a refusal.
const SKEW: i64 = 30;

/// Why GitHub gave no token.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Error {
    #[error("failed to read the App's key")]
    Key { source: Box<auth::Error> },
    #[error("the App's key is not an RSA private key in PEM form")]
    MalformedKey,
    #[error("the certificates for the GitHub API can't be used")]
    Certificates { source: Box<auth::Error> },
    /// The JWT would travel for all to see.
    #[error("the GitHub API must be reached by https://")]
    PlainHttp,
    #[error("failed to reach the GitHub API")]
    Unreachable { source: stoker_http::Error },
    /// The address of the API or of the proxy can't be used.
    #[error("failed to reach the GitHub API: {0}")]
    Address(&'static str),
    #[error("failed to reach the GitHub API: no response in time")]
    TimedOut,
    #[error("the GitHub API returned status {status}")]
    Refused { status: u16 },
    #[error("the GitHub API returned something that is not a token")]
    Malformed,
    #[error("failed to run the exchange")]
    Run { source: std::io::Error },
    #[error("cancelled")]
    Cancelled,
}

#[derive(Serialize)]
struct Claims<'a> {
    iat: u64,
    exp: u64,
    iss: &'a str,
}

struct Api {
    server: Server,
    path: String,
    body: Vec<u8>,
    timeout: Duration,
}

#[derive(Serialize)]
struct Request<'a> {
    permissions: Permissions,
    #[serde(skip_serializing_if = "Option::is_none")]
    repositories: Option<[&'a str; 1]>,
}

#[derive(Serialize)]
struct Permissions {
    contents: &'static str,
}

#[derive(Deserialize)]
struct Answer {
    token: String,
    expires_at: jiff::Timestamp,
}

/// Runs the exchange on a thread of its own: callers may or may not be inside an async runtime.
pub(super) fn exchange(settings: &Settings, cancel: &Cancel) -> Result<Token, Error> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(|source| Error::Run { source })?;
            let asked = runtime.block_on(ask_within(settings, cancel));
            // A lookup of the host's name can't be stopped, and is not waited for.
            runtime.shutdown_background();
            asked
        });
        thread.join().expect("the exchange does not panic")
    })
}

async fn ask_within(settings: &Settings, cancel: &Cancel) -> Result<Token, Error> {
    let started = Instant::now();
    let mut asked = pin!(ask(settings));
    loop {
        let left = settings.timeout.saturating_sub(started.elapsed());
        if let Ok(answer) = tokio::time::timeout(TICK.min(left), asked.as_mut()).await {
            return answer;
        }
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if started.elapsed() >= settings.timeout {
            return Err(Error::TimedOut);
        }
    }
}

async fn ask(settings: &Settings) -> Result<Token, Error> {
    let key = read_key(&settings.key_file)?;
    let api = Api::new(settings)?;
    let response = api.post(&jwt(settings, &key, 0)?).await?;
    let skew = skew_of(&response);
    // A JWT from the future, or from long ago, is refused: once more by the server's clock.
    let response = match skew {
        Some(skew) if response.status == 401 && skew.abs() > SKEW => {
            api.post(&jwt(settings, &key, skew)?).await?
        }
        _ => response,
    };
    read_token(&response)
}

pub(super) fn read_key(path: &Path) -> Result<EncodingKey, Error> {
    let key = auth::read("GitHub App key", path)
        .map_err(|source| Error::Key { source: Box::new(source) })?;
    EncodingKey::from_rsa_pem(key.reveal()).map_err(|_| Error::MalformedKey)
}

fn jwt(settings: &Settings, key: &EncodingKey, skew: i64) -> Result<Secret, Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = now.saturating_add_signed(skew);
    let iat = now.saturating_sub(JWT_BACKDATE);
    let claims = Claims { iat, exp: iat + JWT_LIFETIME, iss: &settings.app_id };
    let signed = encode(&Header::new(Algorithm::RS256), &claims, key);
    signed.map(Secret::new).map_err(|_| Error::MalformedKey)
}

impl Api {
    fn new(settings: &Settings) -> Result<Self, Error> {
        let api = settings.api.as_str().trim_end_matches('/');
        let path = format!("/app/installations/{}/access_tokens", settings.installation_id);
        let uri: Uri = format!("{api}{path}")
            .parse()
            .map_err(|_| Error::Address("its address is not a URL"))?;
        let is_tls = uri.scheme_str() == Some("https");
        let host = host_of(&settings.api);
        let proxy = match &settings.proxy {
            Some(proxy) => {
                let proxy = Proxy::parse(proxy.as_str());
                Some(proxy.ok_or(Error::Address("the proxy's address is not http://HOST:PORT"))?)
            }
            // This machine is reached without the proxies of our environment.
            None if is_loopback(host) => None,
            None => Proxy::of_environment(is_tls, host, &|name| std::env::var(name).ok()),
        };
        // A proxy of our environment is not what was checked.
        let is_checked = settings.proxy.is_some() || proxy.is_none();
        let body = Request {
            permissions: Permissions { contents: "read" },
            repositories: settings.repository.as_deref().map(|name| [name]),
        };
        let server = Server {
            host: host.to_owned(),
            port: uri.port_u16().unwrap_or(if is_tls { 443 } else { 80 }),
            tls: if is_tls { Some(trusted(settings)?) } else { None },
            proxy,
            place: match settings.addresses.as_slice() {
                addresses if is_checked && !addresses.is_empty() => Place::At(addresses.to_vec()),
                _ => Place::Anywhere,
            },
        };
        Ok(Self {
            server,
            path: uri.path().to_owned(),
            body: serde_json::to_vec(&body).map_err(|_| Error::Malformed)?,
            timeout: settings.timeout,
        })
    }

    async fn post(&self, jwt: &Secret) -> Result<Response, Error> {
        let mut bearer = b"Bearer ".to_vec();
        bearer.extend_from_slice(jwt.reveal());
        let mut bearer = HeaderValue::try_from(bearer).map_err(|_| Error::MalformedKey)?;
        bearer.set_sensitive(true);
        let fixed = [
            (USER_AGENT, concat!("stoker/", env!("CARGO_PKG_VERSION"))),
            (ACCEPT, "application/vnd.github+json"),
            (CONTENT_TYPE, "application/json"),
            (HeaderName::from_static("x-github-api-version"), "2022-11-28"),
        ];
        let fixed = fixed.into_iter().map(|(name, text)| (name, HeaderValue::from_static(text)));
        let mut headers: HeaderMap = fixed.collect();
        headers.insert(AUTHORIZATION, bearer);
        let request = stoker_http::Request {
            method: Method::POST,
            path: self.path.clone(),
            headers,
            body: self.body.clone(),
            connect_timeout: self.timeout,
            body_limit: MAX_ANSWER,
        };
        self.server.send(&request).await.map_err(|source| match source {
            stoker_http::Error::TooLarge { .. } => Error::Malformed,
            stoker_http::Error::ConnectTimeout(_) => Error::TimedOut,
            source => Error::Unreachable { source },
        })
    }
}

/// Whom the exchange trusts: given certificates alone, else the system's.
fn trusted(settings: &Settings) -> Result<Arc<ClientConfig>, Error> {
    let Some(path) = &settings.ca_file else { return Ok(trust::system()) };
    let certificates = |source| Error::Certificates { source: Box::new(source) };
    let pem = auth::read("CA file", path).map_err(certificates)?;
    trust::pinned(pem.reveal()).map_err(|_| {
        let fault = "holds no certificate in PEM form";
        certificates(auth::Error::Malformed { what: "CA file", path: path.clone(), fault })
    })
}

fn read_token(response: &Response) -> Result<Token, Error> {
    let received = Instant::now();
    if !(200..300).contains(&response.status) {
        return Err(Error::Refused { status: response.status });
    }
    let server_now = server_time(response).unwrap_or_else(jiff::Timestamp::now);
    let answer: Answer = serde_json::from_slice(&response.body).map_err(|_| Error::Malformed)?;
    if answer.token.is_empty() || answer.token.contains(['\n', '\r', '\0']) {
        return Err(Error::Malformed);
    }
    let left = Duration::try_from(answer.expires_at.duration_since(server_now)).unwrap_or_default();
    let expires = jiff::Timestamp::now().checked_add(left).unwrap_or(answer.expires_at);
    Ok(Token { value: Secret::new(answer.token), ends: received + left, expires })
}

fn server_time(response: &Response) -> Option<jiff::Timestamp> {
    let date = response.header(&DATE)?;
    jiff::fmt::rfc2822::parse(date).ok().map(|zoned| zoned.timestamp())
}

/// How many seconds the server's clock is ahead of ours.
fn skew_of(response: &Response) -> Option<i64> {
    server_time(response).map(|server| server.as_second() - jiff::Timestamp::now().as_second())
}

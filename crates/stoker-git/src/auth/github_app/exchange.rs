//! The two requests at most that turn a private key into a token.

use std::path::Path;
use std::pin::pin;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use reqwest::{Certificate, Client, Proxy, Response, StatusCode, redirect};
use rustls::crypto::CryptoProvider;
use serde::{Deserialize, Serialize};
use stoker_api::word::Secret;

use super::{Settings, Token};
use crate::access::{host_of, is_loopback};
use crate::auth;
use crate::cancel::Cancel;

/// The longest answer that is read.
const MAX_ANSWER: usize = 64 * 1024;
/// GitHub refuses letters that are valid for more than ten minutes.
const LETTER_VALID: u64 = 540;
/// GitHub advises to date a letter back, for clocks that differ a little.
const LETTER_BACK: u64 = 60;
/// How often we look whether the exchange was cancelled.
const TICK: Duration = Duration::from_millis(50);
/// A difference of clocks that explains a refusal.
const SKEW: i64 = 30;

/// Why GitHub gave no token.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The key can't be read.
    #[error("failed to read the App's key")]
    Key {
        /// Why not.
        source: Box<auth::Error>,
    },
    /// The key is no RSA key.
    #[error("the App's key is not an RSA private key in PEM form")]
    MalformedKey,
    /// The certificates to trust can't be used.
    #[error("the certificates for the GitHub API can't be used")]
    Certificates {
        /// Why not.
        source: Box<auth::Error>,
    },
    /// The letter would travel for all to see.
    #[error("the GitHub API must be reached by https://")]
    PlainHttp,
    /// The API could not be reached, or did not answer in time.
    #[error("failed to reach the GitHub API: {0}")]
    Unreachable(&'static str),
    /// The API said no.
    #[error("the GitHub API answered {status}")]
    Refused {
        /// The status of the answer.
        status: u16,
    },
    /// The answer is no token.
    #[error("the GitHub API answered something that is not a token")]
    Malformed,
    /// The exchange could not be run.
    #[error("failed to run the exchange")]
    Run {
        /// Why not.
        source: std::io::Error,
    },
    /// The operation was cancelled.
    #[error("cancelled")]
    Cancelled,
}

#[derive(Serialize)]
struct Letter<'a> {
    iat: u64,
    exp: u64,
    iss: &'a str,
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
            return Err(Error::Unreachable("no answer in time"));
        }
    }
}

async fn ask(settings: &Settings) -> Result<Token, Error> {
    let key = read_key(&settings.key_file)?;
    let client = client(settings)?;
    let response = post(settings, &client, &letter(settings, &key, 0)?).await?;
    let skew = skew_of(&response);
    // A letter from the future, or from long ago, is refused: once more by the server's clock.
    let response = match skew {
        Some(skew) if response.status() == StatusCode::UNAUTHORIZED && skew.abs() > SKEW => {
            post(settings, &client, &letter(settings, &key, skew)?).await?
        }
        _ => response,
    };
    read_token(response).await
}

/// Reads the App's private key.
pub(super) fn read_key(path: &Path) -> Result<EncodingKey, Error> {
    let key = auth::read("GitHub App key", path)
        .map_err(|source| Error::Key { source: Box::new(source) })?;
    EncodingKey::from_rsa_pem(key.reveal()).map_err(|_| Error::MalformedKey)
}

fn client(settings: &Settings) -> Result<Client, Error> {
    if CryptoProvider::get_default().is_none() {
        // Programs choose it first thing; where none did, there is only one to choose.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    }
    let certificates = |source| Error::Certificates { source: Box::new(source) };
    let mut builder = Client::builder()
        .timeout(settings.timeout)
        .connect_timeout(settings.timeout)
        .user_agent(concat!("stoker/", env!("CARGO_PKG_VERSION")))
        // A redirect would carry the letter to a host that nobody named.
        .redirect(redirect::Policy::none());
    if let Some(path) = &settings.ca_file {
        let pem = auth::read("CA file", path).map_err(certificates)?;
        let bundle = Certificate::from_pem_bundle(pem.reveal()).map_err(|_| {
            let fault = "holds no certificate in PEM form";
            certificates(auth::Error::Malformed { what: "CA file", path: path.clone(), fault })
        })?;
        builder = builder.tls_certs_only(bundle);
    }
    if let Some(proxy) = &settings.proxy {
        let proxy = Proxy::all(proxy.as_str()).map_err(|_| Error::Unreachable("bad proxy URL"))?;
        builder = builder.proxy(proxy);
    } else if is_loopback(host_of(&settings.api)) {
        // This machine is reached without the proxies of our environment.
        builder = builder.no_proxy();
    }
    builder.build().map_err(|_| Error::Unreachable("no TLS"))
}

fn letter(settings: &Settings, key: &EncodingKey, skew: i64) -> Result<Secret, Error> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let now = now.saturating_add_signed(skew);
    let iat = now.saturating_sub(LETTER_BACK);
    let letter = Letter { iat, exp: iat + LETTER_VALID, iss: &settings.app_id };
    let signed = encode(&Header::new(Algorithm::RS256), &letter, key);
    signed.map(Secret::new).map_err(|_| Error::MalformedKey)
}

async fn post(settings: &Settings, client: &Client, letter: &Secret) -> Result<Response, Error> {
    let api = settings.api.as_str().trim_end_matches('/');
    let url = format!("{api}/app/installations/{}/access_tokens", settings.installation_id);
    let body = Request {
        permissions: Permissions { contents: "read" },
        repositories: settings.repository.as_deref().map(|name| [name]),
    };
    let letter = std::str::from_utf8(letter.reveal()).map_err(|_| Error::MalformedKey)?;
    let request = client
        .post(url)
        .bearer_auth(letter)
        .header("Accept", "application/vnd.github+json")
        .header("X-GitHub-Api-Version", "2022-11-28")
        .json(&body);
    request.send().await.map_err(|error| Error::Unreachable(kind_of(&error)))
}

/// The error's own text may hold what the server said; its kind can't.
fn kind_of(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        return "no answer in time";
    }
    if !error.is_connect() {
        return "the connection broke";
    }
    let first = std::error::Error::source(error);
    let mut causes = std::iter::successors(first, |cause| cause.source());
    causes.find_map(kind_of_cause).unwrap_or("no connection")
}

/// Connections, TLS and tunnels share no type of error; their words are compared and never shown.
fn kind_of_cause(cause: &(dyn std::error::Error + 'static)) -> Option<&'static str> {
    let text = cause.to_string();
    let words = [
        ("certificate", "its certificate is not trusted: give its authority with --ca-file"),
        ("proxy authorization", "the proxy wants credentials"),
        ("tunnel", "the proxy does not connect there"),
        ("refused", "the connection was refused"),
    ];
    words.into_iter().find(|(word, _)| text.contains(word)).map(|(_, kind)| kind)
}

async fn read_token(mut response: Response) -> Result<Token, Error> {
    let received = Instant::now();
    let status = response.status();
    if !status.is_success() {
        return Err(Error::Refused { status: status.as_u16() });
    }
    let server_now = server_time(&response).unwrap_or_else(jiff::Timestamp::now);
    let mut body = Vec::new();
    while let Some(chunk) =
        response.chunk().await.map_err(|error| Error::Unreachable(kind_of(&error)))?
    {
        body.extend_from_slice(&chunk);
        if body.len() > MAX_ANSWER {
            return Err(Error::Malformed);
        }
    }
    let answer: Answer = serde_json::from_slice(&body).map_err(|_| Error::Malformed)?;
    if answer.token.is_empty() || answer.token.contains(['\n', '\r', '\0']) {
        return Err(Error::Malformed);
    }
    let left = Duration::try_from(answer.expires_at.duration_since(server_now)).unwrap_or_default();
    let expires = jiff::Timestamp::now().checked_add(left).unwrap_or(answer.expires_at);
    Ok(Token { value: Secret::new(answer.token), ends: received + left, expires })
}

fn server_time(response: &Response) -> Option<jiff::Timestamp> {
    let date = response.headers().get("date")?.to_str().ok()?;
    jiff::fmt::rfc2822::parse(date).ok().map(|zoned| zoned.timestamp())
}

/// How many seconds the server's clock is ahead of ours.
fn skew_of(response: &Response) -> Option<i64> {
    server_time(response).map(|server| server.as_second() - jiff::Timestamp::now().as_second())
}

//! A stand-in for GitHub's App API, in front of a git server that accepts the tokens it gave.
//!
//! An App signs a JWT with its private key and exchanges it for an installation token; git then
//! presents that token as a password. The stand-in checks the JWT as GitHub does: signature,
//! issuer, times. Tokens can be revoked.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use axum::{Json, Router};
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode};
use serde::Deserialize;
use serde_json::json;
use stoker_image::sha256;

use super::http::{Auth, HttpServer, Issued};
use super::{Error, Repo, run};

/// GitHub's tokens live for an hour.
const LIFETIME: jiff::SignedDuration = jiff::SignedDuration::from_hours(1);
/// GitHub refuses a JWT that is valid for more than ten minutes.
const JWT_LIFETIME: u64 = 600;

const APP: &str = "1234";
const INSTALLATION: &str = "5678";

/// The API, the git server behind it, and the App's key. It ends when it is dropped.
#[derive(Debug)]
#[must_use = "the server ends when this value is dropped"]
pub struct GitHubApp {
    server: HttpServer,
    private_key: String,
    api: Arc<Api>,
}

struct Api {
    public_key: DecodingKey,
    issued: Issued,
    serial: AtomicU64,
}

#[derive(Deserialize)]
struct Claims {
    iat: u64,
    exp: u64,
}

impl GitHubApp {
    /// Starts over plain HTTP, which clients accept on loopback only.
    pub fn start() -> Result<Self, Error> {
        let (private_key, public_key) = generate()?;
        let api =
            Arc::new(Api { public_key, issued: Issued::default(), serial: AtomicU64::new(0) });
        let shared = Arc::clone(&api);
        let server = HttpServer::launch(None, |router| router.merge(routes(shared)))?;
        server.require(Auth::Issued(api.issued.clone()));
        Ok(Self { server, private_key, api })
    }

    /// Serves a repository below `/{name}.git` to those who have a token, and returns its URL.
    pub fn mount(&self, name: &str, repo: &Repo) -> String {
        self.server.mount(name, repo)
    }

    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Returns the base URL of the API.
    pub fn api_url(&self) -> String {
        let url = self.server.url("x");
        url.trim_end_matches("/x.git").to_owned()
    }

    /// Returns the number of the App.
    pub fn app_id(&self) -> &'static str {
        APP
    }

    /// Returns the number of the installation.
    pub fn installation_id(&self) -> &'static str {
        INSTALLATION
    }

    /// Returns the App's private key as PEM (PKCS#1), as GitHub gives it.
    pub fn private_key(&self) -> &str {
        &self.private_key
    }

    /// Returns how many tokens were given since the last [`GitHubApp::revoke`].
    pub fn tokens(&self) -> usize {
        self.api.issued.tokens().len()
    }

    /// Accepts none of the tokens that were given so far.
    pub fn revoke(&self) {
        self.api.issued.tokens().clear();
    }
}

/// Makes the key of an App: RSA, in the format in which GitHub gives it to people.
fn generate() -> Result<(String, DecodingKey), Error> {
    const PROGRAM: &str = "ssh-keygen";
    let directory = run::directory("stoker-app-")?;
    let file = directory.path().join("key");
    let path = file.display().to_string();
    let new = ["-q", "-N", "", "-C", "", "-t", "rsa", "-b", "2048", "-m", "PEM", "-f", &path];
    run::program(PROGRAM, &new)?;
    let public = run::program(PROGRAM, &["-e", "-m", "PKCS8", "-f", &path])?;
    let private = std::fs::read_to_string(&file).map_err(Error::file(&file))?;
    let public = DecodingKey::from_rsa_pem(public.as_bytes())
        .map_err(|_| Error::NotAKey { program: PROGRAM })?;
    Ok((private, public))
}

fn routes(api: Arc<Api>) -> Router {
    let path = "/app/installations/{installation}/access_tokens";
    // GitHub Enterprise has its API below a prefix.
    Router::new()
        .route(path, post(exchange))
        .route(&format!("/api/v3{path}"), post(exchange))
        .with_state(api)
}

async fn exchange(
    State(api): State<Arc<Api>>,
    Path(installation): Path<String>,
    headers: HeaderMap,
) -> Response {
    let refused = |status, message: &str| (status, Json(json!({"message": message})));
    if let Err(message) = api.verify(&headers) {
        return refused(StatusCode::UNAUTHORIZED, message).into_response();
    }
    if installation != INSTALLATION {
        return refused(StatusCode::NOT_FOUND, "Not Found").into_response();
    }
    (StatusCode::CREATED, Json(api.issue())).into_response()
}

impl Api {
    fn verify(&self, headers: &HeaderMap) -> Result<(), &'static str> {
        let value = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let jwt = value.and_then(|value| value.strip_prefix("Bearer "));
        let jwt = jwt.ok_or("Requires authentication")?;
        let mut rules = Validation::new(Algorithm::RS256);
        rules.set_issuer(&[APP]);
        rules.leeway = 0;
        let claims = decode::<Claims>(jwt, &self.public_key, &rules)
            .map_err(|_| "A JSON web token could not be decoded")?
            .claims;
        let now = jiff::Timestamp::now().as_second();
        if i64::try_from(claims.iat).is_ok_and(|issued| issued > now) {
            return Err(
                "'Issued at' claim ('iat') must be an Integer representing the time that the assertion was issued",
            );
        }
        if claims.exp.saturating_sub(claims.iat) > JWT_LIFETIME {
            return Err("'Expiration time' claim ('exp') is too far in the future");
        }
        Ok(())
    }

    fn issue(&self) -> serde_json::Value {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed);
        let now = jiff::Timestamp::now();
        let seed = format!("{} {serial} {now}", std::process::id());
        let token = format!("ghs_{}", &sha256(&[seed.as_bytes()])[..36]);
        self.issued.tokens().push(token.clone());
        json!({
            "token": token,
            "expires_at": (now + LIFETIME).strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            "permissions": {"contents": "read", "metadata": "read"},
            "repository_selection": "selected",
        })
    }
}

/// Not even a test prints a key.
impl std::fmt::Debug for Api {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Api").finish_non_exhaustive()
    }
}

//! Tokens of GitHub Apps: exchanged when the remote is asked, and handed to agents in a Secret.
//!
//! # Promises
//! A token is used until ten minutes before its end, also by a controller that starts anew: the
//! Secret says for which credentials it is, and when it ends. The App's key never reaches a pod.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret as Object;
use kube::api::{Api, Patch, PatchParams};
use stoker_api::GatewaySync;
use stoker_api::chain::Chain;
use stoker_api::condition::Reason;
use stoker_api::names::{Annotation, SecretKey, github_token_secret};
use stoker_api::word::Secret;
use stoker_core::reconcile::Failure;
use stoker_git::Cancel;
use stoker_git::auth::github_app::{GithubApp, Settings};
use tokio::time::Instant;

use super::Context;
use super::api::{FIELD_MANAGER, owned_by};
use super::arguments::SecretAccess;
use super::cache::Key;
use super::credential::Digest;

/// The kubelet may take 90 s to show a new token, and a fetch may take a while.
const RENEW_BEFORE: Duration = Duration::from_mins(10);

const BINDING_ATTEMPTS: u32 = 10;
const BINDING_WAIT: Duration = Duration::from_millis(100);

/// A token, and when it has to be renewed.
#[derive(Debug, Clone)]
pub(crate) struct IssuedToken {
    pub(crate) value: Secret,
    pub(crate) expires: Timestamp,
    pub(crate) renew: Instant,
}

/// A token that was handed to agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HandedToken {
    expires: Timestamp,
    /// The version of the Secret.
    version: Option<String>,
}

/// Exchanges the App's key for a token. Blocks.
pub(crate) fn exchange(settings: &Settings, cancel: &Cancel) -> Result<IssuedToken, Failure> {
    let failed = |error: &dyn std::error::Error| Failure {
        reason: Reason::GithubAppExchangeFailed,
        message: format!(
            "failed to get a token for GitHub App {} from {}: {error}",
            settings.app_id, settings.api
        ),
    };
    let token =
        GithubApp::new(settings.clone()).exchange(cancel).map_err(|error| failed(&error))?;
    let left = token.ends.saturating_duration_since(std::time::Instant::now());
    Ok(IssuedToken {
        value: token.value,
        expires: token.expires,
        renew: Instant::now() + usable(left),
    })
}

/// A token that lives shorter than the reserve is used for half of its time.
fn usable(left: Duration) -> Duration {
    left.saturating_sub(RENEW_BEFORE).max(left / 2)
}

/// Returns the token that an earlier controller has handed out, if it is still good.
pub(crate) async fn find(context: &Context, key: &Key, of: &Digest) -> Option<IssuedToken> {
    let api: Api<Object> = Api::namespaced(context.shared.client.clone(), &key.namespace);
    let secret = api.get_opt(&github_token_secret(&key.name)).await.ok().flatten()?;
    let annotation = |annotation: Annotation| {
        secret.metadata.annotations.as_ref()?.get(annotation.as_str()).cloned()
    };
    if annotation(Annotation::TokenFor)? != mark(of) {
        return None;
    }
    let expires: Timestamp = annotation(Annotation::TokenExpiresAt)?.parse().ok()?;
    let left = Duration::try_from(expires.duration_since(Timestamp::now())).ok()?;
    let left = left.checked_sub(RENEW_BEFORE)?;
    let value = secret.data?.remove(SecretKey::Token.as_str())?;
    Some(IssuedToken { value: Secret::new(value.0), expires, renew: Instant::now() + left })
}

/// Hands a token to the agents of a GatewaySync, and again where the Secret was changed or deleted.
pub(crate) async fn publish(
    context: &Context,
    key: &Key,
    sync: &GatewaySync,
    of: &Digest,
    token: &IssuedToken,
) -> Result<(), String> {
    let name = github_token_secret(&key.name);
    let at = Key::new(&key.namespace, &name);
    let seen = context.cache.secret_version(&at);
    let is_watched = context.settings.secret_access == SecretAccess::Watch;
    let is_there = |handed: &HandedToken| {
        handed.expires == token.expires && (handed.version == seen || !is_watched)
    };
    if context.memories.with(key, |memory| memory.token.as_ref().is_some_and(is_there)) {
        return Ok(());
    }
    context.check_leading().map_err(|error| error.to_string())?;
    let mut metadata = owned_by(sync, name.clone());
    let annotations =
        [(Annotation::TokenFor, mark(of)), (Annotation::TokenExpiresAt, token.expires.to_string())];
    let annotations = annotations.map(|(name, value)| (name.as_str().to_owned(), value));
    metadata.annotations = Some(annotations.into());
    let value = ByteString(token.value.reveal().to_vec());
    let secret = Object {
        metadata,
        data: Some(BTreeMap::from([(SecretKey::Token.as_str().to_owned(), value)])),
        type_: Some("Opaque".to_owned()),
        ..Object::default()
    };
    let api: Api<Object> = Api::namespaced(context.shared.client.clone(), &key.namespace);
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    // The error names what failed, and never what was written.
    let mut attempts = BINDING_ATTEMPTS;
    let written = loop {
        let error = match api.patch_metadata(&name, &parameters, &Patch::Apply(&secret)).await {
            Ok(written) => break written,
            Err(error) => error,
        };
        attempts -= 1;
        // The API server takes a moment to learn of a right that this pass has bound.
        if attempts == 0 || !is_forbidden(&error) || context.settings.token_writer.is_none() {
            return Err(format!("failed to write Secret {name}: {}", Chain(&error)));
        }
        tokio::time::sleep(BINDING_WAIT).await;
        context.check_leading().map_err(|error| error.to_string())?;
    };
    let version = written.metadata.resource_version;
    context.cache.saw_secret(&at, version.clone());
    let handed = HandedToken { expires: token.expires, version };
    context.memories.with(key, |memory| memory.token = Some(handed));
    Ok(())
}

fn is_forbidden(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code == 403)
}

/// A mark by which credentials are recognised, and that tells nothing about them.
fn mark(of: &Digest) -> String {
    of.iter().take(8).fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("a string takes any text");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_renewed_ten_minutes_before_their_end_or_half_way() {
        let minutes = Duration::from_mins;
        assert_eq!(usable(minutes(60)), minutes(50));
        assert_eq!(usable(minutes(8)), minutes(4));
    }
}

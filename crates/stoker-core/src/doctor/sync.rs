//! One GatewaySync.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use stoker_api::GatewaySync;
use stoker_api::condition::{ConditionType, Reason};
use stoker_api::gatewaysync::{Auth, AuthMethod, Gateway, GatewaySyncStatus, ResolvedSecretRef};
use stoker_api::names::{Annotation, FINALIZER, SecretKey};

use super::{Code, Facts, Finding, Key, Severity, command};
use crate::profile::Profiles;
use crate::status::condition;
use crate::view::Target;

/// How long a deletion may take while an operator is at work: agents have 30 s to acknowledge.
const DELETED_WITHIN: SignedDuration = SignedDuration::from_mins(2);

/// Returns every Secret that a GatewaySync refers to, with the field that does.
pub fn secret_references(sync: &GatewaySync) -> Vec<(&'static str, ResolvedSecretRef)> {
    let git = &sync.spec.git;
    let mut all = Vec::new();
    match git.auth.as_ref().and_then(Auth::method) {
        Some(AuthMethod::SshKey { key, known_hosts }) => {
            all.push(("spec.git.auth.sshKey.secretRef", key));
            all.extend(known_hosts.map(|it| ("spec.git.auth.sshKey.knownHosts.secretRef", it)));
        }
        Some(AuthMethod::Token { token, .. }) => all.push(("spec.git.auth.token.secretRef", token)),
        Some(AuthMethod::GithubApp { key, .. }) => {
            all.push(("spec.git.auth.githubApp.privateKeySecretRef", key));
        }
        None => {}
    }
    let ca = git.ca_secret_ref.as_ref().map(|ca| ca.resolve(SecretKey::Ca));
    all.extend(ca.map(|ca| ("spec.git.caSecretRef", ca)));
    let api = sync.spec.gateway.as_ref().and_then(Gateway::api_key);
    all.extend(api.map(|api| ("spec.gateway.api", api)));
    if let Some(webhook) = &sync.spec.webhook {
        let current = webhook.secret_ref.as_ref().map(|it| it.resolve(SecretKey::HmacKey));
        all.extend(current.map(|it| ("spec.webhook.secretRef", it)));
        let previous = webhook.previous_secret_ref.as_ref();
        let previous = previous.map(|it| it.resolve(SecretKey::HmacKey));
        all.extend(previous.map(|it| ("spec.webhook.previousSecretRef", it)));
    }
    all
}

/// Names a GatewaySync.
pub(super) fn key(sync: &GatewaySync) -> Key {
    let target = Target::of(sync);
    Key::new(target.namespace, target.name)
}

struct Patient<'a> {
    facts: &'a Facts,
    sync: &'a GatewaySync,
    key: Key,
    found: &'a mut Vec<Finding>,
}

pub(super) fn examine(facts: &Facts, sync: &GatewaySync, found: &mut Vec<Finding>) {
    let mut patient = Patient { facts, sync, key: key(sync), found };
    patient.deletion();
    patient.pause();
    patient.secrets();
    patient.profiles();
    if let Some(status) = &sync.status {
        patient.remote(status);
        patient.host_key(status);
        patient.receiver(status);
        patient.gateways(status);
    }
}

impl Patient<'_> {
    fn add(&mut self, severity: Severity, code: Code, message: String, fix: String) {
        let object = format!("GatewaySync {}/{}", self.key.namespace, self.key.name);
        self.found.push(Finding { severity, code, object, message, fix });
    }

    fn problem(&mut self, code: Code, message: impl Into<String>, fix: String) {
        self.add(Severity::Problem, code, message.into(), fix);
    }

    fn deletion(&mut self) {
        let metadata = &self.sync.metadata;
        let Some(since) = &metadata.deletion_timestamp else { return };
        let is_held = metadata.finalizers.iter().flatten().any(|it| it == FINALIZER);
        let is_late = self.facts.now.duration_since(since.0) > DELETED_WITHIN;
        if is_held && (is_late || !self.facts.has_operator()) {
            let fix = command::patch_sync(&self.key, &json!({"metadata": {"finalizers": null}}));
            let message = "is being deleted, and no operator lets go of it";
            self.problem(Code::DeletionStuck, message, fix);
        }
    }

    fn pause(&mut self) {
        if self.sync.spec.paused == Some(true) {
            let fix = Target::of(self.sync).stoker("resume");
            self.problem(Code::Paused, "spec.paused is true: agents are idle", fix);
        }
    }

    fn secrets(&mut self) {
        for (field, reference) in secret_references(self.sync) {
            let secret = Key::new(&self.key.namespace, &reference.name);
            let Some(known) = self.facts.secrets.get(&secret) else { continue };
            let ResolvedSecretRef { name, key } = &reference;
            let (code, message) = match known {
                None => (Code::SecretMissing, format!("{field}: Secret {name:?} does not exist")),
                Some(keys) if !keys.contains(key) => {
                    (Code::SecretKeyMissing, format!("{field}: Secret {name:?} has no key {key:?}"))
                }
                Some(_) => continue,
            };
            let fix = command::write_secret(&self.key.namespace, &reference);
            self.problem(code, message, fix);
        }
    }

    fn profiles(&mut self) {
        let invalid = self.sync.spec.sync.as_ref().map(Profiles::of).and_then(Result::err);
        if let Some(invalid) = invalid {
            let Key { namespace, name } = &self.key;
            let fix = format!("kubectl edit gatewaysync {name} -n {namespace}");
            self.problem(Code::ProfilesInvalid, invalid.to_string(), fix);
        }
    }

    fn remote(&mut self, status: &GatewaySyncStatus) {
        let Some(resolved) = condition(status, ConditionType::RefResolved) else { return };
        if resolved.status != "False" {
            return;
        }
        let message = resolved.message.clone();
        let target = Target::of(self.sync);
        let annotations = self.sync.metadata.annotations.as_ref();
        let is_requested =
            annotations.is_some_and(|all| all.contains_key(Annotation::RequestedRef.as_str()));
        match Reason::find(&resolved.reason) {
            Some(Reason::RefResolutionFailed) if is_requested => {
                let fix = format!(
                    "kubectl annotate gatewaysync {} -n {} {}-",
                    target.name,
                    target.namespace,
                    Annotation::RequestedRef
                );
                let message = format!("the requested ref was not resolved: {message}");
                self.problem(Code::RequestedRefUnknown, message, fix);
            }
            Some(Reason::RefResolutionFailed) => {
                let last = status.last_sync_ref.as_deref().unwrap_or("main");
                let fix = command::patch_sync(&self.key, &json!({"spec": {"git": {"ref": last}}}));
                self.problem(Code::RefUnknown, message, fix);
            }
            Some(Reason::AuthenticationFailed | Reason::GithubAppExchangeFailed) => {
                let namespace = &self.key.namespace;
                let credential = secret_references(self.sync).into_iter().next();
                let fix = if let Some((_, reference)) = credential {
                    command::write_secret(namespace, &reference)
                } else {
                    let token = json!({"token": {"secretRef": {"name": "git-token"}}});
                    command::patch_sync(&self.key, &json!({"spec": {"git": {"auth": token}}}))
                };
                self.problem(Code::AuthenticationFailed, message, fix);
            }
            // Its own finding names the Secret.
            Some(Reason::SecretNotFound) => {}
            _ => {
                let pinned = condition(status, ConditionType::SshHostKeyVerification);
                let is_pinned =
                    pinned.is_some_and(|it| it.reason == Reason::HostKeyTrustedOnFirstUse.as_str());
                let mut message = message;
                if is_pinned {
                    // Only a person can judge a changed host key, so this is not the fix to paste.
                    let forget = target.annotate(Annotation::ForgetHostKey, "true");
                    let hint = format!(
                        "; if the server has a new host key, compare its fingerprint with the \
                         administrator's, then drop the old one with: {forget}"
                    );
                    message.push_str(&hint);
                }
                let fix = target.stoker("sync-now");
                self.problem(Code::RemoteUnreachable, message, fix);
            }
        }
    }

    fn host_key(&mut self, status: &GatewaySyncStatus) {
        let verified = condition(status, ConditionType::SshHostKeyVerification);
        let given = self.sync.spec.git.auth.as_ref().and_then(|auth| auth.ssh_key.as_ref());
        let has_none = given.is_some_and(|ssh| ssh.known_hosts.is_none());
        let is_pinned = verified.is_some_and(|it| it.status == "False");
        if is_pinned && has_none {
            let known = json!({"secretRef": {"name": "git-known-hosts"}});
            let patch = json!({"spec": {"git": {"auth": {"sshKey": {"knownHosts": known}}}}});
            let fix = command::patch_sync(&self.key, &patch);
            let message = "knownHosts is not set: the first host key that was seen is trusted";
            self.add(Severity::Note, Code::HostKeyNotGiven, message.to_owned(), fix);
        }
    }

    fn receiver(&mut self, status: &GatewaySyncStatus) {
        let ready = condition(status, ConditionType::WebhookReady);
        let lacks = ready.is_some_and(|it| it.reason == Reason::NoSecret.as_str());
        let has_own =
            self.sync.spec.webhook.as_ref().is_some_and(|webhook| webhook.secret_ref.is_some());
        if lacks && !has_own {
            let Key { namespace, name } = &self.key;
            let secret = format!("{name}-webhook");
            let patch = json!({"spec": {"webhook": {"secretRef": {"name": secret}}}});
            let fix = format!(
                "kubectl create secret generic {secret} -n {namespace} \
                 --from-literal={}=\"$(openssl rand -hex 32)\" && {}",
                SecretKey::HmacKey,
                command::patch_sync(&self.key, &patch)
            );
            let message = "the receiver has no secret, and refuses every push event".to_owned();
            self.add(Severity::Note, Code::ReceiverSecretMissing, message, fix);
        }
    }

    fn gateways(&mut self, status: &GatewaySyncStatus) {
        let synced = condition(status, ConditionType::AllGatewaysSynced);
        let has_none = synced.is_some_and(|it| it.reason == Reason::NoGatewaysDiscovered.as_str());
        let is_named = |pod: &super::PodFacts| pod.sync_key().as_ref() == Some(&self.key);
        if has_none && !self.facts.pods.iter().any(is_named) {
            let Key { namespace, name } = &self.key;
            let annotations =
                json!({ Annotation::Inject.as_str(): "true", Annotation::CrName.as_str(): name });
            let patch = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
            let fix = format!(
                "kubectl patch statefulset -n {namespace} --type=merge -p '{patch}' GATEWAY"
            );
            self.problem(Code::NoGateways, "no pod names this GatewaySync", fix);
        }
    }
}

/// Says whether a mass deletion of this commit was confirmed.
pub(super) fn has_confirmed(sync: &GatewaySync, commit: &str) -> bool {
    let annotations = sync.metadata.annotations.as_ref();
    let confirmed = annotations.and_then(|all| all.get(Annotation::AllowMassDelete.as_str()));
    confirmed.is_some_and(|confirmed| confirmed == commit)
}

/// Says whether a time by another clock is further in the future than clocks differ.
pub(super) fn is_ahead(time: Timestamp, facts: &Facts) -> bool {
    time.duration_since(facts.now) > super::installation::SKEW
}

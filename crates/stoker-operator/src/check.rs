//! `stoker-operator check`: says whether an installation works. The chart runs it for `helm test`.
//!
//! # Flow
//! Every check is tried again for a while, because an installation may just have begun, and gets
//! one line of output. All checks run, also after one that fails.
//!
//! # Promises
//! Nothing in the cluster changes: the pod is created as a dry run. No Secret is read: that the
//! webhook's certificate fits `caBundle` is seen in a handshake.

mod definition;
pub(crate) mod handshake;

use std::fmt::Display;
use std::io::{self, Write as _};
use std::time::Duration;

use clap::Args;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, PostParams};
use stoker_core::doctor::{has_agent, trial_pod};
use tokio::time::{Instant, sleep};

/// How long a check may take to succeed.
const WITHIN: Duration = Duration::from_secs(30);
const INTERVAL: Duration = Duration::from_secs(1);

/// What to check.
#[derive(Debug, Clone, Args)]
pub(crate) struct Arguments {
    /// The namespace of the operator
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAMESPACE")]
    pub(crate) namespace: String,

    /// The Lease that an operator must hold
    #[arg(long, value_name = "NAME")]
    pub(crate) lease: Option<String>,

    #[command(flatten)]
    pub(crate) webhook: Option<Webhook>,
}

/// The webhook to check; all of it or nothing.
#[derive(Debug, Clone, Args)]
#[group(id = "checked-webhook")]
pub(crate) struct Webhook {
    /// The Service of the admission webhook
    #[arg(long = "webhook-service", required = false, value_name = "NAME")]
    pub(crate) service: String,

    /// The `MutatingWebhookConfiguration` that must trust the webhook's certificate
    #[arg(long = "webhook-configuration", required = false, value_name = "NAME")]
    pub(crate) mutating: String,

    /// The `ValidatingWebhookConfiguration` that must trust the webhook's certificate
    #[arg(long = "validating-webhook-configuration", required = false, value_name = "NAME")]
    pub(crate) validating: String,

    /// The namespace in which a pod is created as a dry run
    #[arg(long, required = false, value_name = "NAMESPACE")]
    pub(crate) try_in: String,

    /// The GatewaySync that this pod names
    #[arg(long, required = false, value_name = "NAME")]
    pub(crate) gatewaysync: String,
}

/// Why the installation does not work.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// At least one check failed; the output has them.
    #[error("{failed} of {all} checks failed")]
    Failed { failed: usize, all: usize },
    /// Standard output was closed.
    #[error("failed to write the result")]
    Write(#[source] io::Error),
}

/// What one check found: nothing, or what is wrong and what to do.
type Finding = Result<(), String>;

/// Runs every check.
pub(crate) async fn run(client: &Client, arguments: &Arguments) -> Result<(), Error> {
    let mut findings = vec![report("definitions", &retry(|| definition::check(client)).await)?];
    if let Some(name) = &arguments.lease {
        let leases: Api<Lease> = Api::namespaced(client.clone(), &arguments.namespace);
        findings.push(report("lease", &retry(|| check_lease(&leases, name)).await)?);
    }
    if let Some(webhook) = &arguments.webhook {
        let service = format!("{}.{}.svc", webhook.service, arguments.namespace);
        let trust = retry(|| check_trust(client, webhook, &service)).await;
        findings.push(report("caBundle", &trust)?);
        findings.push(report("injection", &retry(|| check_injection(client, webhook)).await)?);
    }
    let failed = findings.iter().filter(|passed| !**passed).count();
    if failed == 0 { Ok(()) } else { Err(Error::Failed { failed, all: findings.len() }) }
}

async fn retry<F>(check: impl Fn() -> F) -> Finding
where
    F: Future<Output = Finding>,
{
    let started = Instant::now();
    loop {
        let found = check().await;
        if found.is_ok() || started.elapsed() > WITHIN {
            return found;
        }
        sleep(INTERVAL).await;
    }
}

/// Prints a finding; returns whether the check passed.
fn report(name: &str, finding: &Finding) -> Result<bool, Error> {
    let mut output = io::stdout().lock();
    match finding {
        Ok(()) => writeln!(output, "ok    {name}"),
        Err(text) => writeln!(output, "FAIL  {name}: {text}"),
    }
    .map_err(Error::Write)?;
    Ok(finding.is_ok())
}

async fn check_lease(leases: &Api<Lease>, name: &str) -> Finding {
    let lease = leases.get(name).await.map_err(|error| unreadable("Lease", name, &error))?;
    judge_lease(name, &lease.spec.unwrap_or_default(), Timestamp::now())
}

fn judge_lease(name: &str, lease: &LeaseSpec, now: Timestamp) -> Finding {
    let holder = lease.holder_identity.as_deref().unwrap_or_default();
    if holder.is_empty() {
        return Err(format!("no operator holds the Lease {name:?}: look at the operator's pods"));
    }
    let valid = SignedDuration::from_secs(lease.lease_duration_seconds.unwrap_or_default().into());
    match &lease.renew_time {
        Some(renewed) if renewed.0 + valid >= now => Ok(()),
        _ => Err(format!(
            "{holder:?} holds the Lease {name:?} but does not renew it: look at the operator's pods"
        )),
    }
}

async fn check_trust(client: &Client, webhook: &Webhook, service: &str) -> Finding {
    let name = &webhook.mutating;
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let found = configurations.get(name).await;
    let found = found.map_err(|error| unreadable("MutatingWebhookConfiguration", name, &error))?;
    for hook in found.webhooks.unwrap_or_default() {
        handshake::check(service, &bundle(name, &hook.client_config)?).await?;
    }
    let name = &webhook.validating;
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(client.clone());
    let found = configurations.get(name).await;
    let found =
        found.map_err(|error| unreadable("ValidatingWebhookConfiguration", name, &error))?;
    for hook in found.webhooks.unwrap_or_default() {
        handshake::check(service, &bundle(name, &hook.client_config)?).await?;
    }
    Ok(())
}

fn bundle(name: &str, config: &WebhookClientConfig) -> Result<Vec<u8>, String> {
    match &config.ca_bundle {
        Some(bundle) if !bundle.0.is_empty() => Ok(bundle.0.clone()),
        _ => Err(format!(
            "{name:?} has no caBundle: the operator or cert-manager has not written it yet"
        )),
    }
}

async fn check_injection(client: &Client, webhook: &Webhook) -> Finding {
    let Webhook { try_in, gatewaysync, .. } = webhook;
    let pods: Api<Pod> = Api::namespaced(client.clone(), try_in);
    let parameters = PostParams { dry_run: true, ..PostParams::default() };
    let tried = pods.create(&parameters, &trial_pod(gatewaysync)).await;
    let tried =
        tried.map_err(|error| format!("a pod was refused in namespace {try_in:?}: {error}"))?;
    if has_agent(&tried) {
        return Ok(());
    }
    Err(format!(
        "a pod in namespace {try_in:?} got no agent: the API server can't reach the webhook, or its \
         namespaceSelector leaves this namespace out"
    ))
}

fn unreadable(kind: &str, name: &str, error: &dyn Display) -> String {
    format!("the {kind} {name:?} can't be read: {error}")
}

#[cfg(test)]
mod tests;

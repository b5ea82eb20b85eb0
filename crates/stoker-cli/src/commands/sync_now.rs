//! `stoker sync-now`: the same as a push event, through the API server.

mod wait;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde::Serialize;
use stoker_api::GatewaySync;
use stoker_api::condition::{Reason, Requester, SyncStatus};
use stoker_api::word::RefName;
use stoker_core::payload::{self, Event, Hint, Outcome, Situation};
use tokio::time::Instant;

use crate::arguments::{ClusterArguments, positive_duration};
use crate::cli::Context;
use crate::cluster::{self, Cluster};
use crate::failure::Failure;
use wait::Stand;

const EXAMPLES: &str = "\
Examples:
  stoker sync-now press -n line-1 --wait
  stoker sync-now press -n line-1 --ref v2.1.0";

/// How often the GatewaySync is read while a command waits.
const INTERVAL: Duration = Duration::from_millis(500);

/// How long gateways may stay failed before that is the result. An agent may not have tried the new
/// commit yet, and tries again what may pass.
const GRACE: Duration = Duration::from_secs(15);

/// Have a GatewaySync ask its remote at once, or request a ref
///
/// The ref counts until spec.git.ref changes, or another one is requested.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The GatewaySync
    name: String,
    /// Request this ref, instead of asking again for the one that is followed
    #[arg(long = "ref", value_name = "REF")]
    git_ref: Option<String>,
    /// Wait until every gateway is there, with a line per gateway
    #[arg(long)]
    wait: bool,
    /// How long to wait
    #[arg(long, value_name = "TIME", value_parser = positive_duration, default_value = "10m", requires = "wait")]
    timeout: Duration,
    #[command(flatten)]
    cluster: ClusterArguments,
}

/// What scripts get.
#[derive(Debug, Default, Serialize)]
struct Document {
    /// `requested`, `synced` or `failed`.
    status: &'static str,
    namespace: String,
    name: String,
    #[serde(rename = "ref")]
    git_ref: String,
    commit: Option<String>,
    gateways: Vec<GatewayRow>,
    error: Option<Failure>,
}

#[derive(Debug, Serialize)]
struct GatewayRow {
    name: String,
    pod: String,
    status: SyncStatus,
    commit: Option<String>,
    message: Option<String>,
}

struct Asked {
    git_ref: String,
    at: Timestamp,
}

/// Asks, and waits where that is wanted.
pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    if let Some(text) = &arguments.git_ref {
        RefName::parse(text)
            .map_err(|error| Failure::usage(format!("--ref {text:?} is not a ref: {error}")))?;
    }
    cluster::run(&arguments.cluster, context, async |cluster| {
        let asked = ask(arguments, &cluster).await?;
        let wanted = format!("{} for {}/{}", asked.git_ref, cluster.namespace, arguments.name);
        let document = Document {
            status: "requested",
            namespace: cluster.namespace.clone(),
            name: arguments.name.clone(),
            git_ref: asked.git_ref.clone(),
            ..Document::default()
        };
        if !arguments.wait {
            context.console.result(&document, &format!("requested {wanted}"), None);
            return Ok(ExitCode::SUCCESS);
        }
        context.console.note(&format!("requested {wanted}"));
        Ok(follow(arguments, context, &cluster, &asked, document).await)
    })
}

/// Writes what a push event would write.
async fn ask(arguments: &Arguments, cluster: &Cluster) -> Result<Asked, Failure> {
    let sync = cluster.sync(&arguments.name).await?;
    let now = Timestamp::now();
    let outcome = decide(&sync, arguments.git_ref.as_deref(), now);
    let git_ref = match &outcome {
        Outcome::Recheck(git_ref) | Outcome::Request { git_ref, .. } => git_ref.clone(),
        Outcome::Ignore(reason) => return Err(Failure::usage(reason)),
    };
    let mut annotations = outcome.annotations(Requester::Cli, &sync.spec.git.git_ref, now);
    // `recheck-at` is written with a requested ref, too: `--wait` waits until it is handled.
    annotations.extend(payload::recheck(Requester::Cli, now));
    let patch = serde_json::json!({ "metadata": { "annotations": annotations } });
    let doing = format!("annotate GatewaySync {}/{}", cluster.namespace, arguments.name);
    let (syncs, parameters) = (cluster.syncs(), PatchParams::default());
    let patch = Patch::Merge(&patch);
    cluster.ask(&doing, syncs.patch_metadata(&arguments.name, &parameters, &patch)).await?;
    Ok(Asked { git_ref, at: now })
}

fn decide(sync: &GatewaySync, wanted: Option<&str>, now: Timestamp) -> Outcome {
    let git_ref = wanted.map_or_else(|| followed(sync), str::to_owned);
    let event = Event::Request(git_ref);
    let hint = Hint { source: Requester::Cli, repository: None, event, at: None };
    let accepted = BTreeMap::new();
    payload::decide(&hint, Situation { sync, accepted: &accepted, is_repeated: false, now })
}

/// Returns the ref that a GatewaySync follows at present.
fn followed(sync: &GatewaySync) -> String {
    let request = stoker_core::reconcile::requested(sync, Timestamp::now());
    request.wanted.map_or_else(|invalid| invalid.text, |wanted| wanted.to_string())
}

/// Prints a line whenever a gateway gets further, until all are there or can't get there.
async fn follow(
    arguments: &Arguments,
    context: &Context,
    cluster: &Cluster,
    asked: &Asked,
    mut document: Document,
) -> ExitCode {
    let deadline = Instant::now() + arguments.timeout;
    let mut failing = None;
    let mut shown: BTreeMap<String, String> = BTreeMap::new();
    let failure = loop {
        let stand = match cluster.sync(&arguments.name).await {
            Ok(sync) => {
                document.gateways = GatewayRow::all(&sync);
                let stand = wait::judge(&sync, asked.at);
                document.commit = sync.status.and_then(|status| status.resolved_commit);
                stand
            }
            // An API server that restarts comes back.
            Err(failure) if failure.reason == Reason::ClusterUnreachable => {
                Stand::Waiting(failure.message)
            }
            Err(failure) => Stand::Failed(Box::new(failure)),
        };
        tell(context, &document.gateways, &mut shown);
        let now = Instant::now();
        match stand {
            Stand::Done => break None,
            Stand::Failed(failure) => break Some(*failure),
            Stand::Failing(failure) => {
                if now - *failing.get_or_insert(now) >= GRACE || now >= deadline {
                    break Some(*failure);
                }
            }
            Stand::Waiting(why) => {
                failing = None;
                if now >= deadline {
                    break Some(timed_out(arguments, &cluster.namespace, &why));
                }
            }
        }
        tokio::time::sleep(INTERVAL).await;
    };
    finish(context, document, failure)
}

/// Prints a line for each gateway whose line has changed.
fn tell(context: &Context, gateways: &[GatewayRow], shown: &mut BTreeMap<String, String>) {
    for gateway in gateways {
        let line = gateway.line();
        if shown.get(&gateway.pod) != Some(&line) {
            context.console.note(&line);
            shown.insert(gateway.pod.clone(), line);
        }
    }
}

fn finish(context: &Context, document: Document, failure: Option<Failure>) -> ExitCode {
    let commit: String = document.commit.iter().flat_map(|it| it.chars().take(7)).collect();
    let count = document.gateways.len();
    let noun = if count == 1 { "gateway" } else { "gateways" };
    match failure {
        None => {
            let text = format!("synced: {} at {commit}, {count} {noun}", document.git_ref);
            context.console.result(&Document { status: "synced", ..document }, &text, None);
            ExitCode::SUCCESS
        }
        Some(failure) => {
            let text = format!("failed: {} at {commit}, {count} {noun}", document.git_ref);
            let error = Some(failure.clone());
            let document = Document { status: "failed", error, ..document };
            context.console.result(&document, &text, Some(&failure));
            ExitCode::FAILURE
        }
    }
}

fn timed_out(arguments: &Arguments, namespace: &str, why: &str) -> Failure {
    let (name, seconds) = (&arguments.name, arguments.timeout.as_secs());
    let message = format!("{namespace}/{name} is not there after {seconds} s: {why}");
    Failure::because(Reason::WaitTimedOut, message).hint(format!(
        "the request stays in force; look at it: kubectl describe gatewaysync {name} -n {namespace}"
    ))
}

impl GatewayRow {
    fn line(&self) -> String {
        let commit = self.commit.as_ref().map(|it| it.chars().take(7).collect::<String>());
        let commit = commit.map_or_else(String::new, |it| format!(" at {it}"));
        let message = self.message.as_ref().filter(|_| self.status != SyncStatus::Synced);
        let message = message.map_or_else(String::new, |it| format!(": {it}"));
        let name = if self.name == self.pod {
            self.name.clone()
        } else {
            format!("{} ({})", self.name, self.pod)
        };
        format!("{name}: {}{commit}{message}", self.status)
    }
}

#[cfg(test)]
mod tests {
    use stoker_api::gatewaysync::{GatewaySyncSpec, Git};
    use stoker_api::names::Annotation;

    use super::*;

    fn plant(git_ref: &str) -> GatewaySync {
        let git = Git { repo: "https://h/r".into(), git_ref: git_ref.into(), ..Git::default() };
        GatewaySync::new("plant", GatewaySyncSpec { git, ..GatewaySyncSpec::default() })
    }

    #[test]
    fn a_ref_is_requested_and_the_one_that_is_followed_is_asked_for_again() {
        let now = Timestamp::now();
        let request = Outcome::Request { git_ref: "v2".to_owned(), at: now };
        assert_eq!(decide(&plant("main"), Some("v2"), now), request);
        for wanted in [None, Some("main"), Some("refs/heads/main")] {
            let outcome = decide(&plant("main"), wanted, now);
            assert_eq!(outcome, Outcome::Recheck("main".to_owned()), "{wanted:?}");
        }
        let range = "semver:>=2.0 <3";
        assert_eq!(decide(&plant(range), None, now), Outcome::Recheck(range.to_owned()));
        let mut requested = plant("main");
        let annotations = [(Annotation::RequestedRef, "v2"), (Annotation::RequestedFor, "main")];
        requested.metadata.annotations =
            Some(annotations.map(|(key, value)| (key.to_string(), value.to_owned())).into());
        assert_eq!(decide(&requested, None, now), Outcome::Recheck("v2".to_owned()));
    }
}

//! `stoker logs`: the lines of a GatewaySync's agents, in the order of time.

mod merge;

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;

use futures::{AsyncBufReadExt as _, StreamExt as _, TryStreamExt as _};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, LogParams};
use serde::Serialize;
use stoker_api::condition::Reason;
use stoker_api::names::{AGENT_CONTAINER, Annotation, Label, TRUE};

use crate::arguments::{ClusterArguments, positive_duration};
use crate::cli::Context;
use crate::cluster::{self, Cluster};
use crate::failure::Failure;
use crate::output::Format;
use merge::Line;

const EXAMPLES: &str = "\
Examples:
  stoker logs press -n line-1 --since 1h
  stoker logs press -n line-1 --follow

Rights: get gatewaysyncs, list pods, get pods/log.";

/// Show what the agents of a GatewaySync log, in the order of time
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The GatewaySync
    name: String,
    /// Print new lines as they come, until Ctrl-C
    #[arg(long)]
    follow: bool,
    /// Only lines that are newer than this
    #[arg(long, value_name = "TIME", value_parser = positive_duration)]
    since: Option<Duration>,
    /// The last lines of each agent
    #[arg(long, value_name = "LINES", default_value_t = 100)]
    tail: i64,
    /// Only the agent of this pod
    #[arg(long, value_name = "POD")]
    pod: Option<String>,
    /// The container before the last restart
    #[arg(long, conflicts_with = "follow")]
    previous: bool,
    #[command(flatten)]
    cluster: ClusterArguments,
}

/// One line for scripts.
#[derive(Debug, Serialize)]
struct Entry<'a> {
    time: Option<String>,
    pod: &'a str,
    line: &'a str,
}

pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let result = cluster::run(&arguments.cluster, context, async |cluster| {
        cluster.sync(&arguments.name).await?;
        let pods = agents(arguments, &cluster).await?;
        if arguments.follow {
            follow(arguments, &cluster, &pods, context).await
        } else {
            print(arguments, &cluster, &pods, context).await
        }
    });
    if arguments.follow { cluster::until_interrupted(result) } else { result }
}

/// Returns the names of the pods with an agent of this GatewaySync.
async fn agents(arguments: &Arguments, cluster: &Cluster) -> Result<Vec<String>, Failure> {
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let parameters = ListParams::default().labels(&format!("{}={TRUE}", Label::Agent));
    let listed = cluster.ask("list pods", pods.list_metadata(&parameters)).await?;
    let is_of = |annotations: &BTreeMap<String, String>| {
        annotations.get(Annotation::CrName.as_str()) == Some(&arguments.name)
    };
    let names =
        listed.items.iter().filter(|pod| is_of(pod.annotations())).map(kube::ResourceExt::name_any);
    let wanted = |name: &String| arguments.pod.as_ref().is_none_or(|pod| pod == name);
    let names: Vec<String> = names.filter(wanted).collect();
    if names.is_empty() {
        let message = match &arguments.pod {
            Some(pod) => format!("pod {pod:?} has no agent of GatewaySync {:?}", arguments.name),
            None => format!("no pod has an agent of GatewaySync {:?}", arguments.name),
        };
        let hint = format!("see why: stoker doctor {} -n {}", arguments.name, cluster.namespace);
        return Err(Failure::because(Reason::NoGatewaysDiscovered, message).hint(hint));
    }
    Ok(names)
}

fn parameters(arguments: &Arguments) -> LogParams {
    let since = arguments.since.and_then(|since| SignedDuration::try_from(since).ok());
    LogParams {
        container: Some(AGENT_CONTAINER.to_owned()),
        follow: arguments.follow,
        previous: arguments.previous,
        since_seconds: since.map(|since| since.as_secs().max(1)),
        tail_lines: Some(arguments.tail),
        timestamps: true,
        ..LogParams::default()
    }
}

async fn print(
    arguments: &Arguments,
    cluster: &Cluster,
    names: &[String],
    context: &Context,
) -> Result<ExitCode, Failure> {
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let parameters = parameters(arguments);
    let mut lines = Vec::new();
    let mut failures = Vec::new();
    for name in names {
        let doing = format!("read the log of pod {}/{name}", cluster.namespace);
        match cluster.ask(&doing, pods.logs(name, &parameters)).await {
            Ok(text) => lines.extend(text.lines().map(|line| Line::parse(name, line))),
            // One node that is away does not hide the others.
            Err(failure) => failures.push(failure),
        }
    }
    merge::sort(&mut lines);
    for line in &lines {
        show(line, names, context);
    }
    let is_partial = !failures.is_empty();
    if lines.is_empty()
        && let Some(failure) = failures.pop()
    {
        return Err(failure);
    }
    for failure in failures {
        context.console.note(&format!("warning: {}", failure.message));
    }
    Ok(if is_partial { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

async fn follow(
    arguments: &Arguments,
    cluster: &Cluster,
    names: &[String],
    context: &Context,
) -> Result<ExitCode, Failure> {
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &cluster.namespace);
    let parameters = parameters(arguments);
    let mut streams = Vec::new();
    for name in names {
        let doing = format!("follow the log of pod {}/{name}", cluster.namespace);
        let reader = cluster.ask(&doing, pods.log_stream(name, &parameters)).await?;
        streams.push(reader.lines().map_ok(move |line| Line::parse(name, &line)).boxed());
    }
    let mut all = futures::stream::select_all(streams);
    while let Some(line) = all.next().await {
        match line {
            Ok(line) => show(&line, names, context),
            Err(error) => context.console.note(&format!("warning: a log ended: {error}")),
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn show(line: &Line<'_>, names: &[String], context: &Context) {
    let time = line.time.as_ref().map(ToString::to_string);
    let entry = Entry { time, pod: line.pod, line: &line.text };
    let text = if names.len() == 1 {
        line.text.clone()
    } else {
        let width = names.iter().map(String::len).max().unwrap_or_default();
        format!("{:width$} | {}", line.pod, line.text)
    };
    match context.console.format {
        Format::Table => context.console.say(&text),
        Format::Json | Format::Yaml => context.console.result(&entry, &text, None),
    }
}

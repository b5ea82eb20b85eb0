//! `stoker doctor`: what is wrong, and the command that fixes it.
//!
//! Reads objects and reports; the only thing that it creates is a pod as a dry run. What it may not
//! read is a note of its own.

mod bundle;
mod gather;

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;
use stoker_api::condition::Reason;
use stoker_core::doctor::{Finding, Key, Severity};

use crate::arguments::ScopeArguments;
use crate::cli::Context;
use crate::cluster;
use crate::failure::Failure;
use crate::output::one_line;

const EXAMPLES: &str = "\
Examples:
  stoker doctor press -n line-1
  stoker doctor -A --bundle support.tar

Rights: list gatewaysyncs. What else it may read it checks, and names what it may not: list
syncprofiles, pods, configmaps, rolebindings, persistentvolumeclaims and namespaces; get secrets;
create pods (as a dry run); list customresourcedefinitions, mutatingwebhookconfigurations,
deployments and leases.";

/// Explain what is wrong, each with the command that fixes it
///
/// Nothing is changed, no command runs in a pod, and no port is forwarded. Exits with 1 while
/// there is a problem; notes alone exit with 0.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The GatewaySync [default: all of them]
    #[arg(conflicts_with = "all_namespaces")]
    name: Option<String>,
    /// Write a support archive (tar) without secrets: findings, objects and reports
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    #[command(flatten)]
    scope: ScopeArguments,
}

/// What scripts get.
#[derive(Debug, Serialize)]
struct Document<'a> {
    /// `healthy` or `problems`.
    status: &'static str,
    findings: &'a [Finding],
}

pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    cluster::run(&arguments.scope.cluster, context, async |cluster| {
        if let Some(name) = &arguments.name {
            cluster.sync(name).await?;
        }
        let namespace = arguments.scope.namespace(&cluster);
        let mut facts = Box::pin(gather::facts(&cluster, namespace)).await?;
        if let Some(name) = &arguments.name {
            facts = facts.only(&Key::new(&cluster.namespace, name));
        }
        let findings = facts.findings();
        if let Some(file) = &arguments.bundle {
            bundle::write(file, &facts, &findings).map_err(|error| {
                let message = format!("failed to write {}", file.display());
                Failure::because(Reason::WriteFailed, format!("{message}: {error}"))
                    .hint("choose a directory that you can write to: --bundle /tmp/support.tar")
            })?;
            context.console.note(&format!("wrote {}", file.display()));
        }
        let has_problem = findings.iter().any(|it| it.severity == Severity::Problem);
        let status = if has_problem { "problems" } else { "healthy" };
        let text = text(&findings, facts.syncs.len());
        context.console.result(&Document { status, findings: &findings }, &text, None);
        Ok(if has_problem { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    })
}

fn text(findings: &[Finding], syncs: usize) -> String {
    let mut text = String::new();
    for finding in findings {
        let word = match finding.severity {
            Severity::Problem => "problem",
            Severity::Note => "note",
        };
        let Finding { code, object, message, fix, .. } = finding;
        writeln!(text, "{word}: {}: {code:?}", one_line(object)).ok();
        writeln!(text, "  {}", one_line(message)).ok();
        writeln!(text, "  fix: {}", one_line(fix)).ok();
    }
    let problems = findings.iter().filter(|it| it.severity == Severity::Problem).count();
    let notes = findings.len() - problems;
    write!(text, "{syncs} GatewaySync(s): {problems} problem(s), {notes} note(s)").ok();
    text
}

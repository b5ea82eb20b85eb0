//! `stoker status`: the fleet, and what to do next.

mod draw;
mod follow;

use std::process::ExitCode;

use jiff::Timestamp;
use kube::api::{Api, ListParams};
use stoker_api::GatewaySync;
use stoker_core::view::{Readiness, SyncRow};

use crate::arguments::{ScopeArguments, api};
use crate::cli::Context;
use crate::cluster::{self, Cluster};
use crate::failure::Failure;
use draw::Style;

const EXAMPLES: &str = "\
Examples:
  stoker status -A
  stoker status press -n line-1 --watch

Rights: list gatewaysyncs; with NAME get, with --watch watch.";

/// GatewaySyncs in one request. A page of them is in memory, not the whole fleet.
const PAGE: u32 = 250;

/// Show whether gateways have what git has, and what to do next
///
/// Exits with 1 while a GatewaySync is not Ready. With a name every gateway has a row, else only
/// those that need attention; -v shows all.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The GatewaySync [default: all of them]
    #[arg(conflicts_with = "all_namespaces")]
    name: Option<String>,
    /// Redraw when something changes, until Ctrl-C
    #[arg(short, long)]
    watch: bool,
    #[command(flatten)]
    scope: ScopeArguments,
}

pub(crate) fn run(arguments: &Arguments, context: &Context) -> Result<ExitCode, Failure> {
    let result = cluster::run(&arguments.scope.cluster, context, async |cluster| {
        let syncs: Api<GatewaySync> = api(&cluster.client, arguments.scope.namespace(&cluster));
        let style = Style {
            has_colours: context.console.has_colours(),
            has_namespaces: arguments.scope.all_namespaces,
            has_all_gateways: arguments.name.is_some() || context.console.has_paths(),
        };
        if arguments.watch {
            follow::run(&cluster, &syncs, arguments.name.as_deref(), style, context).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let rows = match &arguments.name {
            Some(name) => vec![SyncRow::of(&cluster.sync(name).await?)],
            None => list(&cluster, &syncs).await?,
        };
        let text = draw::table(&rows, style, Timestamp::now());
        context.console.styled(&rows, &text);
        let is_ready = rows.iter().all(|row| row.ready == Readiness::True);
        Ok(if is_ready { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    });
    if arguments.watch { cluster::until_interrupted(result) } else { result }
}

/// Reads the fleet in pages, and keeps rows only.
async fn list(cluster: &Cluster, syncs: &Api<GatewaySync>) -> Result<Vec<SyncRow>, Failure> {
    let mut rows = Vec::new();
    let mut parameters = ListParams::default().limit(PAGE);
    loop {
        let page = cluster.ask("list GatewaySyncs", syncs.list(&parameters)).await?;
        rows.extend(page.items.iter().map(SyncRow::of));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => parameters.continue_token = Some(token),
            None => return Ok(rows),
        }
    }
}

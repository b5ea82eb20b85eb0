//! The flags of the operator. Each can also be given as an environment variable `STOKER_…`.

use clap::{Args, Parser, Subcommand, ValueEnum};
use stoker_runtime::{admin, telemetry};

use crate::{admission, bootstrap, certificate, check, controller, crds, receiver, release};

/// Keeps Ignition gateways in step with git
///
/// Runs the controller, the admission webhook and the receiver of push events.
///
/// Example: stoker-operator --mode=controller --watch-namespaces=plant-a,plant-b
#[derive(Debug, Parser)]
#[command(name = "stoker-operator", version, max_term_width = 100)]
#[command(args_conflicts_with_subcommands = true, args_override_self = true)]
pub(crate) struct Arguments {
    /// What to do instead of running the operator
    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// Which parts run in this process
    #[arg(long, env = "STOKER_MODE", value_name = "MODE", default_value = "all")]
    pub(crate) mode: Mode,

    #[command(flatten)]
    pub(crate) process: Process,

    #[command(flatten)]
    pub(crate) telemetry: telemetry::Arguments,

    #[command(flatten)]
    pub(crate) admin: admin::Arguments,

    #[command(flatten)]
    pub(crate) controller: controller::Arguments,

    #[command(flatten)]
    pub(crate) admission: admission::Arguments,

    #[command(flatten)]
    pub(crate) bootstrap: bootstrap::Arguments,

    #[command(flatten)]
    pub(crate) certificate: certificate::Arguments,

    #[command(flatten)]
    pub(crate) receiver: receiver::Arguments,
}

/// What the program does instead of running the operator.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Print or apply the custom resource definitions
    #[command(subcommand)]
    Crds(crds::Command),
    /// Check an installation: definitions, Lease, certificate and injection
    Check(check::Arguments),
    /// Let go of everything before an uninstall: finalizers, certificate and Lease
    Release(release::Arguments),
}

/// Which parts run in one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    /// Controller, admission webhook and receiver
    All,
    /// The controller
    Controller,
    /// The admission webhook and the receiver
    Webhook,
}

/// What all parts share: who this process is, and what it watches.
#[derive(Debug, Clone, Args)]
#[group(id = "process")]
pub(crate) struct Process {
    /// The namespace of the operator itself: its Lease, its Secrets, the ConfigMap `stoker-pause`
    #[arg(long, env = "POD_NAMESPACE", value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,

    /// The name of this instance in the Lease and in logs
    #[arg(long, env = "POD_NAME", value_name = "NAME")]
    pub(crate) identity: Option<String>,

    /// Run the controller only while this instance holds the Lease
    #[arg(
        long,
        env = "STOKER_LEADER_ELECT",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    pub(crate) leader_elect: bool,

    /// The name of the Lease; with `--shard` how it begins
    #[arg(
        long,
        env = "STOKER_LEASE_NAME",
        value_name = "NAME",
        default_value = "a86165bb.stoker.io"
    )]
    pub(crate) lease_name: String,

    /// How many seconds a Lease must stay unchanged before another instance takes it
    #[arg(
        long,
        env = "STOKER_LEASE_SECONDS",
        value_name = "SECONDS",
        default_value_t = 15,
        value_parser = clap::value_parser!(u16).range(1..=600)
    )]
    pub(crate) lease_seconds: u16,

    /// Serve only these namespaces; without it all of them
    #[arg(long, env = "STOKER_WATCH_NAMESPACES", value_name = "NAMESPACES", value_delimiter = ',')]
    pub(crate) watch_namespaces: Vec<String>,

    /// Serve only GatewaySyncs whose labels match, such as `team=press`
    #[arg(long, env = "STOKER_WATCH_LABEL_SELECTOR", value_name = "SELECTOR")]
    pub(crate) watch_label_selector: Option<String>,

    /// The name of this cluster: the field `cluster` of JSON log lines, the label `cluster` of metrics
    #[arg(long, env = "STOKER_CLUSTER_NAME", value_name = "NAME")]
    pub(crate) cluster_name: Option<String>,

    /// Cluster-wide defaults: a JSON file, read again when it changes
    #[arg(long, env = "STOKER_DEFAULTS_FILE", value_name = "FILE")]
    pub(crate) defaults_file: Option<std::path::PathBuf>,
}

impl Arguments {
    /// Returns the Lease that instances of this kind seek.
    pub(crate) fn lease(&self) -> String {
        let all = &self.process.lease_name;
        self.controller.shard.map_or_else(|| all.clone(), |shard| shard.lease(all))
    }
}

impl Mode {
    /// Says whether the controller runs.
    pub(crate) fn has_controller(self) -> bool {
        matches!(self, Self::All | Self::Controller)
    }

    /// Says whether the admission webhook and the receiver run.
    pub(crate) fn has_webhook(self) -> bool {
        matches!(self, Self::All | Self::Webhook)
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_flags_of_the_contract_exist_and_each_has_a_variable() {
        let command = Arguments::command();
        let contract = [
            "leader-elect",
            "metrics-bind-address",
            "health-probe-bind-address",
            "cluster-name",
            "defaults-file",
            "allow-file-repos",
            "allow-loopback-git",
            "git-deny-cidrs",
            "watch-namespaces",
            "watch-label-selector",
            "max-concurrent-reconciles",
            "shard",
        ];
        for name in contract {
            let found = command.get_arguments().find(|argument| argument.get_long() == Some(name));
            let variable = found.and_then(clap::Arg::get_env).and_then(std::ffi::OsStr::to_str);
            let expected = format!("STOKER_{}", name.to_uppercase().replace('-', "_"));
            assert_eq!(variable, Some(&*expected), "--{name}");
        }
    }

    #[test]
    fn leader_election_is_on_unless_it_is_switched_off() {
        let parse = |arguments: &[&str]| {
            let program = std::iter::once("stoker-operator");
            Arguments::try_parse_from(program.chain(arguments.iter().copied())).unwrap()
        };
        assert!(parse(&[]).process.leader_elect);
        assert!(parse(&["--leader-elect"]).process.leader_elect);
        assert!(!parse(&["--leader-elect=false"]).process.leader_elect);
    }
}

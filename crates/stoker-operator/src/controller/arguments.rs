//! The flags of the controller.

use std::net::IpAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;

use crate::{args, receiver};

use super::repair;
use super::watch::SILENT_SECONDS;

/// How the controller works.
#[derive(Debug, Clone, Args)]
#[group(id = "controller")]
pub(crate) struct Arguments {
    /// Allow `file://` repositories, which agents and controller read from their own disks
    #[arg(long, env = "STOKER_ALLOW_FILE_REPOS")]
    pub(crate) allow_file_repos: bool,

    /// Allow git servers and APIs on loopback addresses
    #[arg(long, env = "STOKER_ALLOW_LOOPBACK_GIT")]
    pub(crate) allow_loopback_git: bool,

    /// Further networks that git and APIs may not reach, such as `10.0.0.0/8`
    #[arg(long, env = "STOKER_GIT_DENY_CIDRS", value_name = "CIDRS", value_delimiter = ',')]
    pub(crate) git_deny_cidrs: Vec<Cidr>,

    /// How many GatewaySyncs are reconciled at once
    #[arg(
        long,
        env = "STOKER_MAX_CONCURRENT_RECONCILES",
        value_name = "COUNT",
        default_value_t = 5,
        value_parser = clap::value_parser!(u16).range(1..=100)
    )]
    pub(crate) max_concurrent_reconciles: u16,

    /// Serve only the i-th of n parts of all GatewaySyncs, such as `0/3`: each part has a Lease of
    /// its own, whose name ends in `-0-of-3`
    #[arg(long, env = "STOKER_SHARD", value_name = "I/N")]
    pub(crate) shard: Option<Shard>,

    /// Bind agents to the rights that they need
    #[arg(
        long,
        env = "STOKER_AUTO_BIND_AGENT",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value_t = true,
        default_missing_value = "true",
        action = clap::ArgAction::Set
    )]
    pub(crate) auto_bind_agent: bool,

    /// Whether a changed Secret is noticed at once, or when the remote is asked next
    #[arg(long, env = "STOKER_SECRET_ACCESS", value_name = "RIGHT", default_value = "watch")]
    pub(crate) secret_access: SecretAccess,

    /// The cluster role that may write Secrets: the controller binds itself to it where a GatewaySync
    /// has a GitHub App
    #[arg(
        long,
        env = "STOKER_TOKEN_WRITER_ROLE",
        value_name = "NAME",
        requires = "service_account"
    )]
    pub(crate) token_writer_role: Option<String>,

    /// The service account of the controller, in its own namespace
    #[arg(long, env = "STOKER_SERVICE_ACCOUNT", value_name = "NAME")]
    pub(crate) service_account: Option<String>,

    /// The `ValidatingAdmissionPolicy` that ties each report to its pod, and its binding of the
    /// same name: the log says where they are missing
    #[arg(long, env = "STOKER_STATUS_POLICY", value_name = "NAME")]
    pub(crate) status_policy: Option<String>,

    /// After how many seconds without an event or a bookmark a watch counts as dead
    #[arg(
        long,
        env = "STOKER_WATCH_SILENT_SECONDS",
        value_name = "SECONDS",
        default_value_t = SILENT_SECONDS,
        value_parser = clap::value_parser!(u16).range(10..=600)
    )]
    pub(crate) watch_silent_seconds: u16,

    /// How many seconds a report stays after its pod; tests do not wait for ten minutes
    #[arg(long, env = "STOKER_REPORT_KEPT_SECONDS", hide = true, default_value_t = 600)]
    pub(crate) report_kept_seconds: u16,

    /// How many seconds a deletion waits for agents; tests do not wait for the usual time
    #[arg(long, env = "STOKER_AGENTS_WAIT_SECONDS", hide = true, default_value_t = 30)]
    pub(crate) agents_wait_seconds: u16,

    /// Where the history of repositories is kept, for refs that are commit ids
    #[arg(long, env = "STOKER_STORE", value_name = "DIRECTORY", default_value = "/tmp")]
    pub(crate) store: PathBuf,

    /// How many bytes that may take
    #[arg(
        long,
        env = "STOKER_STORE_LIMIT",
        value_name = "BYTES",
        default_value_t = 1024 * 1024 * 1024
    )]
    pub(crate) store_limit: u64,

    #[command(flatten)]
    pub(crate) repair: repair::Arguments,
}

/// What the controller was told.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) allow_file_repos: bool,
    pub(crate) allow_loopback_git: bool,
    pub(crate) git_deny_cidrs: Vec<Cidr>,
    pub(crate) max_concurrent_reconciles: u16,
    pub(crate) shard: Option<Shard>,
    pub(crate) auto_bind_agent: bool,
    pub(crate) secret_access: SecretAccess,
    /// How the controller gets the right to write tokens; none where the administrator gives it.
    pub(crate) token_writer: Option<TokenWriter>,
    pub(crate) status_policy: Option<String>,
    pub(crate) watch_silent_seconds: u16,
    /// How long a report stays after its pod.
    pub(crate) report_kept_for: Duration,
    /// How long a deletion waits for agents at most.
    pub(crate) agents_within: Duration,
    pub(crate) store: PathBuf,
    pub(crate) store_limit: u64,
    /// The receiver of this installation, which may run in another process.
    pub(crate) receiver: receiver::Arguments,
    /// How agents are injected.
    pub(crate) admission: Arc<stoker_core::admission::Settings>,
    /// How pods are repaired that need a restart.
    pub(crate) repair: repair::Settings,
}

/// The right to write the tokens of GitHub Apps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TokenWriter {
    /// The cluster role that has it.
    pub(crate) role: String,
    /// The service account that gets it.
    pub(crate) account: String,
}

/// What the controller may do with Secrets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum SecretAccess {
    /// Watch the metadata of all, and read those that GatewaySyncs name
    Watch,
    /// Read those that GatewaySyncs name
    Get,
}

/// A part of all GatewaySyncs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    index: u32,
    count: u32,
}

/// A network: an address and the number of bits that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cidr {
    address: IpAddr,
    bits: u8,
}

/// A text that is not what a flag wants.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Invalid {
    #[error("{0:?} is not a part: write I/N with I smaller than N, such as 0/3")]
    Shard(String),
    #[error("{0:?} is not a network: write an address and a number of bits, such as 10.0.0.0/8")]
    Cidr(String),
}

impl Settings {
    /// Takes what the controller needs from the arguments.
    pub(crate) fn new(arguments: &args::Arguments) -> Self {
        let given = arguments.controller.clone();
        let token_writer = given.token_writer_role.zip(given.service_account);
        let token_writer = token_writer.filter(|_| given.auto_bind_agent);
        let token_writer = token_writer.map(|(role, account)| TokenWriter { role, account });
        Self {
            allow_file_repos: given.allow_file_repos,
            allow_loopback_git: given.allow_loopback_git,
            git_deny_cidrs: given.git_deny_cidrs,
            max_concurrent_reconciles: given.max_concurrent_reconciles,
            shard: given.shard,
            auto_bind_agent: given.auto_bind_agent,
            secret_access: given.secret_access,
            token_writer,
            status_policy: given.status_policy,
            watch_silent_seconds: given.watch_silent_seconds,
            report_kept_for: Duration::from_secs(given.report_kept_seconds.into()),
            agents_within: Duration::from_secs(given.agents_wait_seconds.into()),
            store: given.store,
            store_limit: given.store_limit,
            receiver: arguments.receiver.clone(),
            admission: Arc::new(arguments.admission.settings()),
            repair: repair::Settings::new(arguments),
        }
    }
}

impl Shard {
    /// Says whether an object with this UID belongs to this part.
    pub(crate) fn holds(self, uid: &str) -> bool {
        use sha2::Digest as _;
        let digest = sha2::Sha256::digest(uid);
        u32::from_be_bytes([digest[0], digest[1], digest[2], digest[3]]) % self.count == self.index
    }

    /// Returns the Lease of this part. Instances that shared one would leave all parts but the
    /// leader's unserved.
    pub(crate) fn lease(self, all: &str) -> String {
        let Self { index, count } = self;
        format!("{all}-{index}-of-{count}")
    }
}

impl FromStr for Shard {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let parts = text.split_once('/');
        let parsed =
            parts.and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        match parsed {
            Some((index, count)) if index < count => Ok(Self { index, count }),
            _ => Err(Invalid::Shard(text.to_owned())),
        }
    }
}

impl Cidr {
    /// Says whether the network holds this address.
    pub(crate) fn holds(self, address: IpAddr) -> bool {
        let bits = |address: IpAddr| match address {
            IpAddr::V4(address) => (u128::from(u32::from(address)) << 96, 32),
            IpAddr::V6(address) => (u128::from(address), 128),
        };
        let ((own, own_length), (other, other_length)) = (bits(self.address), bits(address));
        let shift = 128 - u32::from(self.bits);
        own_length == other_length && (shift == 128 || own >> shift == other >> shift)
    }
}

impl FromStr for Cidr {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let invalid = || Invalid::Cidr(text.to_owned());
        let (address, bits) = text.split_once('/').ok_or_else(invalid)?;
        let address: IpAddr = address.parse().map_err(|_| invalid())?;
        let bits: u8 = bits.parse().map_err(|_| invalid())?;
        let longest = if address.is_ipv4() { 32 } else { 128 };
        if bits > longest { Err(invalid()) } else { Ok(Self { address, bits }) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_hold_their_own_addresses() {
        let holds = |network: &str, address: &str| {
            network.parse::<Cidr>().unwrap().holds(address.parse().unwrap())
        };
        assert!(holds("10.0.0.0/8", "10.255.0.1"));
        assert!(!holds("10.0.0.0/8", "11.0.0.1"));
        assert!(holds("0.0.0.0/0", "192.0.2.1"));
        assert!(!holds("0.0.0.0/0", "::1"));
        assert!(holds("fd00:ec2::/32", "fd00:ec2::254"));
        assert!(!holds("192.0.2.1/32", "192.0.2.2"));
        for wrong in ["10.0.0.0", "10.0.0.0/33", "x/8", "::/129"] {
            assert!(wrong.parse::<Cidr>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_object_belongs_to_exactly_one_part_and_every_part_has_its_lease() {
        let parts: Vec<Shard> = (0..3).map(|index| Shard { index, count: 3 }).collect();
        assert_eq!(parts[1].lease("stoker"), "stoker-1-of-3");
        for uid in (0..100).map(|number| format!("uid-{number}")) {
            assert_eq!(parts.iter().filter(|part| part.holds(&uid)).count(), 1, "{uid}");
        }
        assert_eq!("1/3".parse::<Shard>().unwrap(), Shard { index: 1, count: 3 });
        for wrong in ["3/3", "1", "a/b", "0/0"] {
            assert!(wrong.parse::<Shard>().is_err(), "{wrong}");
        }
    }
}

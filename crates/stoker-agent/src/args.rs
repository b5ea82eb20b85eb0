//! The command line and the environment of the agent.
//!
//! The webhook writes the environment; `stoker_api` spells its names. There are few flags, so they
//! are parsed here: a parser library would cost memory in every gateway's pod.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use stoker_api::contract::env::Env;
use stoker_api::contract::mount::Volume;
use stoker_api::names::Port;
use stoker_api::word::Interval;

/// How many bytes the object store may take, where no flag says otherwise.
const STORE_LIMIT: u64 = 2 << 30;
/// How long a gateway with an empty volume waits for git, where nothing says otherwise.
const STARTUP_DEADLINE: Duration = Duration::from_mins(10);

const HELP: &str = "\
Keeps the data directory of an Ignition gateway at the commit that the controller announces.
It runs as a container of the gateway's pod; the webhook sets its environment.

Usage: stoker-agent [--store-limit BYTES] [--pod-info DIR]

Options:
  --store-limit BYTES  The most that the object store may take, for example 2Gi [default: 2Gi]
  --pod-info DIR       Where the pod's labels and annotations are [default: /etc/stoker/pod]
  --help               Print this help
  --version            Print the version
";
const VERSION: &str = concat!("stoker-agent ", env!("CARGO_PKG_VERSION"), "\n");

/// What the program is to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Arguments {
    /// Supervise a worker.
    Supervise(Options),
    /// Work.
    Work(Options),
    /// Print a text: the help, or the version.
    Print(&'static str),
}

/// The flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Options {
    /// How many bytes the object store may take.
    pub(crate) store_limit: u64,
    /// Where the pod's labels and annotations are.
    pub(crate) pod_info: PathBuf,
    /// How long ago the supervisor started.
    pub(crate) age: Duration,
}

/// A command line that can't be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Error {
    #[error("unknown argument {0:?}, see stoker-agent --help")]
    Unknown(String),
    #[error("{flag} needs a value, for example {flag} {example}")]
    NoValue { flag: &'static str, example: &'static str },
    #[error("{value:?} is not a number of bytes: write for example 2Gi")]
    NotBytes { value: String },
}

/// The environment of the container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Environment {
    pub(crate) pod_name: String,
    pub(crate) pod_namespace: String,
    pub(crate) pod_uid: String,
    pub(crate) cr_name: String,
    pub(crate) gateway_name: Option<String>,
    pub(crate) profile: Option<String>,
    pub(crate) sync_profile: Option<String>,
    pub(crate) sync_period: Option<String>,
    pub(crate) repo_path: PathBuf,
    pub(crate) data_path: PathBuf,
    pub(crate) api_key_file: Option<PathBuf>,
    pub(crate) ssh_key_file: Option<PathBuf>,
    pub(crate) known_hosts_file: Option<PathBuf>,
    pub(crate) token_file: Option<PathBuf>,
    pub(crate) ca_file: Option<PathBuf>,
    /// How long a gateway with an empty volume waits for git; zero is for ever.
    pub(crate) startup_deadline: Duration,
    pub(crate) metrics_port: u16,
}

/// A variable that is missing or can't be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum EnvironmentError {
    #[error("the variable {0} is not set; the webhook sets it when it injects the agent")]
    Missing(Env),
    #[error("the variable {name} is {value:?}, which is not {expected}")]
    Invalid { name: Env, value: String, expected: &'static str },
}

impl Arguments {
    /// Parses the command line without the program's name.
    pub(crate) fn parse(arguments: impl Iterator<Item = String>) -> Result<Self, Error> {
        let mut arguments = arguments.peekable();
        let is_worker = arguments.next_if(|word| word == "worker").is_some();
        let mut options = Options::default();
        while let Some(word) = arguments.next() {
            match word.as_str() {
                "--help" | "-h" => return Ok(Self::Print(HELP)),
                "--version" | "-V" => return Ok(Self::Print(VERSION)),
                "--store-limit" => {
                    let none = Error::NoValue { flag: "--store-limit", example: "2Gi" };
                    options.store_limit = bytes(&arguments.next().ok_or(none)?)?;
                }
                "--pod-info" => {
                    let none = Error::NoValue { flag: "--pod-info", example: "/etc/stoker/pod" };
                    options.pod_info = arguments.next().ok_or(none)?.into();
                }
                "--age-ms" if is_worker => {
                    let age = arguments.next().and_then(|age| age.parse().ok());
                    let none = Error::NoValue { flag: "--age-ms", example: "0" };
                    options.age = Duration::from_millis(age.ok_or(none)?);
                }
                _ => return Err(Error::Unknown(word)),
            }
        }
        Ok(if is_worker { Self::Work(options) } else { Self::Supervise(options) })
    }
}

impl Default for Options {
    fn default() -> Self {
        let pod_info = Volume::PodInfo.path().into();
        Self { store_limit: STORE_LIMIT, pod_info, age: Duration::ZERO }
    }
}

/// Parses a number of bytes, with a unit of Kubernetes or without.
fn bytes(value: &str) -> Result<u64, Error> {
    let units = [("Ki", 1 << 10), ("Mi", 1 << 20), ("Gi", 1 << 30)];
    let unit = units.iter().find_map(|(unit, size)| Some((value.strip_suffix(unit)?, *size)));
    let (digits, size): (_, u64) = unit.unwrap_or((value, 1));
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(size));
    number.filter(|number| *number > 0).ok_or(Error::NotBytes { value: value.to_owned() })
}

/// Prints a text.
pub(crate) fn print(text: &str) -> ExitCode {
    let printed = std::io::stdout().write_all(text.as_bytes());
    if printed.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Says why the command line or the environment can't be used.
pub(crate) fn refuse(error: &dyn std::error::Error) -> ExitCode {
    drop(writeln!(std::io::stderr(), "stoker-agent: {error}"));
    ExitCode::from(2)
}

/// Returns the port of the probes. One that can't be read is the usual one: without probes the
/// gateway would never start.
pub(crate) fn health_port(read: &dyn Fn(Env) -> Option<String>) -> u16 {
    let port = port(read, Env::HealthPort, Port::AgentHealth);
    port.unwrap_or(Port::AgentHealth.number())
}

/// Returns how long a gateway with an empty volume waits for git.
fn startup_deadline(read: &dyn Fn(Env) -> Option<String>) -> Result<Duration, EnvironmentError> {
    let name = Env::StartupDeadline;
    let Some(value) = given(read, name) else { return Ok(STARTUP_DEADLINE) };
    if value == "0" {
        return Ok(Duration::ZERO);
    }
    let parsed = Interval::parse(&value).map(Interval::as_duration);
    parsed.map_err(|_| EnvironmentError::Invalid { name, value, expected: "a time such as 10m" })
}

impl Environment {
    /// Reads the environment.
    pub(crate) fn read(read: &dyn Fn(Env) -> Option<String>) -> Result<Self, EnvironmentError> {
        let needed = |name| given(read, name).ok_or(EnvironmentError::Missing(name));
        let file = |name| given(read, name).map(PathBuf::from);
        Ok(Self {
            pod_name: needed(Env::PodName)?,
            pod_namespace: needed(Env::PodNamespace)?,
            pod_uid: needed(Env::PodUid)?,
            cr_name: needed(Env::CrName)?,
            gateway_name: given(read, Env::GatewayName),
            profile: given(read, Env::Profile),
            sync_profile: given(read, Env::SyncProfile),
            sync_period: given(read, Env::SyncPeriod),
            repo_path: needed(Env::RepoPath)?.into(),
            data_path: needed(Env::DataPath)?.into(),
            api_key_file: file(Env::ApiKeyFile),
            ssh_key_file: file(Env::GitSshKeyFile),
            known_hosts_file: file(Env::GitKnownHostsFile),
            token_file: file(Env::GitTokenFile),
            ca_file: file(Env::GitCaFile),
            startup_deadline: startup_deadline(read)?,
            metrics_port: port(read, Env::MetricsPort, Port::AgentMetrics)?,
        })
    }
}

/// Reads a variable of the process.
pub(crate) fn variable(name: Env) -> Option<String> {
    std::env::var(name.as_str()).ok()
}

/// An empty variable counts as one that is not set.
fn given(read: &dyn Fn(Env) -> Option<String>, name: Env) -> Option<String> {
    read(name).filter(|value| !value.is_empty())
}

fn port(
    read: &dyn Fn(Env) -> Option<String>,
    name: Env,
    usual: Port,
) -> Result<u16, EnvironmentError> {
    let Some(value) = given(read, name) else { return Ok(usual.number()) };
    value.parse().map_err(|_| EnvironmentError::Invalid { name, value, expected: "a port" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Result<Arguments, Error> {
        Arguments::parse(words.iter().map(ToString::to_string))
    }

    #[test]
    fn the_store_limit_takes_units_and_other_flags_are_refused() {
        let options = |store_limit| Options { store_limit, ..Options::default() };
        assert_eq!(parse(&[]), Ok(Arguments::Supervise(options(2 << 30))));
        assert_eq!(parse(&["--version"]), Ok(Arguments::Print(VERSION)));
        let limited = ["--store-limit", "512Mi"];
        assert_eq!(parse(&limited), Ok(Arguments::Supervise(options(512 << 20))));
        let worker = ["worker", "--store-limit", "7"];
        assert_eq!(parse(&worker), Ok(Arguments::Work(options(7))));
        for wrong in [&["--store-limit"][..], &["--store-limit", "0"], &["--age-ms", "1"], &["x"]] {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn an_empty_variable_is_not_set_and_a_missing_one_is_named() {
        let read = |name: Env| match name {
            Env::PodUid => None,
            Env::GatewayName | Env::ApiKeyFile => Some(String::new()),
            Env::StartupDeadline => Some("0".to_owned()),
            Env::MetricsPort => Some("9".to_owned()),
            name => Some(name.as_str().to_lowercase()),
        };
        let missing = Environment::read(&read);
        assert_eq!(missing, Err(EnvironmentError::Missing(Env::PodUid)));
        let complete = |name| read(name).or(Some("uid".to_owned()));
        let environment = Environment::read(&complete).unwrap();
        assert_eq!((environment.gateway_name, environment.api_key_file), (None, None));
        assert_eq!((environment.startup_deadline, environment.metrics_port), (Duration::ZERO, 9));
    }
}

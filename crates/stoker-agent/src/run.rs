//! One run of the agent: the seam to `stoker-run`. Everything here blocks.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use stoker_api::chain::Chain;
use stoker_api::condition::{Reason, Trigger};
use stoker_api::contract::metadata::Profile;
use stoker_api::gatewaysync::{DesignerSessionPolicy, DriftPolicy};
use stoker_api::word::Interval;
use stoker_core::remedy::advised;
use stoker_git::store::Location;
use stoker_run::{
    Cancel, CommitContent, Content, DriftCheck, Failed, GatewayAbsence, GatewayTarget, Phase,
    Progress, Resolution, Retry, RunReport, Target, Values, recover, scan_owed, sync,
};

use crate::access;
use crate::args::Environment;
use crate::decide::Kind;
use crate::goal::Goal;

/// The directory of the object store in its volume.
const STORE: &str = "store";
/// How long another process may have the object store: one that was killed just now.
const STORE_TIMEOUT: Duration = Duration::from_secs(30);

/// What a run is to do.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    pub(crate) goal: Goal,
    pub(crate) kind: Kind,
    pub(crate) trigger: Trigger,
    /// The commit that the gateway has loaded, as far as that is known; empty for none.
    pub(crate) loaded: Option<String>,
    pub(crate) environment: Arc<Environment>,
    pub(crate) store_limit: u64,
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) report: RunReport,
    pub(crate) fault: Option<Fault>,
}

/// Why a run failed.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) reason: Reason,
    pub(crate) message: String,
    pub(crate) retry: Retry,
    /// Whether the way to the commit failed, not what was done with it.
    pub(crate) is_source: bool,
    pub(crate) is_cancelled: bool,
    /// How many open Designer sessions stopped the run.
    pub(crate) designers: usize,
    pub(crate) files: Files,
}

/// What a run that failed did to the live files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Files {
    /// Nothing.
    Untouched,
    /// Some of them may be new and others not.
    Mixed,
    /// All of them are new: only the gateway's scan failed or was cut short.
    InPlace,
}

/// Says how far a run has come. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Writing {
    is_writing: Arc<AtomicBool>,
    is_applying: Arc<AtomicBool>,
}

impl Writing {
    /// Says whether the run has all that it needs and writes files.
    pub(crate) fn is_writing(&self) -> bool {
        self.is_writing.load(Ordering::Relaxed)
    }

    /// Says whether the run puts files in place, or has done so and waits for their scan.
    pub(crate) fn is_applying(&self) -> bool {
        self.is_applying.load(Ordering::Relaxed)
    }
}

impl Progress for Writing {
    fn phase(&self, phase: Phase<'_>) {
        let is_writing = matches!(phase, Phase::Writing { .. } | Phase::Applying);
        self.is_writing.store(is_writing, Ordering::Relaxed);
        let is_applying = matches!(phase, Phase::Applying | Phase::Scanning);
        self.is_applying.store(is_applying, Ordering::Relaxed);
        tracing::debug!(?phase, "phase of the run");
    }
}

/// What a volume held before the first run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The commit whose files are in place.
    pub(crate) commit: Option<String>,
    /// Whether a gateway can start with it.
    pub(crate) is_last_good: bool,
    /// Whether a killed run has to be finished first.
    pub(crate) is_unfinished: bool,
}

/// Looks at a volume. One that can't be read counts as empty: the first run says why.
pub(crate) fn inspect(environment: &Environment) -> Found {
    let state = stoker_run::state(&environment.data_path);
    let commit = state.as_ref().ok().and_then(stoker_run::State::commit);
    Found {
        commit: commit.map(str::to_owned),
        is_last_good: state.as_ref().is_ok_and(stoker_run::State::is_last_good),
        is_unfinished: state.as_ref().is_ok_and(stoker_run::State::is_unfinished),
    }
}

/// Finishes or undoes a run that was killed, without git and without the gateway: what is live may
/// be a mixture of two commits. The scan stays owed.
pub(crate) fn finish(environment: &Environment, cancel: &Cancel) -> Result<(), String> {
    let target = Target::new(&environment.data_path, blank_profile());
    let recovered = recover(&target, cancel, &Writing::default());
    recovered.map(drop).map_err(|failed| Chain(&*failed.error).to_string())
}

/// A profile for a recovery, which goes by the journal alone.
fn blank_profile() -> Profile {
    Profile {
        mappings: Vec::new(),
        exclude_patterns: Vec::new(),
        vars: BTreeMap::new(),
        sync_period: 30,
        designer_session_policy: DesignerSessionPolicy::Proceed,
        designer_session_timeout: Interval::from_secs(0),
        drift_policy: DriftPolicy::Report,
        max_delete_percent: None,
        dry_run: false,
        paused: false,
    }
}

/// Runs.
pub(crate) fn execute(job: &Job, cancel: &Cancel, writing: &Writing) -> Ended {
    let target = target(job);
    if job.kind == Kind::Scan {
        return Ended::of(scan_owed(&target, cancel, writing));
    }
    let recovered = match recover(&target, cancel, writing) {
        Ok(recovered) => recovered,
        Err(failed) => return Ended::of(Err(failed)),
    };
    let route = match access::build(&job.goal.remote, &job.environment) {
        Ok(route) => route,
        Err(error) => {
            let fault = Fault {
                reason: error.reason(),
                message: Chain(&error).to_string(),
                retry: Retry::NextPeriod,
                is_source: true,
                is_cancelled: false,
                designers: 0,
                files: Files::Untouched,
            };
            return Ended { report: recovered.into_report(&target), fault: Some(fault) };
        }
    };
    let Goal { git_ref, commit, .. } = &job.goal;
    let (name, commit) = (git_ref.as_str().into(), commit.clone());
    let resolution = Resolution { name, commit, warnings: Vec::new() };
    let store = Location::in_volume(&job.environment.repo_path, STORE).limited_to(job.store_limit);
    let content = Content::Commit(CommitContent {
        resolution: &resolution,
        access: &route.access,
        store: &store,
        store_timeout: STORE_TIMEOUT,
    });
    Ended::of(sync(&target, content, recovered, cancel, writing))
}

fn target(job: &Job) -> Target {
    let Job { goal, environment, .. } = job;
    let mut profile = goal.profile.clone();
    let excludes = goal.exclude_patterns.iter().flat_map(|text| text.split(','));
    let excludes = excludes.map(str::trim).filter(|pattern| !pattern.is_empty());
    profile.exclude_patterns.extend(excludes.map(str::to_owned));
    let mut target = Target::new(&environment.data_path, profile);
    target.values = Values {
        gateway_name: Some(goal.gateway.to_string()),
        pod_name: Some(environment.pod_name.clone()),
        pod_ordinal: ordinal(&environment.pod_name),
        namespace: Some(environment.pod_namespace.clone()),
        cr_name: Some(environment.cr_name.clone()),
        profile: Some(goal.profile_name.clone()),
        git_ref: Some(goal.git_ref.to_string()),
        labels: Some(goal.labels.clone()),
        ..target.values
    };
    target.drift_check =
        if job.kind == Kind::Check { DriftCheck::Stat } else { DriftCheck::Touched };
    target.loaded.clone_from(&job.loaded);
    target.confirmed = goal.confirmed.as_ref().map(ToString::to_string);
    target.gateway = environment.api_key_file.as_ref().map(|key| {
        let endpoint = stoker_ignition::Endpoint::beside_us(goal.port, goal.tls);
        let options = stoker_ignition::Options::new(endpoint, key);
        GatewayTarget { options, absence: GatewayAbsence::Owes }
    });
    target
}

/// Returns the number at the end of a pod's name, which a `StatefulSet` gives.
fn ordinal(pod_name: &str) -> Option<i64> {
    let (_, digits) = pod_name.rsplit_once('-')?;
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| is_number)
}

/// Returns how many open Designer sessions stopped a run.
fn designers(error: &stoker_run::Error) -> usize {
    use stoker_ignition::Error::DesignerSessionActive;
    use stoker_run::Error::{Gateway, ScanLock};
    match error {
        Gateway(DesignerSessionActive { count, .. })
        | ScanLock(DesignerSessionActive { count, .. }) => *count,
        _ => 0,
    }
}

impl Files {
    fn after(error: &stoker_run::Error) -> Self {
        use stoker_run::Error;
        match error {
            Error::Scan(_) | Error::ProjectsNotLoaded { .. } | Error::RecordScan(_) => {
                Self::InPlace
            }
            Error::Apply(_) | Error::Open(_) => Self::Mixed,
            _ => Self::Untouched,
        }
    }
}

impl Ended {
    fn of(ended: Result<RunReport, Failed>) -> Self {
        let Failed { report, error } = match ended {
            Ok(report) => return Self { report, fault: None },
            Err(failed) => failed,
        };
        let fault = Fault {
            reason: error.reason(),
            message: advised(Chain(&*error), error.remedy().as_ref()),
            retry: error.retry(),
            is_source: matches!(*error, stoker_run::Error::Fetch(_)),
            is_cancelled: error.is_cancelled(),
            designers: designers(&error),
            files: Files::after(&error),
        };
        Self { report: *report, fault: Some(fault) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ordinal_is_the_number_at_the_end_of_a_pods_name() {
        for (name, expected) in [
            ("plant-0", Some(0)),
            ("plant-12", Some(12)),
            ("plant", None),
            ("plant-7f", None),
            ("p-", None),
        ] {
            assert_eq!(ordinal(name), expected, "{name}");
        }
    }
}

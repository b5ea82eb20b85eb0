//! What a run writes to: a data directory, the profile for it, and its gateway.

use std::path::PathBuf;
use std::time::Duration;

use stoker_api::contract::metadata::Profile;
use stoker_sync::manipulate::Values;
use stoker_sync::request::{Deletion, DriftCheck, Excess, Mapping, Origin, ScanTracking};
use stoker_sync::{Missing, Options, Request};

use crate::profile;

/// How long a run waits for another one on the same data directory, unless the caller says
/// otherwise.
const LOCK_TIMEOUT: Duration = Duration::from_secs(30);

/// A data directory, the profile for it, and its gateway.
#[derive(Debug, Clone)]
pub struct Target {
    /// The data directory.
    pub data: Options,
    /// What goes where.
    pub profile: Profile,
    /// What templates may refer to. The run fills in the commit.
    pub values: Values,
    /// How far the live files are compared: [`DriftCheck::Stat`] is the drift check.
    pub drift_check: DriftCheck,
    /// How many files the run may delete without confirmation; `None` is the profile's rule.
    pub deletion: Option<Deletion>,
    /// The commit whose mass deletion is confirmed.
    pub confirmed: Option<String>,
    /// What happens to a run that would delete more.
    pub excess: Excess,
    /// The gateway that scans the files; without one, no scan is owed.
    pub gateway: Option<GatewayTarget>,
    /// The commit that the gateway has loaded, where the caller knows; empty for none. Where another
    /// one is live and owes no scan, a gateway that shares the volume was scanned, and this one was
    /// not: it is.
    pub loaded: Option<String>,
    /// Where the commit comes from. With it, another repository than the last run's does not delete
    /// the files of that run without confirmation; in a cluster the spec is the confirmation.
    pub origin: Option<Origin>,
}

/// A gateway, and what its absence means.
#[derive(Debug, Clone)]
pub struct GatewayTarget {
    /// How it is reached. The run sets the cancel flag.
    pub options: stoker_ignition::Options,
    /// What a run does if it does not respond.
    pub absence: GatewayAbsence,
}

/// What it means that a gateway does not listen, is starting, or is not commissioned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatewayAbsence {
    /// The run waits for a gateway that starts, and then fails: files land, the scan is owed. On
    /// the first run of a data directory a gateway that starts is not an error.
    Fails,
    /// The run does not wait and does not fail: files land, also where there is no usable key, the
    /// scan is owed, and [`RunReport::gateway_absent`](crate::RunReport::gateway_absent) says why.
    /// For a caller that comes back with [`scan_owed`](crate::scan_owed).
    Owes,
}

impl Target {
    /// Returns a target without a gateway: the data directory must exist, drift is checked.
    pub fn new(data: impl Into<PathBuf>, profile: Profile) -> Self {
        let values = Values { vars: profile.vars.clone(), ..Values::default() };
        let data = Options {
            data: data.into(),
            missing: Missing::Refuse,
            lock_timeout: LOCK_TIMEOUT,
            follow: Vec::new(),
        };
        Self {
            data,
            profile,
            values,
            drift_check: DriftCheck::Stat,
            deletion: None,
            confirmed: None,
            excess: Excess::Stops,
            gateway: None,
            loaded: None,
            origin: None,
        }
    }

    /// Checks what can be checked before the commit is known: returns the error that the profile
    /// has with any commit.
    pub fn check(&self) -> Result<(), profile::Error> {
        // An error that two commits with nothing in common have is not about the commit.
        match ["0", "f"].map(|digit| self.fill(&digit.repeat(40))) {
            [Err(error), Err(_)] => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the mappings with their templates filled in for a commit.
    pub fn mappings(&self, commit: &str) -> Result<Vec<Mapping>, profile::Error> {
        self.fill(commit).map(|request| request.mappings)
    }

    pub(crate) fn request(&self, commit: &str) -> Result<Request, profile::Error> {
        let mut request = self.fill(commit)?;
        request.deletion = self.deletion.unwrap_or(request.deletion);
        if self.confirmed.as_deref() == Some(commit) {
            request.deletion = Deletion::Unlimited;
        }
        request.drift_check = self.drift_check;
        request.excess = self.excess;
        request.origin = self.origin.clone().map(Box::new);
        request.scan_tracking = match self.gateway {
            Some(_) => ScanTracking::On,
            None => ScanTracking::Off,
        };
        Ok(request)
    }

    fn fill(&self, commit: &str) -> Result<Request, profile::Error> {
        let values = Values { commit: Some(commit.to_owned()), ..self.values.clone() };
        profile::request(&self.profile, values, commit)
    }
}

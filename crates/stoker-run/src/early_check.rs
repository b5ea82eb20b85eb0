//! Checks for drift while the remote resolves the ref. Most polls resolve to the commit that is
//! already applied, so the result is usually needed.

use std::time::Instant;

use stoker_core::refs::Resolution;
use stoker_sync::request::DriftCheck;
use stoker_sync::{Cancel, EarlyCheck, Request, View};

use crate::recover::Recovered;
use crate::target::Target;

impl Recovered {
    /// Resolves the ref, and compares the live files with the last sync meanwhile.
    ///
    /// Returns what `resolve` returned; the run that follows uses what the check has seen.
    pub fn check_while<E>(
        mut self,
        target: &Target,
        cancel: &Cancel,
        resolve: impl FnOnce() -> Result<Resolution, E>,
    ) -> (Result<Resolution, E>, Self) {
        let started = Instant::now();
        let mut resolving = started.elapsed();
        let timed = || {
            let resolved = resolve();
            resolving = started.elapsed();
            resolved
        };
        let (resolved, early) = check(target, cancel, timed);
        self.early = early;
        self.report.durations.resolve += resolving;
        self.report.durations.plan += started.elapsed().saturating_sub(resolving);
        (resolved, self)
    }
}

fn check<E>(
    target: &Target,
    cancel: &Cancel,
    resolve: impl FnOnce() -> Result<Resolution, E>,
) -> (Result<Resolution, E>, Option<EarlyCheck>) {
    let Some((view, request)) = prepare(target) else { return (resolve(), None) };
    view.check_while(&request, cancel, resolve, |resolved| {
        resolved.as_ref().is_ok_and(|found| found.commit.as_str() == request.commit)
    })
}

/// An error here is left to the run itself, which meets it again.
fn prepare(target: &Target) -> Option<(View, Request)> {
    if target.drift_check != DriftCheck::Stat || target.profile.paused {
        return None;
    }
    let view = View::open_following(&target.data.data, &target.data.follow).ok()?;
    let request = target.request(view.commit()?).ok()?;
    Some((view, request))
}

//! For tests: a scratch directory, a commit in memory, and one run from plan to report.

mod commit;
pub(crate) mod model;
mod scratch;

pub(crate) use commit::{Blob, Commit, Files};
pub(crate) use scratch::{Live, Scratch, Snapshot};

use crate::request::{Deletion, DriftCheck, Mapping};
use crate::{Cancel, RelPath, Report, Request, Written};

pub(crate) fn map(text: &str) -> Mapping {
    let (source, destination) = text.rsplit_once(':').unwrap();
    Mapping::new(RelPath::parse(source).unwrap(), RelPath::parse(destination).unwrap())
}

/// A request for these mappings; the commit's name is made from its content.
pub(crate) fn request<const N: usize>(commit: &Commit, maps: [&str; N]) -> Request {
    let name = commit.root.map_or_else(String::new, |root| root.to_string());
    Request::new(name, maps.into_iter().map(map).collect())
}

pub(crate) fn unlimited(request: Request) -> Request {
    Request { deletion: Deletion::Unlimited, ..request }
}

pub(crate) fn checking(request: Request, check: DriftCheck) -> Request {
    Request { drift_check: check, ..request }
}

pub(crate) fn strings(paths: &[RelPath]) -> Vec<String> {
    paths.iter().map(ToString::to_string).collect()
}

/// One run, from opening to report.
pub(crate) fn sync(
    scratch: &Scratch,
    commit: &Commit,
    request: &Request,
) -> Result<Report, Box<dyn std::error::Error>> {
    let cancel = Cancel::default();
    let mut source = commit.clone();
    let mut engine = scratch.try_engine()?;
    let plan = engine.plan(&mut source, request, &cancel)?;
    let written = engine.write(plan, &mut source, &cancel)?;
    Ok(written.apply(&mut || {})?)
}

/// Plans and writes what a request brings, and lets `then` do the rest.
pub(crate) fn write_then<T>(
    scratch: &Scratch,
    commit: &Commit,
    request: &Request,
    then: impl FnOnce(Written<'_>) -> T,
) -> T {
    let (mut engine, mut source, cancel) = (scratch.engine(), commit.clone(), Cancel::default());
    let plan = engine.plan(&mut source, request, &cancel).unwrap();
    then(engine.write(plan, &mut source, &cancel).unwrap())
}

/// The error of a run, as a value: what it says is asserted in the tests of `stoker-cli`.
pub(crate) fn refusal<E: std::error::Error + 'static>(
    done: Result<Report, Box<dyn std::error::Error>>,
) -> E {
    *done.unwrap_err().downcast().unwrap()
}

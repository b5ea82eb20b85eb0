//! Finds commits by their ids in the history of all branches and tags.
//!
//! Only commits are fetched, without trees and files, into a repository of their own
//! (`history.git`). Results are recorded in `known-commits`, so that a pinned id is looked up once
//! per URL.

use std::fs;
use std::path::Path;

use stoker_api::word::Commit;
use stoker_core::refs::{History, HistoryQuery};

use super::layout::{self, Found};
use super::{Store, fetch, rebuild};
use crate::command::{Session, in_repository, local};
use crate::diagnosis::{Fault, judge};
use crate::error::Error;
use crate::process::{Job, run};
use crate::remote::with_fresh_credentials;

/// How many results are recorded, newest last.
const MAX_KNOWN: usize = 1000;

type Fetch = fn(&Store, &Session, &Path) -> Result<(), Fault>;

/// Returns the commits that begin with the digits and that a branch or a tag reaches.
pub(crate) fn find(store: &Store, query: &HistoryQuery) -> Result<History, Error> {
    if let Some(commit) = recall(store, query) {
        return Ok(History { reachable: vec![commit] });
    }
    let history = store.directory.join(layout::HISTORY);
    let mut found = fetch_and_search(store, &history, query);
    if store.found != Found::Nothing && found.as_ref().is_err_and(rebuild::is_suspect) {
        found = rebuild::replace(&store.directory, layout::HISTORY, |next| {
            fetch_and_search(store, next, query)
        });
    }
    if store.had_packs && found.as_ref().is_err_and(rebuild::is_full) {
        layout::empty(&store.directory, &store.access.url)
            .map_err(|source| store.failed(source))?;
        found = fetch_and_search(store, &history, query);
    }
    let reachable = found?;
    if let [commit] = &reachable[..] {
        // If that can't be written, the next run looks it up again.
        drop(remember(store, query, commit));
    }
    Ok(History { reachable })
}

fn fetch_and_search(
    store: &Store,
    history: &Path,
    query: &HistoryQuery,
) -> Result<Vec<Commit>, Error> {
    let failed = |source| Error::FetchHistory { remote: store.access.remote(), source };
    let fetch_by = |fetch: Fetch| {
        with_fresh_credentials(
            &store.access,
            &store.cancel,
            |session| fetch(store, session, history),
            failed,
        )
    };
    match fetch_by(fetch::history) {
        // A tag that points to a tree fails like this, because trees are filtered out.
        Err(error) if rebuild::is_suspect(&error) => fetch_by(fetch::history_apart)?,
        fetched => fetched?,
    }
    search(store, history, query).map_err(failed)
}

fn search(store: &Store, history: &Path, query: &HistoryQuery) -> Result<Vec<Commit>, Fault> {
    let mut command = in_repository(local(), history);
    command.args(["rev-list", "--all"]);
    let limits = store.access.limits;
    let job = Job::new(command, limits.listing * 4, limits, &store.cancel);
    let listing = judge(&store.access, run(job))?.stdout;
    let lines = listing.split(|byte| *byte == b'\n');
    let matching = lines.filter(|line| line.starts_with(query.digits.as_bytes()));
    let ids = matching.filter_map(|line| std::str::from_utf8(line).ok());
    Ok(ids.filter_map(|id| Commit::parse(id).ok()).collect())
}

fn recall(store: &Store, query: &HistoryQuery) -> Option<Commit> {
    let known = fs::read_to_string(store.directory.join(layout::KNOWN)).ok()?;
    let mut pairs = known.lines().filter_map(|line| line.split_once(' '));
    let (_, commit) = pairs.find(|(digits, _)| *digits == &*query.digits)?;
    Commit::parse(commit).ok().filter(|commit| commit.as_str().starts_with(&*query.digits))
}

fn remember(store: &Store, query: &HistoryQuery, commit: &Commit) -> Result<(), super::Error> {
    let path = store.directory.join(layout::KNOWN);
    let known = fs::read_to_string(&path).unwrap_or_default();
    let mut lines: Vec<_> = known.lines().map(ToOwned::to_owned).collect();
    lines.push(format!("{} {commit}", query.digits));
    let kept = lines.len().saturating_sub(MAX_KNOWN);
    let text = lines[kept..].join("\n") + "\n";
    layout::write(&path, text.as_bytes())
}

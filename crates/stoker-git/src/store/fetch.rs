//! The `git fetch` commands of a store: trees of a commit, files by id, and fallbacks for servers
//! that support neither.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use stoker_api::word::Commit;
use stoker_sync::source::ObjectId;

use super::budget::Budget;
use super::{Store, layout};
use crate::command::{Session, in_repository, remote_settings};
use crate::diagnosis::{Fault, judge};
use crate::helper;
use crate::process::{Job, run};

/// Git prints little during a fetch.
const MAX_OUTPUT: usize = 1024 * 1024;
/// The most that one fetch of trees or files may transfer.
const MAX_BYTES: u64 = 64 * 1024 * 1024 * 1024;
/// The most that a fetch of commits may transfer: about a million commits.
const MAX_HISTORY_BYTES: u64 = 512 * 1024 * 1024;
/// With this many ids a request is smaller than a megabyte.
const FILES_PER_REQUEST: usize = 16_384;

/// Git's filters: what the server leaves out.
const ONLY_THE_TOP: &str = "tree:1";
const NO_FILES: &str = "blob:none";
/// Big files are fetched only by id.
const NO_BIG_FILES: &str = "blob:limit=1m";
const NO_TREES: &str = "tree:0";

const ALL_REFS: [&str; 2] =
    ["+refs/heads/*:refs/stoker/heads/*", "+refs/tags/*:refs/stoker/tags/*"];

/// Fetches a commit and its top directory.
pub(super) fn top(
    store: &Store,
    session: &Session,
    repository: &Path,
    commit: &Commit,
) -> Result<(), Fault> {
    commit_without(ONLY_THE_TOP, store, session, repository, commit)
}

/// Fetches a commit and its trees. The server does not send again what the store has.
pub(super) fn trees(store: &Store, session: &Session, commit: &Commit) -> Result<(), Fault> {
    commit_without(NO_FILES, store, session, &store.repository(), commit)
}

/// Fetches a commit, its trees and all files except big ones.
pub(super) fn whole(store: &Store, session: &Session, commit: &Commit) -> Result<(), Fault> {
    commit_without(NO_BIG_FILES, store, session, &store.repository(), commit)
}

fn commit_without(
    filter: &str,
    store: &Store,
    session: &Session,
    repository: &Path,
    commit: &Commit,
) -> Result<(), Fault> {
    let mut command = fetch(session, repository, filter);
    command.args(["--depth=1", "--force", "--", "origin"]);
    command.arg(format!("{commit}:refs/stoker/commit"));
    execute(store, command, Vec::new(), repository, MAX_BYTES)
}

/// Fetches the files of a commit, except big ones, when its trees were fetched before.
pub(super) fn whole_again(store: &Store, session: &Session, commit: &Commit) -> Result<(), Fault> {
    let repository = store.repository();
    let mut command = fetch(session, &repository, NO_BIG_FILES);
    command.args(["--depth=1", "--refetch", "--", "origin", commit.as_str()]);
    execute(store, command, Vec::new(), &repository, MAX_BYTES)
}

/// Fetches files by their ids.
///
/// Git does not tell the server what the store has. Otherwise the server might send a big file as a
/// delta against its older version, and resolving that takes the memory of both.
pub(super) fn files(store: &Store, session: &Session, ids: &[ObjectId]) -> Result<(), Fault> {
    let repository = store.repository();
    for ids in ids.chunks(FILES_PER_REQUEST) {
        let mut command = in_repository(session.fetching_git(), &repository);
        command.args(["-c", "fetch.negotiationAlgorithm=noop"]);
        remote_settings(&mut command, &session.url, NO_FILES);
        command.args(["fetch", "--no-tags", "--no-write-fetch-head", "--no-filter"]);
        command.args(["--stdin", "--", "origin"]);
        let mut input = String::with_capacity(ids.len() * 41);
        for id in ids {
            writeln!(input, "{id}").expect("a string takes any text");
        }
        execute(store, command, input.into_bytes(), &repository, MAX_BYTES)?;
    }
    Ok(())
}

/// Fetches all branches and tags with their history and files, for a server that does not serve
/// objects by id.
pub(super) fn everything(store: &Store, session: &Session) -> Result<(), Fault> {
    let repository = store.repository();
    let mut command = in_repository(session.fetching_git(), &repository);
    remote_settings(&mut command, &session.url, NO_FILES);
    command.args(["fetch", "--no-tags", "--no-write-fetch-head", "--no-filter", "--", "origin"]);
    command.args(ALL_REFS);
    execute(store, command, Vec::new(), &repository, MAX_BYTES)
}

/// Fetches the commits of all branches and tags, without trees and files.
pub(super) fn history(store: &Store, session: &Session, repository: &Path) -> Result<(), Fault> {
    let mut command = fetch(session, repository, NO_TREES);
    command.args(["--prune", "--force", "--", "origin"]).args(ALL_REFS);
    execute(store, command, Vec::new(), repository, MAX_HISTORY_BYTES)
}

/// Fetches the same when a tag points to a tree. Git fails if an object that was requested by name
/// does not arrive, and with [`NO_TREES`] a tree does not. So tags are fetched on their own, with
/// top trees. The server does not send again what the branches had, so these are few.
pub(super) fn history_apart(
    store: &Store,
    session: &Session,
    repository: &Path,
) -> Result<(), Fault> {
    for (filter, refs) in [NO_TREES, ONLY_THE_TOP].into_iter().zip(ALL_REFS) {
        let mut command = fetch(session, repository, filter);
        command.args(["--prune", "--force", "--", "origin", refs]);
        execute(store, command, Vec::new(), repository, MAX_HISTORY_BYTES)?;
    }
    Ok(())
}

fn fetch(session: &Session, repository: &Path, filter: &str) -> Command {
    let mut command = in_repository(session.fetching_git(), repository);
    remote_settings(&mut command, &session.url, filter);
    command.args(["fetch", "--no-tags", "--no-write-fetch-head"]);
    command.arg(format!("--filter={filter}"));
    command
}

fn execute(
    store: &Store,
    mut command: Command,
    input: Vec<u8>,
    repository: &Path,
    mut max_arrived: u64,
) -> Result<(), Fault> {
    let room = store.budget.as_ref().map(Budget::room).transpose()?;
    if let Some(room) = room {
        max_arrived = max_arrived.min(room);
        command.env(helper::FILE_LIMIT, room.to_string());
    }
    let before = layout::pack_bytes(repository);
    let arrived = || layout::pack_bytes(repository).saturating_sub(before);
    let job = Job {
        input,
        arrived: Some((&arrived, max_arrived)),
        ..Job::new(command, MAX_OUTPUT, store.access.limits, &store.cancel)
    };
    let judged = judge(&store.access, run(job)).map(drop);
    let judged = judged.map_err(|fault| match (&store.budget, room) {
        (Some(budget), Some(room)) if is_over(&fault, repository, room) => budget.full(),
        _ => fault,
    });
    if judged.is_err() {
        // A partial pack is useless, and may be what fills the volume. If this fails, opening the
        // store removes it the next time.
        drop(layout::sweep_packs(repository));
    }
    judged
}

/// Returns whether a fetch ended at a limit of the budget. Git does not report that its helper was
/// killed for the size of a file. But the helper leaves that file behind, as large as the limit.
fn is_over(fault: &Fault, repository: &Path, room: u64) -> bool {
    matches!(fault, Fault::TooLarge { .. }) || layout::largest_file(repository) >= room
}

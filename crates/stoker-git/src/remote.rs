//! Asks a remote which refs it has, and what a wanted ref points to.
//!
//! One process, one round trip; no store is needed or touched. The decision is
//! [`stoker_core::refs`]'s.

use stoker_api::word::{Commit, RepoUrl};
use stoker_core::refs::{AdvertisedRef, Scope};

use crate::Cancel;
use crate::access::Access;
use crate::auth::{self, Auth, github_app};
use crate::command::Session;
use crate::diagnosis::{Fault, is_web, judge, of_process, redirect};
use crate::error::Error;
use crate::process::{Job, Output, run};

/// Lists the refs of a remote, no more than `scope` needs.
pub fn list(access: &Access, scope: Scope, cancel: &Cancel) -> Result<Vec<AdvertisedRef>, Error> {
    let listing = with_fresh_credentials(
        access,
        cancel,
        |session| Ok(list_once(access, session, scope, Trace::Nothing, cancel)?.stdout),
        |source| Error::ListRefs { remote: access.remote(), source },
    )?;
    let failed = |source| Error::ListRefs { remote: access.remote(), source };
    let refs = parse(&listing).map_err(failed)?;
    // To git a web page without a tab in it is a repository without refs.
    if refs.is_empty() && scope_of_all(scope) && is_web(access.url.transport()) {
        let probe = |session: &Session| list_once(access, session, scope, Trace::Packets, cancel);
        let traced = with_fresh_credentials(access, cancel, probe, failed)?;
        if !traced.stderr.contains(PACKET) {
            return Err(failed(Fault::NotGit));
        }
    }
    Ok(refs)
}

/// Whether git says what it hears.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trace {
    Nothing,
    Packets,
    /// The headers of web requests, without credentials.
    Headers,
}

/// How often a server may redirect: to https, to a new name, to a path that ends in `.git`.
const MOST_REDIRECTS: usize = 5;

/// What a trace says of a server that speaks git.
const PACKET: &str = "packet:";

/// Whether an empty listing means an empty repository.
fn scope_of_all(scope: Scope) -> bool {
    matches!(scope, Scope::BranchesAndTags | Scope::All)
}

fn list_once(
    access: &Access,
    session: &Session,
    scope: Scope,
    trace: Trace,
    cancel: &Cancel,
) -> Result<Output, Fault> {
    judge(access, run(listing(access, session, scope, trace, cancel)))
}

fn listing<'a>(
    access: &Access,
    session: &Session,
    scope: Scope,
    trace: Trace,
    cancel: &'a Cancel,
) -> Job<'a> {
    let mut command = session.git();
    match trace {
        Trace::Nothing => &mut command,
        Trace::Packets => command.env("GIT_TRACE_PACKET", "2"),
        Trace::Headers => command.envs([("GIT_TRACE_CURL", "2"), ("GIT_TRACE_CURL_NO_DATA", "1")]),
    };
    command.args(["ls-remote", "--quiet"]);
    command.args(match scope {
        Scope::Branches => &["--heads"][..],
        Scope::Tags => &["--tags"],
        Scope::BranchesAndTags => &["--heads", "--tags"],
        Scope::All => &[],
    });
    command.args(["--", session.url.as_str()]);
    Job::new(command, access.limits.listing, access.limits, cancel)
}

/// Runs an operation, and once more if the server refused a credential that has since been renewed.
pub(crate) fn with_fresh_credentials<T>(
    access: &Access,
    cancel: &Cancel,
    operation: impl Fn(&Session) -> Result<T, Fault>,
    failed: impl Fn(Fault) -> Error,
) -> Result<T, Error> {
    let open = |access: &Access| {
        Session::open(access, cancel).map_err(|source| match source {
            auth::Error::GithubApp { source: github_app::Error::Cancelled, .. } => {
                failed(Fault::Cancelled)
            }
            source => Error::Credentials { remote: access.remote(), source },
        })
    };
    // Where addresses were checked, git itself follows no redirect.
    let run = || {
        let mut place = access.clone();
        for _ in 0..MOST_REDIRECTS {
            let session = open(&place)?;
            match operation(&session) {
                Err(fault @ Fault::Server { status: 300..400 }) if !place.addresses.is_empty() => {
                    place.url = next_place(&place, &session, cancel, fault).map_err(&failed)?;
                }
                result => return Ok(result),
            }
        }
        Ok(operation(&open(&place)?))
    };
    let before = fingerprint(access);
    match run()? {
        Err(Fault::Authentication { .. }) if renewed(access, before.as_ref()) => {
            run()?.map_err(&failed)
        }
        result => result.map_err(&failed),
    }
}

/// Asks once more to read where the server redirects; `fault` is what it said before.
fn next_place(
    access: &Access,
    session: &Session,
    cancel: &Cancel,
    fault: Fault,
) -> Result<RepoUrl, Fault> {
    let asked = run(listing(access, session, Scope::Branches, Trace::Headers, cancel));
    let output = asked.map_err(of_process)?;
    redirect::next(&session.url, &output.stderr).unwrap_or(Err(fault))
}

fn fingerprint(access: &Access) -> Option<stoker_api::word::Secret> {
    match &access.auth {
        Auth::Token { file, .. } => auth::read("token file", file).ok(),
        Auth::SshKey { key, .. } => auth::read("SSH key", key).ok(),
        Auth::None | Auth::GithubApp(_) => None,
    }
}

fn renewed(access: &Access, before: Option<&stoker_api::word::Secret>) -> bool {
    match &access.auth {
        Auth::GithubApp(app) => {
            app.forget();
            true
        }
        Auth::None | Auth::Token { .. } | Auth::SshKey { .. } => {
            fingerprint(access).as_ref() != before
        }
    }
}

/// Reads lines of `<40 digits> TAB <name>`; a peeled tag follows its tag as `<name>^{}`.
fn parse(listing: &[u8]) -> Result<Vec<AdvertisedRef>, Fault> {
    let mut refs: Vec<AdvertisedRef> = Vec::new();
    // A name that is not UTF-8 can't be wanted by anyone, so it is not worth an error.
    for line in
        listing.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok())
    {
        if line.is_empty() {
            continue;
        }
        let (id, name) = line.split_once('\t').ok_or(Fault::Damaged)?;
        let id = Commit::parse(id).map_err(|_| why_not(id))?;
        match (name.strip_suffix("^{}"), refs.last_mut()) {
            (Some(tag), Some(last)) if &*last.name == tag => last.peeled = Some(id),
            (Some(_), _) => {}
            (None, _) => refs.push(AdvertisedRef { name: name.into(), object: id, peeled: None }),
        }
    }
    Ok(refs)
}

/// What is wrong with an id of another length: SHA-256 has more digits.
fn why_not(id: &str) -> Fault {
    let is_sha256 = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_sha256 { Fault::ObjectFormat } else { Fault::Damaged }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: &str = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    const B: &str = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

    #[test]
    fn a_listing_is_read_with_its_peeled_tags() {
        let listing = format!("{A}\trefs/heads/main\n{B}\trefs/tags/v1\n{A}\trefs/tags/v1^{{}}\n");
        let refs = parse(listing.as_bytes()).unwrap();
        let commit = |text: &str| Commit::parse(text).unwrap();
        let tag = AdvertisedRef {
            name: "refs/tags/v1".into(),
            object: commit(B),
            peeled: Some(commit(A)),
        };
        assert_eq!(refs.len(), 2);
        assert_eq!(refs[1], tag);
    }

    #[test]
    fn names_that_are_no_text_are_left_out_and_garbage_is_refused() {
        let listing =
            [A.as_bytes(), b"\trefs/heads/\xff\n", A.as_bytes(), b"\trefs/heads/x\n"].concat();
        assert_eq!(parse(&listing).unwrap().len(), 1);
        assert_eq!(parse(b"garbage\n"), Err(Fault::Damaged));
        assert_eq!(parse(b"1234\trefs/heads/x\n"), Err(Fault::Damaged));
        assert_eq!(parse(b""), Ok(vec![]));
    }

    #[test]
    fn ids_of_64_digits_are_told_from_garbage() {
        let listing = format!("{A}{}\trefs/heads/main\n", &B[..24]);
        assert_eq!(parse(listing.as_bytes()), Err(Fault::ObjectFormat));
        assert_eq!(parse(listing.replace('a', "x").as_bytes()), Err(Fault::Damaged));
    }

    proptest! {
        #[test]
        fn no_listing_makes_it_panic(listing in prop::collection::vec(any::<u8>(), 0..200)) {
            drop(parse(&listing));
        }
    }
}

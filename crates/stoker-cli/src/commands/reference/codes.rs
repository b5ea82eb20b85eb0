//! Tables of the reasons and warning codes that scripts match on.

use std::fmt::Write as _;

use stoker_api::condition::Reason;
use stoker_api::warning::WarningCode;

/// The reasons that only a cluster gives: the operator decides them.
const OF_A_CLUSTER: [Reason; 5] = [
    Reason::ProfileNotFound,
    Reason::RestartNeeded,
    Reason::ScanFailed,
    Reason::FetchFailed,
    Reason::RefNotFound,
];

/// The reasons that git's part gives, in words for who has no cluster; conditions have more.
const OF_GIT: [(Reason, &str); 8] = [
    (Reason::ProfilesInvalid, "The templates of the profile can't be filled in for this commit."),
    (Reason::RefNotFound, "The remote has no such ref, or no branch and no tag holds the commit."),
    (Reason::RefResolutionFailed, "What the ref means could not be found out."),
    (Reason::AuthenticationFailed, "The remote wants credentials, or other ones."),
    (Reason::SecretNotFound, "The file of a credential does not exist."),
    (Reason::GithubAppExchangeFailed, "GitHub gave no token for the App's key."),
    (Reason::RemoteUnreachable, "The remote could not be reached, or is not what it should be."),
    (Reason::FetchFailed, "The commit could not be fetched, or not kept in the store."),
];

/// A word and its text.
type Row = (&'static str, &'static str);

/// Adds the tables to a page.
pub(super) fn tables(page: &mut String) {
    page.push_str("\n## Why a command failed: `error.reason`\n");
    let is_ours = |reason: &&Reason| reason.is_of_a_gateway() && !OF_A_CLUSTER.contains(reason);
    let own = Reason::ALL.iter().filter(is_ours).map(|known| (known.as_str(), known.describe()));
    let of_git = OF_GIT.into_iter().map(|(reason, text)| (reason.as_str(), text));
    table(page, "reason", own.chain(of_git));
    page.push_str("\n## What a run warns of: `warnings[].code`\n");
    let codes = WarningCode::ALL.iter().map(|known| (known.as_str(), known.describe()));
    table(page, "code", codes);
}

fn table(page: &mut String, heading: &str, rows: impl Iterator<Item = Row>) {
    write!(page, "\n| {heading} | meaning |\n|---|---|\n").ok();
    for (word, text) in rows {
        writeln!(page, "| `{word}` | {text} |").ok();
    }
}

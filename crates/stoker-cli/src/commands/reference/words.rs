//! The words that scripts match on, as tables.

use std::fmt::Write as _;

use stoker_api::condition::Reason;

use crate::word;

/// The reasons that git's part gives, in words for who has no cluster; conditions have more.
const OF_GIT: [(Reason, &str); 7] = [
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

macro_rules! rows {
    ($registry:expr) => {
        $registry.iter().map(|known| (known.as_str(), known.describe()))
    };
}

/// Adds the tables to a page.
pub(super) fn tables(page: &mut String) {
    page.push_str("\n## Why a command failed: `error.reason`\n");
    let of_git = OF_GIT.into_iter().map(|(reason, text)| (reason.as_str(), text));
    let own = rows!(word::Reason::ALL).chain(of_git);
    table(page, "reason", own.chain(of_the_gateway()));
    page.push_str("\n## What a run warns of: `warnings[].code`\n");
    table(page, "code", rows!(stoker_sync::warning::Code::ALL).chain(rows!(word::Code::ALL)));
}

/// Some are ours, too.
fn of_the_gateway() -> impl Iterator<Item = Row> {
    let is_new = |(word, _): &Row| word::Reason::find(word).is_none();
    rows!(stoker_ignition::Reason::ALL).filter(is_new)
}

fn table(page: &mut String, heading: &str, rows: impl Iterator<Item = Row>) {
    write!(page, "\n| {heading} | meaning |\n|---|---|\n").ok();
    for (word, text) in rows {
        writeln!(page, "| `{word}` | {text} |").ok();
    }
}

//! Whether git was sent to another host: its refs are not those that were asked for.

use crate::access::Access;

/// Returns where git went instead of the host that we meant, by its own words.
pub(super) fn elsewhere<'o>(stderr: &'o str, access: &Access) -> Option<&'o str> {
    let target = redirected(stderr).or_else(|| refuser(stderr));
    target.filter(|target| !is_meant(access, target))
}

/// `warning: redirecting to https://other/`
fn redirected(stderr: &str) -> Option<&str> {
    let (_, after) = stderr.split_once("warning: redirecting to ")?;
    after.lines().next()
}

/// `fatal: could not read Username for 'https://other'`, `fatal: Authentication failed for …`: git
/// asks for credentials before it says that it was redirected.
fn refuser(stderr: &str) -> Option<&str> {
    let words = ["could not read Username for '", "could not read Password for '", "failed for '"];
    let after = words.iter().find_map(|words| stderr.split_once(words))?.1;
    after.split('\'').next().filter(|url| url.starts_with("http"))
}

/// Whether that is where we meant to go: to the repository's host, or by way of the proxy.
fn is_meant(access: &Access, target: &str) -> bool {
    let proxy = access.proxy.as_ref().map(|proxy| host_of(proxy.as_str()));
    host_of(access.url.as_str()) == host_of(target) || proxy == Some(host_of(target))
}

fn host_of(url: &str) -> String {
    let address = url.split_once("://").map_or("", |(_, rest)| rest);
    let address = address.split('/').next().unwrap_or_default();
    address.rsplit_once('@').map_or(address, |(_, host)| host).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use stoker_api::word::RepoUrl;

    use super::*;

    #[test]
    fn a_redirect_stays_on_the_same_host_only_with_its_port() {
        let access = Access::public(RepoUrl::parse("https://Git.example:8443/r.git").unwrap(), "h");
        let to = |said: &str| elsewhere(said, &access).map(str::to_owned);
        assert_eq!(to("warning: redirecting to https://git.example:8443/other.git/\n"), None);
        for url in ["https://git.example/r.git/", "https://evil.example:8443/git.example:8443/"] {
            assert_eq!(to(&format!("warning: redirecting to {url}\n")), Some(url.to_owned()));
        }
    }

    #[test]
    fn whoever_wants_credentials_elsewhere_is_a_redirect_too() {
        let access = Access::public(RepoUrl::parse("https://git.example/r.git").unwrap(), "h");
        for said in ["could not read Username for", "Authentication failed for"] {
            let text = |url: &str| format!("fatal: {said} '{url}': terminal prompts disabled\n");
            assert_eq!(elsewhere(&text("https://git.example"), &access), None);
            let other = text("https://other.example");
            assert_eq!(elsewhere(&other, &access), Some("https://other.example"));
        }
        assert_eq!(elsewhere("fatal: it failed for 'reasons'\n", &access), None);
    }
}

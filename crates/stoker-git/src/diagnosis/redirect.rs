//! Whether git was sent to another host: its refs are not those that were asked for.

use crate::access::Access;

/// Returns the host that git was sent to instead of the one that we meant, by git's own words. Not
/// the path there: a server could put into it what it was sent.
pub(super) fn elsewhere(stderr: &str, access: &Access, has_failed: bool) -> Option<String> {
    let refuser = || stderr.lines().filter(|_| has_failed).find_map(refuser);
    let target = stderr.lines().find_map(redirected).or_else(refuser);
    let target = target.filter(|target| !is_meant(access, target))?;
    let (scheme, _) = target.split_once("://")?;
    Some(format!("{scheme}://{}", address_of(target)))
}

/// `warning: redirecting to https://other/`
fn redirected(line: &str) -> Option<&str> {
    line.strip_prefix("warning: redirecting to ")
}

/// `fatal: could not read Username for 'https://other'`, `fatal: Authentication failed for …`: git
/// asks for credentials before it says that it was redirected.
fn refuser(line: &str) -> Option<&str> {
    let words = ["could not read Username for '", "could not read Password for '"];
    let mut words = words.into_iter().chain(["Authentication failed for '"]);
    let said = line.strip_prefix("fatal: ")?;
    words.find_map(|words| said.strip_prefix(words))?.split('\'').next()
}

/// Whether that is where we meant to go: to the repository's host, or by way of the proxy.
fn is_meant(access: &Access, target: &str) -> bool {
    let proxy = access.proxy.as_ref().map(|proxy| address_of(proxy.as_str()));
    address_of(access.url.as_str()) == address_of(target) || proxy == Some(address_of(target))
}

fn address_of(url: &str) -> String {
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
        let to = |url: &str| elsewhere(&format!("warning: redirecting to {url}\n"), &access, false);
        assert_eq!(to("https://git.example:8443/other.git/"), None);
        assert_eq!(to("https://git.example/r.git/").as_deref(), Some("https://git.example"));
        let other = to("https://u:p@evil.example:8443/git.example:8443/token");
        assert_eq!(other.as_deref(), Some("https://evil.example:8443"));
    }

    #[test]
    fn whoever_wants_credentials_elsewhere_is_a_redirect_too() {
        let access = Access::public(RepoUrl::parse("https://git.example/r.git").unwrap(), "h");
        for said in ["could not read Username for", "Authentication failed for"] {
            let text = |url: &str| format!("fatal: {said} '{url}': terminal prompts disabled\n");
            let to = |url: &str| elsewhere(&text(url), &access, true);
            assert_eq!(to("https://git.example/r.git"), None);
            assert_eq!(to("https://other.example").as_deref(), Some("https://other.example"));
        }
    }

    #[test]
    fn what_a_server_says_is_no_redirect() {
        let access = Access::public(RepoUrl::parse("https://git.example/r.git").unwrap(), "h");
        for said in [
            "remote: Authentication failed for 'https://e.example/token'",
            "remote: warning: redirecting to https://e.example/token",
            "fatal: it failed for 'https://e.example/token'",
        ] {
            assert_eq!(elsewhere(said, &access, true), None, "{said}");
        }
        let banner = "fatal: Authentication failed for 'https://e.example/'";
        assert_eq!(elsewhere(banner, &access, false), None, "it has succeeded");
    }
}

//! Whether git was sent to another host: its refs are not those that were asked for.

use stoker_api::word::{RepoUrl, SafeUrl};

use super::Fault;
use crate::access::{Access, authority};

/// What git asks for first, below the repository's URL.
const DISCOVERY: &str = "/info/refs?service=git-upload-pack";

/// Returns the host that git was sent to instead of the one that we meant, by git's own words. Not
/// the path there: a server could put into it what it was sent.
pub(super) fn elsewhere(stderr: &str, access: &Access, has_failed: bool) -> Option<SafeUrl> {
    let refuser = || stderr.lines().filter(|_| has_failed).find_map(refuser);
    let target = stderr.lines().find_map(redirected).or_else(refuser);
    origin_of(target.filter(|target| !is_meant(access, target))?)
}

/// Reads from git's trace of headers where the server sends it, which must be on the same host and
/// not less safe. `None` if the server sends it nowhere.
pub(crate) fn next(from: &RepoUrl, trace: &str) -> Option<Result<RepoUrl, Fault>> {
    let location = trace.lines().filter_map(location).next_back()?;
    let (scheme, _) = from.as_str().split_once("://")?;
    let target = match location {
        path if path.starts_with("//") => format!("{scheme}:{path}"),
        path if path.starts_with('/') => {
            format!("{scheme}://{}{path}", address_of(from.as_str()))
        }
        _ => location.to_owned(),
    };
    let is_safe =
        target.starts_with("https://") || scheme == "http" && target.starts_with("http://");
    Some(match origin_of(&target) {
        Some(to) if !is_safe || address_of(from.as_str()) != address_of(&target) => {
            Err(Fault::Redirected { to })
        }
        _ => {
            let repository = target.strip_suffix(DISCOVERY).map(RepoUrl::parse);
            repository.and_then(Result::ok).ok_or(Fault::NotGit)
        }
    })
}

/// `12:00:00.000000 http.c:684              <= Recv header: Location: https://other/`
fn location(line: &str) -> Option<&str> {
    let (name, value) = line.split_once("<= Recv header: ")?.1.split_once(':')?;
    name.eq_ignore_ascii_case("location").then(|| value.trim())
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

fn origin_of(url: &str) -> Option<SafeUrl> {
    let (scheme, _) = url.split_once("://")?;
    Some(SafeUrl::redact(&format!("{scheme}://{}", address_of(url))))
}

fn address_of(url: &str) -> String {
    let address = authority(url);
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
        assert_eq!(to("https://git.example/r.git/"), Some(SafeUrl::redact("https://git.example")));
        let other = to("https://u:p@evil.example:8443/git.example:8443/token");
        assert_eq!(other, Some(SafeUrl::redact("https://evil.example:8443")));
    }

    #[test]
    fn whoever_wants_credentials_elsewhere_is_a_redirect_too() {
        let access = Access::public(RepoUrl::parse("https://git.example/r.git").unwrap(), "h");
        for said in ["could not read Username for", "Authentication failed for"] {
            let text = |url: &str| format!("fatal: {said} '{url}': terminal prompts disabled\n");
            let to = |url: &str| elsewhere(&text(url), &access, true);
            assert_eq!(to("https://git.example/r.git"), None);
            let other = "https://other.example";
            assert_eq!(to(other), Some(SafeUrl::redact(other)));
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

    fn sent_to(from: &str, location: &str) -> Option<Result<String, Fault>> {
        let trace = format!(
            "12:00:00.000000 http.c:684              <= Recv header: HTTP/2 301\n\
             12:00:00.000000 http.c:684              <= Recv header: location: {location}\n\
             12:00:00.000000 http.c:684              => Send header: Location: https://other/\n"
        );
        let found = next(&RepoUrl::parse(from).unwrap(), &trace)?;
        Some(found.map(|url| url.to_string()))
    }

    #[test]
    fn a_redirect_leads_to_a_repository_on_the_same_host() {
        for (from, location, url) in [
            ("https://h/r", "https://H/r.git", "https://H/r.git"),
            ("https://h/r", "/group/r.git", "https://h/group/r.git"),
            ("http://h:81/r", "//h:81/r.git", "http://h:81/r.git"),
            ("http://h/r", "https://h/r", "https://h/r"),
        ] {
            let found = sent_to(from, &format!("{location}{DISCOVERY}"));
            assert_eq!(found, Some(Ok(url.to_owned())), "{location}");
        }
        assert_eq!(next(&RepoUrl::parse("https://h/r").unwrap(), "HTTP/1.1 301\n"), None);
    }

    // F4
    #[test]
    fn a_redirect_leads_to_no_other_host_in_any_spelling() {
        for (location, origin) in [
            ("http://169.254.169.254/r.git", "http://169.254.169.254"),
            ("//169.254.169.254/r.git", "https://169.254.169.254"),
            ("https://h@169.254.169.254/r.git", "https://169.254.169.254"),
            ("https://h:444/r.git", "https://h:444"),
            ("http://h/r.git", "http://h"),
            ("ftp://h/r.git", "ftp://h"),
        ] {
            let found = sent_to("https://h/r", &format!("{location}{DISCOVERY}"));
            let to = SafeUrl::redact(origin);
            assert_eq!(found, Some(Err(Fault::Redirected { to })), "{location}");
        }
        for location in [
            "https://h/login?next=",
            "https:/169.254.169.254/r.git",
            "https://user:password@h/r.git",
            "https://169.254.169.254\\@h/r.git",
            "https://169.254.169.254?@h/r.git",
            "https://169.254.169.254#@h/r.git",
        ] {
            let found = sent_to("https://h/r", &format!("{location}{DISCOVERY}"));
            assert_eq!(found, Some(Err(Fault::NotGit)), "{location}");
        }
        assert_eq!(sent_to("https://h/r", "/login"), Some(Err(Fault::NotGit)));
    }
}

//! Whether a body means the repository of a GatewaySync.
//!
//! Paths are compared, never hosts: the same repository is reached by several names, and what a
//! body says about hosts must not matter.

/// Parts of a URL that are not part of a repository's name: Bitbucket Server's `scm`, and the
/// `_git` and `v3` of Azure DevOps.
const DECORATIONS: [&str; 3] = ["scm", "_git", "v3"];

/// Says whether `path`, such as `Org/repo`, is the repository at `url`.
pub fn is_same(path: &str, url: &str) -> bool {
    let (named, own) = (parts(path), parts(path_of(url)));
    !named.is_empty() && own.ends_with(&named)
}

/// Returns what follows the host of a URL.
fn path_of(url: &str) -> &str {
    if let Some((scheme, rest)) = url.split_once("://") {
        let path = rest.split_once('/').map_or("", |(_, path)| path);
        return if scheme == "file" { rest } else { path };
    }
    // git@host:org/repo
    url.split_once(':').map_or(url, |(_, path)| path)
}

fn parts(path: &str) -> Vec<String> {
    let path = path.trim_end_matches('/').to_lowercase();
    let path = path.strip_suffix(".git").unwrap_or(&path);
    let parts = path.split('/').filter(|part| !part.is_empty() && !DECORATIONS.contains(part));
    parts.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_compared_without_case_and_suffix_and_hosts_are_not() {
        for (path, url) in [
            ("Org/Repo", "https://github.com/org/repo.git"),
            ("org/repo", "git@github.com:org/repo.git"),
            ("org/repo", "ssh://git@other.example.com:2222/org/repo"),
            ("group/sub/repo", "https://gitlab.example.com/group/sub/repo/"),
            ("KEY/slug", "https://bitbucket.example.com/scm/key/slug.git"),
            ("org/project/_git/repo", "git@ssh.dev.azure.com:v3/org/project/repo"),
            ("org/repo", "https://mirror.example.com/git/org/repo.git"),
        ] {
            assert!(is_same(path, url), "{path} {url}");
        }
        for (path, url) in [
            ("org/other", "https://github.com/org/repo.git"),
            ("repo2", "https://github.com/org/repo.git"),
            ("evil/org/repo", "https://github.com/org/repo.git"),
            ("", "https://github.com/org/repo.git"),
        ] {
            assert!(!is_same(path, url), "{path} {url}");
        }
    }
}

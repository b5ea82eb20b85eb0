//! Prints a remedy with the flags of the command line. The operator prints fields of the spec.
//!
//! Long: one entry per remedy.

use stoker_api::remedy::Remedy;

/// Returns what to do next, in one line.
#[expect(clippy::too_many_lines, reason = "a registry: one sentence per remedy")]
pub(crate) fn hint(remedy: &Remedy) -> String {
    match remedy {
        Remedy::Step(words) => words.to_string(),
        Remedy::GiveToken => "give a token with --token-file".to_owned(),
        Remedy::GiveSshKey => "give a key with --ssh-key-file and --known-hosts-file".to_owned(),
        Remedy::GiveCredential => {
            "give a token with --token-file FILE (and --username NAME where it is not for a \
             forge), or a GitHub App with --github-app-id"
                .to_owned()
        }
        Remedy::GiveCa => {
            "give the CA that signed the server's certificate with --ca-file; if it is the right \
             one, see whether the certificate has expired"
                .to_owned()
        }
        Remedy::GiveCaAsPem => "give certificates as PEM with --ca-file".to_owned(),
        Remedy::UseHttps => {
            "use https://, or accept the risk with --allow-insecure-http".to_owned()
        }
        Remedy::UseHttpsForApi => {
            "use https:// in --github-api-url, or accept the risk with --allow-insecure-http"
                .to_owned()
        }
        Remedy::CheckProxy { proxy, remote } => {
            format!("check --proxy: curl -I -x {proxy} {remote}")
        }
        Remedy::CheckApp => {
            "check that the key is one of the App in --github-app-id, and this machine's clock: \
             date -u"
                .to_owned()
        }
        Remedy::CheckInstallation { api } => format!(
            "check --github-installation-id; and the API, which --github-api-url names: curl -I \
             {api}"
        ),
        Remedy::CheckApi { api } => format!(
            "check --github-api-url; for GitHub Enterprise it is https://HOST/api/v3: curl -I {api}"
        ),
        Remedy::AllowUnreachable => {
            "if you trust that commit, say so with --allow-unreachable".to_owned()
        }
        Remedy::AllowMoreTime => {
            "if the server is only slow, allow more time with --timeout".to_owned()
        }
        Remedy::RaiseStoreLimit => "map less of the repository, or use another --store".to_owned(),
        Remedy::MakeRoomForStore => {
            "make room on its volume: df -h; or use another: --store DIR".to_owned()
        }
        Remedy::WaitForStore => {
            "wait for it with --lock-timeout 5m, or use another --store".to_owned()
        }
        Remedy::UseEmptyStore => "name an empty or a new directory with --store".to_owned(),
        Remedy::CheckStore { path } => format!("use another --store, or: ls -ld {path}"),
        Remedy::RebuildStore => {
            "run it again: the store is rebuilt; or use another --store".to_owned()
        }
        Remedy::AllowGatewayMoreTime => {
            "check the gateway's load and its wrapper.log; one request gets 10 s, or \
             --gateway-timeout where that is less"
                .to_owned()
        }
        Remedy::GiveGatewayCa => {
            "give the gateway's certificate, or that of the authority that signed it, with \
             --gateway-ca-file, and use a host name that it is for; this shows it: openssl \
             s_client -showcerts -connect HOST:8043"
                .to_owned()
        }
        Remedy::WaitForScanLock => {
            "wait for the client that holds it; a lock that a killed run left expires after 60 s \
             at the latest: run the same command again, with --gateway-timeout 90s"
                .to_owned()
        }
    }
}

/// One of each, for tests.
#[cfg(test)]
pub(crate) fn each() -> Vec<Remedy> {
    use stoker_api::word::SafeUrl;
    let url = || SafeUrl::redact("https://host");
    let all = vec![
        Remedy::step("check it"),
        Remedy::GiveToken,
        Remedy::GiveSshKey,
        Remedy::GiveCredential,
        Remedy::GiveCa,
        Remedy::GiveCaAsPem,
        Remedy::UseHttps,
        Remedy::UseHttpsForApi,
        Remedy::CheckProxy { proxy: url(), remote: url() },
        Remedy::CheckApp,
        Remedy::CheckInstallation { api: url() },
        Remedy::CheckApi { api: url() },
        Remedy::AllowUnreachable,
        Remedy::AllowMoreTime,
        Remedy::RaiseStoreLimit,
        Remedy::MakeRoomForStore,
        Remedy::WaitForStore,
        Remedy::UseEmptyStore,
        Remedy::CheckStore { path: "store".to_owned() },
        Remedy::RebuildStore,
        Remedy::AllowGatewayMoreTime,
        Remedy::GiveGatewayCa,
        Remedy::WaitForScanLock,
    ];
    let kinds: std::collections::HashSet<_> = all.iter().map(std::mem::discriminant).collect();
    assert_eq!(kinds.len(), all.len(), "each once");
    all
}

//! How a cluster spells a remedy: with fields of the spec instead of flags.
//!
//! Long: one entry per remedy.

use std::borrow::Cow;
use std::fmt::Display;

use stoker_api::remedy::Remedy;

/// Adds what to do next to a message of a condition or a report. Steps for a shell are left out: what
/// they name is in the pod, where nobody has a shell.
pub fn advised(message: impl Display, remedy: Option<&Remedy>) -> String {
    match remedy {
        Some(Remedy::Step(_) | Remedy::WaitForStore | Remedy::RebuildStore) | None => {
            message.to_string()
        }
        Some(remedy) => format!("{message}; {}", in_cluster(remedy)),
    }
}

fn in_cluster(remedy: &Remedy) -> Cow<'static, str> {
    match remedy {
        Remedy::Step(words) => words.clone(),
        Remedy::GiveToken => "set spec.git.auth.token".into(),
        Remedy::GiveSshKey => "set spec.git.auth.sshKey, with knownHosts".into(),
        Remedy::GiveCredential => "set spec.git.auth".into(),
        Remedy::GiveCa => {
            "set spec.git.caSecretRef to the CA that signed the server's certificate; if it is the \
             right one, check whether the certificate has expired"
                .into()
        }
        Remedy::GiveCaAsPem => "put certificates in PEM form into spec.git.caSecretRef".into(),
        Remedy::UseHttps => {
            "use https:// in spec.git.repo, or accept the risk with spec.git.allowInsecureHTTP"
                .into()
        }
        Remedy::UseHttpsForApi => {
            "use https:// in spec.git.auth.githubApp.apiBaseURL, or accept the risk with \
             spec.git.allowInsecureHTTP"
                .into()
        }
        Remedy::CheckProxy { proxy, remote } => {
            format!("check spec.git.proxy: curl -I -x {proxy} {remote}").into()
        }
        Remedy::CheckApp => {
            "check that the key is one of the App in spec.git.auth.githubApp.appId, and the clocks \
             of the nodes"
                .into()
        }
        Remedy::CheckInstallation { api } => {
            format!("check spec.git.auth.githubApp.installationId and apiBaseURL: curl -I {api}")
                .into()
        }
        Remedy::CheckApi { api } => format!(
            "check spec.git.auth.githubApp.apiBaseURL; for GitHub Enterprise it is \
             https://HOST/api/v3: curl -I {api}"
        )
        .into(),
        Remedy::AllowUnreachable => {
            "use a commit that a branch or a tag of the repository reaches".into()
        }
        Remedy::AllowMoreTime => "if the server is only slow, raise spec.git.timeout".into(),
        Remedy::RaiseStoreLimit => {
            "raise the limit of the object store, or map less of the repository".into()
        }
        Remedy::MakeRoomForStore => "make room on the node's disk".into(),
        Remedy::WaitForStore | Remedy::RebuildStore => "nothing: it is tried again".into(),
        Remedy::UseEmptyStore | Remedy::CheckStore { .. } => {
            "restart the pod: its object store is made again".into()
        }
        Remedy::AllowGatewayMoreTime => "look at the gateway's load and its wrapper.log".into(),
        Remedy::GiveGatewayCa => {
            "give the gateway a certificate that is trusted, and use a host name that it is for"
                .into()
        }
        Remedy::WaitForScanLock => {
            "wait for the client that holds it; a lock that a killed run left expires after 60 s"
                .into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_has_no_flags() {
        let api = stoker_api::word::SafeUrl::from(
            &stoker_api::word::HttpUrl::parse("https://api.github.com").unwrap(),
        );
        for remedy in [
            Remedy::GiveToken,
            Remedy::GiveCa,
            Remedy::UseHttpsForApi,
            Remedy::CheckInstallation { api },
            Remedy::AllowMoreTime,
            Remedy::WaitForStore,
            Remedy::WaitForScanLock,
        ] {
            let words = in_cluster(&remedy);
            assert!(!words.contains("--") && !words.is_empty(), "{words}");
        }
    }

    #[test]
    fn a_field_of_the_spec_is_named_and_a_step_for_a_shell_is_not() {
        let advice = advised("refused", Some(&Remedy::GiveToken));
        assert_eq!(advice, "refused; set spec.git.auth.token");
        assert_eq!(advised("refused", Some(&Remedy::step("ls -l key"))), "refused");
        assert_eq!(advised("refused", None), "refused");
    }
}

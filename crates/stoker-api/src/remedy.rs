//! What a user can do about an error, as data.
//!
//! An edge knows what helps, not how its caller spells it. So an edge returns a [`Remedy`], and the
//! program prints it: the command line with its flags, the operator with fields of the spec.

use std::borrow::Cow;

use crate::word::SafeUrl;

/// What a user can do about an error.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "a field is named after what it holds")]
pub enum Remedy {
    /// Something that does not depend on the program: one sentence, perhaps a command to paste.
    Step(Cow<'static, str>),
    /// Give a token for the repository.
    GiveToken,
    /// Give an SSH key, and the host keys to verify.
    GiveSshKey,
    /// Give any credential that fits the repository.
    GiveCredential,
    /// Give the CA that signed the server's certificate.
    GiveCa,
    /// Give the CA's certificates in PEM form.
    GiveCaAsPem,
    /// Use `https://` for the repository, or allow credentials over plain HTTP.
    UseHttps,
    /// Use `https://` for the GitHub API, or allow credentials over plain HTTP.
    UseHttpsForApi,
    /// Check the proxy.
    CheckProxy { proxy: SafeUrl, remote: SafeUrl },
    /// Check the id of the GitHub App, its key and the clock.
    CheckApp,
    /// Check the id of the App's installation and the address of the API.
    CheckInstallation { api: SafeUrl },
    /// Check the address of the GitHub API.
    CheckApi { api: SafeUrl },
    /// Allow a commit that no branch and no tag reaches.
    AllowUnreachable,
    /// Allow one git operation more time.
    AllowMoreTime,
    /// Raise the limit of the object store, or map less.
    RaiseStoreLimit,
    /// Make room on the volume of the object store, or use another one.
    MakeRoomForStore,
    /// Wait longer for the object store, or use another one.
    WaitForStore,
    /// Use an empty or a new directory for the object store.
    UseEmptyStore,
    /// Use another directory for the object store, or check this one.
    CheckStore { path: String },
    /// Run again: the object store is rebuilt. Or use another one.
    RebuildStore,
    /// Look at the gateway's load; allow it more time.
    AllowGatewayMoreTime,
    /// Give the gateway's certificate, or that of the authority that signed it.
    GiveGatewayCa,
    /// Wait until the scan lock is released or expires; allow the gateway more time.
    WaitForScanLock,
}

impl Remedy {
    /// Returns a step that does not depend on the program.
    pub fn step(words: impl Into<Cow<'static, str>>) -> Self {
        Self::Step(words.into())
    }
}

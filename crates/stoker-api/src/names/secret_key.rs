//! Keys inside a user's Secrets that are meant where a reference names none.

use crate::registry::registry;

registry! {
    /// The default key of a Secret reference.
    pub enum SecretKey {
        /// `git.auth.sshKey.secretRef`: the private key.
        SshPrivateKey = "ssh-privatekey",
        /// `git.auth.sshKey.knownHosts.secretRef`: the host keys to trust.
        KnownHosts = "known_hosts",
        /// `git.auth.token.secretRef`: the token.
        Token = "token",
        /// `git.auth.githubApp.privateKeySecretRef`: the private key of the GitHub App.
        GithubAppKey = "private-key.pem",
        /// `git.caSecretRef`: the certificates to trust.
        Ca = "ca.crt",
        /// `gateway.api.secretKey` and `gateway.apiKeySecretRef`: the API key of the gateway.
        ApiKey = "apiKey",
        /// `webhook.secretRef` and `webhook.previousSecretRef`: what push events are signed with.
        HmacKey = "hmac-key",
    }
}

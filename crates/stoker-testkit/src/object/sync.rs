//! GatewaySync objects.

use stoker_api::GatewaySync;
use stoker_api::gatewaysync::{
    Auth, GatewayApi, GatewaySyncSpec, Git, GithubApp, KnownHosts, Overrides, Profile, SecretRef,
    SshKey, Token,
};
use stoker_api::names::Annotation;
use stoker_api::word::ProfileName;

use super::profile::mapping;

/// Builds a GatewaySync.
#[derive(Clone, Debug)]
pub struct GatewaySyncBuilder(GatewaySync);

/// Starts a GatewaySync that wants `main` of a public repository and has no profile yet.
pub fn gateway_sync(name: &str) -> GatewaySyncBuilder {
    let git = Git {
        repo: "https://git.example.com/plant.git".to_owned(),
        git_ref: "main".to_owned(),
        ..Git::default()
    };
    GatewaySyncBuilder(GatewaySync::new(
        name,
        GatewaySyncSpec { git, ..GatewaySyncSpec::default() },
    ))
}

impl GatewaySyncBuilder {
    /// Puts it into a namespace.
    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Self {
        self.0.metadata.namespace = Some(namespace.to_owned());
        self
    }

    /// Takes files from this repository.
    #[must_use]
    pub fn repo(self, url: &str) -> Self {
        self.spec(|spec| url.clone_into(&mut spec.git.repo))
    }

    /// Wants this ref.
    #[must_use]
    pub fn git_ref(self, name: &str) -> Self {
        self.spec(|spec| name.clone_into(&mut spec.git.git_ref))
    }

    /// Adds a mapping to the profile named `default`.
    #[must_use]
    pub fn mapping(self, source: &str, destination: &str) -> Self {
        self.spec(|spec| {
            let profiles = &mut spec.sync.get_or_insert_default().profiles;
            let profile = profiles.entry(ProfileName::DEFAULT.to_owned()).or_default();
            profile.mappings.push(mapping(source, destination));
        })
    }

    /// Adds or replaces a profile.
    #[must_use]
    pub fn profile(self, name: &str, profile: impl Into<Profile>) -> Self {
        self.spec(|spec| {
            let profiles = &mut spec.sync.get_or_insert_default().profiles;
            profiles.insert(name.to_owned(), profile.into());
        })
    }

    /// Sets what counts for every profile.
    #[must_use]
    pub fn defaults(self, change: impl FnOnce(&mut Overrides)) -> Self {
        self.spec(|spec| change(spec.sync.get_or_insert_default().defaults.get_or_insert_default()))
    }

    /// Pauses syncing.
    #[must_use]
    pub fn paused(self) -> Self {
        self.spec(|spec| spec.paused = Some(true))
    }

    /// Authenticates by the token in this Secret.
    #[must_use]
    pub fn token(self, secret: &str) -> Self {
        let token = Token { secret_ref: reference(secret), ..Token::default() };
        self.auth(Auth { token: Some(token), ..Auth::default() })
    }

    /// Authenticates by the SSH key in one Secret, and trusts the host keys in another.
    #[must_use]
    pub fn ssh_key(self, secret: &str, known_hosts: Option<&str>) -> Self {
        let known_hosts = known_hosts.map(|name| KnownHosts { secret_ref: reference(name) });
        let ssh_key = SshKey { secret_ref: reference(secret), known_hosts };
        self.auth(Auth { ssh_key: Some(ssh_key), ..Auth::default() })
    }

    /// Authenticates as a GitHub App whose private key is in this Secret.
    #[must_use]
    pub fn github_app(self, (app_id, installation_id): (i64, i64), secret: &str) -> Self {
        let private_key_secret_ref = reference(secret);
        let app =
            GithubApp { app_id, installation_id, private_key_secret_ref, ..GithubApp::default() };
        self.auth(Auth { github_app: Some(app), ..Auth::default() })
    }

    /// Asks the remote this often, as in `5s`.
    #[must_use]
    pub fn polling(self, interval: &str) -> Self {
        self.spec(|spec| {
            spec.polling.get_or_insert_default().interval = Some(interval.to_owned());
        })
    }

    /// Asks the remote only when pushed to.
    #[must_use]
    pub fn without_polling(self) -> Self {
        self.spec(|spec| spec.polling.get_or_insert_default().enabled = Some(false))
    }

    /// Reaches gateways on this port, without TLS.
    #[must_use]
    pub fn gateway_port(self, port: u16) -> Self {
        self.spec(|spec| {
            let gateway = spec.gateway.get_or_insert_default();
            (gateway.port, gateway.tls) = (Some(port.into()), Some(false));
        })
    }

    /// Asks gateways to scan with the API key in this Secret.
    #[must_use]
    pub fn api_key(self, secret: &str) -> Self {
        let api = GatewayApi { secret_name: secret.to_owned(), ..GatewayApi::default() };
        self.spec(|spec| spec.gateway.get_or_insert_default().api = Some(api))
    }

    /// Takes push events signed with what is in this Secret.
    #[must_use]
    pub fn webhook(self, secret: &str) -> Self {
        self.spec(|spec| {
            spec.webhook.get_or_insert_default().secret_ref = Some(reference(secret));
        })
    }

    /// Annotates the object.
    #[must_use]
    pub fn annotation(mut self, annotation: Annotation, value: &str) -> Self {
        super::put(&mut self.0.metadata.annotations, annotation.as_str(), value);
        self
    }

    /// Sets whatever has no verb of its own.
    #[must_use]
    pub fn spec(mut self, change: impl FnOnce(&mut GatewaySyncSpec)) -> Self {
        change(&mut self.0.spec);
        self
    }

    /// Returns the object.
    pub fn build(self) -> GatewaySync {
        self.0
    }

    fn auth(self, auth: Auth) -> Self {
        self.spec(|spec| spec.git.auth = Some(auth))
    }
}

fn reference(secret: &str) -> SecretRef {
    SecretRef { name: secret.to_owned(), ..SecretRef::default() }
}

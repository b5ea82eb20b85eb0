//! The webhook, as the API server is told to call it.

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, WebhookClientConfig,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::Api;
use kube::client::Client;

use crate::check::handshake;

/// What a webhook configuration says.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Webhook {
    /// The namespaces that it serves; none where that is not known.
    pub(crate) selector: Option<LabelSelector>,
    /// Where it listens; none where that is not known.
    address: Option<Address>,
    /// The CAs that the API server trusts.
    bundle: Vec<u8>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Address {
    host: String,
    port: u16,
}

impl Webhook {
    /// Reads the webhook with this path from the configuration with this name. Where either is not
    /// known, everything is assumed to work.
    pub(crate) async fn read(
        client: &Client,
        name: Option<&str>,
        path: &str,
    ) -> kube::Result<Self> {
        let Some(name) = name else { return Ok(Self::default()) };
        let api: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
        let webhooks = api.get(name).await?.webhooks.unwrap_or_default();
        let mut webhooks = webhooks.into_iter();
        let found =
            webhooks.find(|webhook| path_of(&webhook.client_config).as_deref() == Some(path));
        Ok(found.map_or_else(Self::default, |webhook| Self {
            address: Address::of(&webhook.client_config),
            bundle: webhook.client_config.ca_bundle.map(|bundle| bundle.0).unwrap_or_default(),
            selector: webhook.namespace_selector,
        }))
    }

    /// Says whether the API server can call it: it answers, with a certificate that its
    /// configuration trusts. An address that is not known counts as one that works.
    pub(crate) async fn works(&self) -> bool {
        let Some(Address { host, port }) = &self.address else { return true };
        handshake::check_at(host, *port, host, &self.bundle).await.is_ok()
    }
}

impl Address {
    fn of(config: &WebhookClientConfig) -> Option<Self> {
        if let Some(service) = &config.service {
            let host = format!("{}.{}.svc", service.name, service.namespace);
            let port = u16::try_from(service.port.unwrap_or(443)).ok()?;
            return Some(Self { host, port });
        }
        let uri: hyper::Uri = config.url.as_ref()?.parse().ok()?;
        let host = uri.host()?.trim_matches(['[', ']']).to_owned();
        Some(Self { host, port: uri.port_u16().unwrap_or(443) })
    }
}

fn path_of(config: &WebhookClientConfig) -> Option<String> {
    if let Some(service) = &config.service {
        return service.path.clone();
    }
    let uri: hyper::Uri = config.url.as_ref()?.parse().ok()?;
    Some(uri.path().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_address_is_that_of_the_service_or_of_the_url() {
        let address = |config| Address::of(&serde_json::from_value(config).unwrap());
        let of = |host: &str, port| Some(Address { host: host.to_owned(), port });
        let service = json!({ "name": "webhook", "namespace": "stoker" });
        assert_eq!(address(json!({ "service": service })), of("webhook.stoker.svc", 443));
        assert_eq!(address(json!({ "url": "https://127.0.0.1:9443/x" })), of("127.0.0.1", 9443));
        assert_eq!(address(json!({ "url": "https://[::1]/x" })), of("::1", 443));
        assert_eq!(address(json!({})), None);
    }
}

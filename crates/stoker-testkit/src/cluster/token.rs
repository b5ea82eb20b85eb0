//! Tokens of service accounts, bound to a pod as those that the kubelet mounts.

use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::api::{Api, PostParams};
use kube::config::AuthInfo;

use super::{Cluster, Namespace, client_from};

impl Cluster {
    /// Returns a token of a service account that is valid for ten minutes and only as long as the
    /// pod exists.
    ///
    /// # Panics
    /// When account or pod does not exist.
    pub async fn pod_token(&self, namespace: &Namespace<'_>, account: &str, pod: &str) -> String {
        let client = self.client().await;
        let pods = Api::<Pod>::namespaced(client.clone(), namespace.name());
        let found = pods.get_metadata(pod).await.expect("the pod exists");
        let bound = BoundObjectReference {
            api_version: Some("v1".to_owned()),
            kind: Some("Pod".to_owned()),
            name: Some(pod.to_owned()),
            uid: found.metadata.uid,
        };
        let spec = TokenRequestSpec {
            audiences: Vec::new(),
            bound_object_ref: Some(bound),
            expiration_seconds: Some(600),
        };
        let request = TokenRequest { spec, ..TokenRequest::default() };
        let accounts = Api::<ServiceAccount>::namespaced(client, namespace.name());
        let post = PostParams::default();
        let response = accounts.create_token_request(account, &post, &request).await;
        response.expect("the service account exists").status.expect("a response has a token").token
    }

    /// Client configuration that has a bearer token instead of a certificate.
    pub async fn config_with_token(&self, token: &str) -> kube::Config {
        let mut config = self.config().await;
        config.auth_info = AuthInfo { token: Some(token.to_owned().into()), ..AuthInfo::default() };
        config
    }

    /// A client that has a bearer token instead of a certificate.
    pub async fn client_with_token(&self, token: &str) -> kube::Client {
        client_from(self.config_with_token(token).await)
    }
}

//! Users with limited rights, one call away.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use k8s_openapi::api::rbac::v1::{PolicyRule, Role, RoleBinding, RoleRef, Subject};
use kube::api::{Api, ObjectMeta, PostParams};

use super::{Cluster, Identity, Namespace, Pki, client_from, config_from};

/// A user who may do in one namespace exactly what the rules say, and nothing elsewhere.
#[derive(Debug)]
pub struct User {
    name: String,
    kubeconfig: PathBuf,
    kubectl: PathBuf,
}

impl Cluster {
    /// Makes a user with a client certificate, a role and its binding.
    pub async fn user(&self, namespace: &Namespace<'_>, rules: Vec<PolicyRule>) -> User {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("user-{}-{number}", std::process::id());
        let identity = Identity { user: &name, group: None };
        let server = self.config().await.cluster_url.to_string();
        let kubeconfig = Pki::open(&self.directory().join("pki"))
            .kubeconfig(&name, identity, &server)
            .expect("the authority's key is in the cluster's directory");
        bind(&self.client().await, namespace.name(), &name, rules).await;
        User { name, kubeconfig, kubectl: self.kubectl.clone() }
    }
}

impl User {
    /// The user name, as audit logs and RBAC see it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A kubeconfig with this user's certificate.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// `kubectl` with this user's rights.
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new(&self.kubectl);
        command.arg("--kubeconfig").arg(&self.kubeconfig);
        command
    }

    /// A client with this user's rights.
    pub async fn client(&self) -> kube::Client {
        client_from(config_from(&self.kubeconfig).await)
    }
}

async fn bind(client: &kube::Client, namespace: &str, user: &str, allowed: Vec<PolicyRule>) {
    let metadata = || ObjectMeta { name: Some(user.to_owned()), ..ObjectMeta::default() };
    let role = Role { metadata: metadata(), rules: Some(allowed) };
    let binding = RoleBinding {
        metadata: metadata(),
        role_ref: RoleRef {
            api_group: "rbac.authorization.k8s.io".to_owned(),
            kind: "Role".to_owned(),
            name: user.to_owned(),
        },
        subjects: Some(vec![Subject {
            kind: "User".to_owned(),
            name: user.to_owned(),
            ..Subject::default()
        }]),
    };
    let post = PostParams::default();
    let roles = Api::<Role>::namespaced(client.clone(), namespace);
    roles.create(&post, &role).await.expect("an administrator may create roles");
    let bindings = Api::<RoleBinding>::namespaced(client.clone(), namespace);
    bindings.create(&post, &binding).await.expect("an administrator may bind roles");
}

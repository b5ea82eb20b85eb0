//! The namespaces that a command looks at.

use kube::api::Api;
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};

use super::ClusterArguments;
use crate::cluster::Cluster;

/// A cluster, and one namespace of it or all of them.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ScopeArguments {
    #[command(flatten)]
    pub(crate) cluster: ClusterArguments,
    /// All namespaces
    #[arg(short = 'A', long, conflicts_with = "namespace", help_heading = "Cluster")]
    pub(crate) all_namespaces: bool,
}

impl ScopeArguments {
    /// Returns the namespace; none means all of them.
    pub(crate) fn namespace<'a>(&self, cluster: &'a Cluster) -> Option<&'a str> {
        (!self.all_namespaces).then_some(&*cluster.namespace)
    }
}

/// Returns the objects of a namespace, or of all of them.
pub(crate) fn api<K>(client: &Client, namespace: Option<&str>) -> Api<K>
where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

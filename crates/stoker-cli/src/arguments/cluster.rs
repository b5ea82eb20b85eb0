//! The cluster that a command talks to, and the namespaces that it reads.

use kube::api::Api;
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};

use crate::cluster::Cluster;

/// Flags that say which cluster, and which namespace of it.
#[derive(Debug, Clone, clap::Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ClusterArguments {
    /// Context of the kubeconfig [default: the current one]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// Namespace [default: that of the context]
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
}

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

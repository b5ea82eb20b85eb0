//! The PodBootstrap resource: the registry and the certificates that every pod of a cluster needs.

#![expect(clippy::duplicated_attributes, reason = "columns of one table look alike")]

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector};
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limit;
use crate::registry::registry_in_json;
use crate::rule;
use crate::schema;

/// The PodBootstrap that counts.
pub const POLICY_NAME: &str = "default";

/// PodBootstrap adapts the pods of a cluster at their creation.
///
/// It rewrites the registries of images, adds a pull secret, mounts certificates and sets
/// variables. Only the one named `default` counts.
#[derive(CustomResource, JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[kube(
    group = "stoker.io",
    version = "v1alpha1",
    kind = "PodBootstrap",
    plural = "podbootstraps",
    shortname = "pb",
    category = "stoker",
    status = "PodBootstrapStatus",
    derive = "PartialEq",
    doc = "PodBootstrap adapts the pods of a cluster at their creation: it rewrites the registries of images, adds a pull secret, mounts certificates and sets variables. Only the one named `default` counts.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status",
        description = "Whether the policy is in force"
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].reason",
        description = "Why it is, or is not"
    ),
    printcolumn(name = "Namespaces", type_ = "integer", json_path = ".status.namespaces"),
    printcolumn(name = "Current", type_ = "integer", json_path = ".status.pods.current"),
    printcolumn(name = "Missed", type_ = "integer", json_path = ".status.pods.missed"),
    printcolumn(name = "Stale", type_ = "integer", json_path = ".status.pods.stale", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase")]
pub struct PodBootstrapSpec {
    /// Registries to pull from instead of others. The longest `from` that matches whole components
    /// of an image's name is used. `nginx` counts as `docker.io/library/nginx`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limit::REGISTRIES))]
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["from"]
    ))]
    pub registries: Vec<Registry>,

    /// The Secret that images of the mapped registries are pulled with. It is copied to every
    /// namespace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_secret: Option<PullSecret>,

    /// Certificates that every container is to trust. They are copied to every namespace and
    /// mounted into every container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<CaBundle>,

    /// Variables for every container that does not set them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limit::BOOTSTRAP_ENV))]
    #[schemars(extend(
        "x-kubernetes-list-type" = "map",
        "x-kubernetes-list-map-keys" = ["name"]
    ))]
    pub env: Vec<Variable>,

    /// Pods that are left alone, unless they or their namespace ask for bootstrap by annotation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude: Option<Exclude>,

    /// What happens to pods that were created without this policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub housekeeping: Option<Housekeeping>,
}

/// A registry to pull from instead of another.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Registry {
    /// A registry, or a registry and the first components of a path, such as `docker.io` or
    /// `ghcr.io/acme`.
    #[schemars(length(min = 1, max = 255))]
    #[schemars(extend("x-kubernetes-validations" = rule::registry_prefix("registries[].from")))]
    pub from: String,

    /// What replaces it, such as `registry.plant.example/dockerhub`.
    #[schemars(length(min = 1, max = 255))]
    #[schemars(extend("x-kubernetes-validations" = rule::registry_prefix("registries[].to")))]
    pub to: String,
}

/// The Secret that images are pulled with.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct PullSecret {
    /// The name of the Secret. Its copies have the same name.
    #[schemars(length(min = 1, max = limit::OBJECT_NAME))]
    #[schemars(extend("x-kubernetes-validations" = rule::object_name()))]
    pub name: String,

    /// The namespace of the Secret.
    #[schemars(length(min = 1, max = limit::NAMESPACE))]
    #[schemars(extend("x-kubernetes-validations" = rule::namespace_name("pullSecret.sourceNamespace")))]
    pub source_namespace: String,
}

/// Certificates that every container is to trust.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct CaBundle {
    /// Where the certificates come from.
    #[schemars(extend("x-kubernetes-validations" = rule::ca_source()))]
    pub source: CaSource,

    /// The directory of the certificates in every container. It must not be one that images have.
    /// The default is `/etc/stoker/ca`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 2, max = 255))]
    #[schemars(extend("x-kubernetes-validations" = rule::mount_path()))]
    pub mount_path: Option<String>,

    /// Variables that get the path of the certificates, where the container has not set them, such
    /// as `SSL_CERT_FILE`. `NODE_EXTRA_CA_CERTS` gets the certificates of `source` alone, because
    /// it adds to the public roots.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limit::BOOTSTRAP_ENV), inner(length(min = 1, max = 128)))]
    #[schemars(extend(
        "x-kubernetes-list-type" = "set",
        "x-kubernetes-validations" = rule::variable_names("caBundle.env")
    ))]
    pub env: Vec<String>,

    /// Whether the file for `SSL_CERT_FILE` and the like holds the public root certificates, too.
    /// The default is true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_public_roots: Option<bool>,
}

/// Where certificates come from: exactly one of the two.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct CaSource {
    /// A key of a ConfigMap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_map: Option<ConfigMapKey>,

    /// A ClusterTrustBundle, where the cluster has this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = rule::trust_bundle()))]
    pub cluster_trust_bundle: Option<TrustBundle>,
}

/// A key of a ConfigMap.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapKey {
    /// The namespace of the ConfigMap.
    #[schemars(length(min = 1, max = limit::NAMESPACE))]
    #[schemars(extend("x-kubernetes-validations" = rule::namespace_name("caBundle.source.configMap.namespace")))]
    pub namespace: String,

    /// The name of the ConfigMap.
    #[schemars(length(min = 1, max = limit::OBJECT_NAME))]
    #[schemars(extend("x-kubernetes-validations" = rule::object_name()))]
    pub name: String,

    /// The key in the ConfigMap. The default is `ca.crt`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limit::DATA_KEY))]
    #[schemars(extend("x-kubernetes-validations" = rule::data_key()))]
    pub key: Option<String>,
}

/// A ClusterTrustBundle: by its name, or all of a signer.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct TrustBundle {
    /// The name of one ClusterTrustBundle.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limit::OBJECT_NAME))]
    pub name: Option<String>,

    /// The signer whose ClusterTrustBundles are joined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 571))]
    pub signer_name: Option<String>,
}

/// A variable.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Variable {
    /// The name of the variable.
    #[schemars(length(min = 1, max = 128))]
    #[schemars(extend("x-kubernetes-validations" = rule::variable_name("env[].name")))]
    pub name: String,

    /// Its value. Kubernetes does not expand `$(…)` in it.
    #[serde(default)]
    #[schemars(length(max = limit::VAR_VALUE))]
    pub value: String,
}

/// Pods that are left alone.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Exclude {
    /// Namespaces whose pods are left alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limit::EXCLUDED_NAMESPACES), inner(length(min = 1, max = limit::NAMESPACE)))]
    #[schemars(extend("x-kubernetes-list-type" = "set"))]
    pub namespaces: Vec<String>,

    /// Labels of pods that are left alone. An empty selector selects none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::label_selector")]
    pub pod_selector: Option<LabelSelector>,
}

/// What happens to pods that were created without this policy.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Housekeeping {
    /// What happens to pods that were created while the webhook was away, or before the policy:
    /// `off`, `report` or `evict`. The default is `report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<HousekeepingMode>,

    /// How many pods are evicted in a minute at most. The default is 5.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 600))]
    pub max_per_minute: Option<i32>,

    /// What happens to pods of an older version of this policy: `report` or `evict`. The default is
    /// `report`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_change: Option<OnChange>,
}

registry_in_json! {
    /// What happens to pods that bootstrap missed.
    pub enum HousekeepingMode {
        /// They are not looked for.
        Off = "off",
        /// They are counted and listed.
        Report = "report",
        /// They are evicted, so that their owners create them again.
        Evict = "evict",
    }
}

registry_in_json! {
    /// What happens to pods of an older policy.
    pub enum OnChange {
        /// They are counted and listed.
        Report = "report",
        /// They are evicted, so that their owners create them again.
        Evict = "evict",
    }
}

/// What the controller observed.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct PodBootstrapStatus {
    /// The generation of the spec that this status describes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,

    /// The mark that pods of this policy get: the value of `stoker.io/bootstrapped`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,

    /// How many namespaces hold copies of the pull secret and of the certificates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub namespaces: Option<i32>,

    /// How many pods are current, missed, stale or opted out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pods: Option<PodCounts>,

    /// The conditions: `Ready`, `SecretsReplicated`, `PodsCurrent`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::conditions")]
    pub conditions: Vec<Condition>,
}

/// How many pods are in which state.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, Copy, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase", default)]
pub struct PodCounts {
    /// Pods that carry the mark of this policy.
    pub current: i32,
    /// Pods without a mark: they were created while the webhook was away, or before the policy.
    pub missed: i32,
    /// Pods with the mark of an older policy.
    pub stale: i32,
    /// Pods that opted out, or that the policy excludes.
    pub opted_out: i32,
}

impl CaBundle {
    /// The directory of the certificates where nothing is set.
    pub const DEFAULT_MOUNT_PATH: &str = "/etc/stoker/ca";
}

impl ConfigMapKey {
    /// The key where nothing is set.
    pub const DEFAULT_KEY: &str = "ca.crt";
}

impl Housekeeping {
    /// How many pods are evicted in a minute where nothing is set.
    pub const DEFAULT_MAX_PER_MINUTE: i32 = 5;
}

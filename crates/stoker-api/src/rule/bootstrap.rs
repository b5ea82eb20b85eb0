//! Rules about PodBootstrap.

use serde_json::Value;

use super::{rule, rules};

/// A registry, or a registry and components of a path.
const PREFIX: &str = r"^([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*|\[[0-9a-fA-F:]+\])(:[0-9]+)?(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$";
const VARIABLE: &str = r"^[A-Za-z_][A-Za-z0-9_]*$";

pub(crate) fn registry_prefix(field: &str) -> Value {
    rules([
        (
            format!("self.matches(r'{PREFIX}')"),
            format!(
                "{field} must be a registry and the first components of a path, such as ghcr.io/acme: remove scheme, tag and digest"
            ),
        ),
        (
            "self.split('/')[0].contains('.') || self.split('/')[0].contains(':') || self.split('/')[0] == 'localhost'".to_owned(),
            format!("{field} must begin with a registry, such as docker.io: add it"),
        ),
    ])
}

pub(crate) fn namespace_name(field: &str) -> Value {
    rules([(
        "self.matches(r'^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')".to_owned(),
        format!("{field} must be the name of a namespace: lower-case letters, digits and \"-\""),
    )])
}

pub(crate) fn ca_source() -> Value {
    rules([rule(
        "has(self.configMap) != has(self.clusterTrustBundle)",
        "caBundle.source needs exactly one of configMap and clusterTrustBundle",
    )])
}

pub(crate) fn trust_bundle() -> Value {
    rules([rule(
        "has(self.name) != has(self.signerName)",
        "caBundle.source.clusterTrustBundle needs exactly one of name and signerName",
    )])
}

/// Directories that images have are refused: the mount would hide their content.
pub(crate) fn mount_path() -> Value {
    rules([
        rule(
            r"self.matches(r'^(/[A-Za-z0-9_-][A-Za-z0-9._-]*){2,}$')",
            "caBundle.mountPath must be an absolute path of at least two components, such as /etc/stoker/ca",
        ),
        rule(
            r"!self.matches(r'^(/etc/(ssl|pki|ca-certificates)(/.*)?|/usr/(bin|sbin|lib|lib64|libexec|share|local|include)(/(bin|lib|sbin|share|share/ca-certificates|local/share/ca-certificates))?|/(bin|sbin|lib|lib64|proc|sys|dev|boot)/.*|/var/(lib|run|log|cache|tmp)|/run/secrets.*|/var/run/secrets.*)$')",
            "caBundle.mountPath must not be a directory that images have, because the mount would hide its files: choose one of its own, such as /etc/stoker/ca",
        ),
    ])
}

pub(crate) fn variable_name(field: &str) -> Value {
    rules([(
        format!("self.matches(r'{VARIABLE}')"),
        format!("{field} must be a variable: letters, digits and \"_\", not first a digit"),
    )])
}

pub(crate) fn variable_names(field: &str) -> Value {
    rules([(
        format!("self.all(name, name.matches(r'{VARIABLE}'))"),
        format!("{field} must hold variables: letters, digits and \"_\", not first a digit"),
    )])
}

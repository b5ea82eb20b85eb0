//! Claims about the types of a GatewaySync.

use serde_json::json;

use super::*;
use crate::crd;

fn spec(value: serde_json::Value) -> GatewaySyncSpec {
    serde_json::from_value(value).unwrap()
}

#[test]
fn the_smallest_spec_is_read_and_printed_without_additions() {
    let smallest = json!({ "git": { "repo": "https://host/x", "ref": "main" } });
    assert_eq!(serde_json::to_value(spec(smallest.clone())).unwrap(), smallest);
}

#[test]
fn either_spelling_of_the_api_key_means_the_same() {
    let one: Gateway = serde_json::from_value(json!({ "api": { "secretName": "key" } })).unwrap();
    let other: Gateway =
        serde_json::from_value(json!({ "apiKeySecretRef": { "name": "key" } })).unwrap();
    assert_eq!(one.api_key(), other.api_key());
    assert_eq!(one.api_key().unwrap().key, "apiKey");
}

#[test]
fn keys_of_secrets_have_the_usual_defaults() {
    let auth = |value| serde_json::from_value::<Auth>(value).unwrap();
    let ssh = auth(
        json!({ "sshKey": { "secretRef": { "name": "s" }, "knownHosts": { "secretRef": { "name": "k" } } } }),
    );
    let reference =
        |name: &str, key: &str| ResolvedSecretRef { name: name.into(), key: key.into() };
    assert_eq!(
        ssh.method(),
        Some(AuthMethod::SshKey {
            key: reference("s", "ssh-privatekey"),
            known_hosts: Some(reference("k", "known_hosts")),
        })
    );
    let token = auth(json!({ "token": { "secretRef": { "name": "t" } } }));
    assert_eq!(
        token.method(),
        Some(AuthMethod::Token { token: reference("t", "token"), username: "x-access-token" })
    );
    assert_eq!(Auth::default().method(), None);
}

#[test]
fn reserved_fields_are_kept_and_named() {
    let git = json!({ "repo": "https://host/x", "ref": "main" });
    let spec = spec(json!({ "git": git, "approval": {}, "futureField": 1 }));
    assert_eq!(spec.reserved.names().collect::<Vec<_>>(), ["approval"]);
}

#[test]
fn the_definitions_carry_nothing_that_an_api_server_warns_of() {
    for definition in crd::all() {
        let text = serde_json::to_string(&definition).unwrap();
        for noise in ["nullable", "uint", "\"default\":", "$ref", "anyOf", "\"title\""] {
            assert!(!text.contains(noise), "{} holds {noise}", definition.spec.names.kind);
        }
    }
}

#[test]
fn every_field_is_explained_in_full_sentences() {
    for definition in crd::all() {
        let mut bare = Vec::new();
        unexplained(&crd::schema(&definition)["properties"]["spec"], "spec", &mut bare);
        assert_eq!(bare, Vec::<String>::new());
    }
}

fn unexplained(schema: &serde_json::Value, path: &str, bare: &mut Vec<String>) {
    let nested = ["items", "additionalProperties"].into_iter().map(|k| &schema[k]);
    nested.filter(|inner| inner.is_object()).for_each(|inner| unexplained(inner, path, bare));
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        let text = inner["description"].as_str().unwrap_or_default();
        if !text.ends_with('.') || text.len() < 20 {
            bare.push(path.clone());
        }
        unexplained(inner, &path, bare);
    }
}

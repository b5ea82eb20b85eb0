use serde_json::json;
use stoker_api::names::Annotation;

use super::*;

fn spec_of<T: serde::Serialize>(object: &T) -> serde_json::Value {
    serde_json::to_value(object).unwrap()["spec"].clone()
}

#[test]
fn a_gateway_sync_says_only_what_was_asked_for() {
    assert_eq!(
        spec_of(&gateway_sync("plant").mapping("projects", "projects").build()),
        json!({
            "git": { "repo": "https://git.example.com/plant.git", "ref": "main" },
            "sync": { "profiles": { "default": { "mappings": [
                { "source": "projects", "destination": "projects" },
            ] } } },
        })
    );
}

#[test]
fn every_verb_of_a_gateway_sync_reaches_its_field() {
    let site = profile().mapping("a", "b").exclude("**/*.bak").var("line", "3");
    let sync = gateway_sync("plant")
        .namespace("ns")
        .repo("ssh://git@host/repo")
        .git_ref("v1")
        .profile("site", site)
        .defaults(|it| it.sync_period = Some(10))
        .ssh_key("key", Some("hosts"))
        .polling("5s")
        .without_polling()
        .gateway_port(8089)
        .api_key("gateway-key")
        .webhook("hook")
        .annotation(Annotation::RequestedRef, "v2")
        .paused()
        .build();
    assert_eq!(
        spec_of(&sync),
        json!({
            "git": {
                "repo": "ssh://git@host/repo",
                "ref": "v1",
                "auth": { "sshKey": {
                    "secretRef": { "name": "key" },
                    "knownHosts": { "secretRef": { "name": "hosts" } },
                } },
            },
            "polling": { "enabled": false, "interval": "5s" },
            "gateway": { "port": 8089, "tls": false, "api": { "secretName": "gateway-key" } },
            "webhook": { "secretRef": { "name": "hook" } },
            "paused": true,
            "sync": {
                "defaults": { "syncPeriod": 10 },
                "profiles": { "site": {
                    "mappings": [{ "source": "a", "destination": "b" }],
                    "excludePatterns": ["**/*.bak"],
                    "vars": { "line": "3" },
                } },
            },
        })
    );
    assert_eq!(sync.metadata.namespace.as_deref(), Some("ns"));
    assert_eq!(sync.metadata.annotations.unwrap()["stoker.io/requested-ref"], "v2");
}

#[test]
fn a_pod_asks_for_an_agent_unless_told_otherwise() {
    let pod = gateway_pod("ignition-0").cr("plant").profile("site").build();
    let expected = [
        ("stoker.io/cr-name", "plant"),
        ("stoker.io/inject", "true"),
        ("stoker.io/profile", "site"),
    ];
    let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(pod.metadata.annotations, Some(BTreeMap::from(expected)));
    let plain = gateway_pod("ignition-0").without_annotation(Annotation::Inject).build();
    assert_eq!(plain.metadata.annotations, Some(BTreeMap::new()));
}

#[test]
fn an_injected_pod_has_its_agent_behind_the_seeding_step() {
    let pod = gateway_pod("ignition-0").seeded().injected().running().build();
    let spec = pod.spec.unwrap();
    let inits: Vec<_> = spec.init_containers.unwrap().into_iter().map(|it| it.name).collect();
    assert_eq!(inits, ["preconfigure", "stoker-agent"]);
    assert_eq!(pod.metadata.labels.unwrap()["stoker.io/agent"], "true");
    assert_eq!(pod.status.unwrap().phase.as_deref(), Some("Running"));
}

#[test]
fn secrets_and_config_maps_hold_what_they_were_given() {
    let secret = secret("git", [("token", "t0ken")]);
    assert_eq!(secret.data.unwrap()["token"].0, b"t0ken");
    let config_map = config_map("meta", [("commit", "abc")]);
    assert_eq!(config_map.data.unwrap()["commit"], "abc");
}

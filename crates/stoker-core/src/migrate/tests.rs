//! What other tools' manifests become.

use serde_json::json;

use super::*;

fn dropped(migration: &Migration) -> Vec<&str> {
    migration.dropped.iter().map(|it| &*it.field).collect()
}

fn git_sync_pod() -> Value {
    json!({
        "kind": "StatefulSet",
        "metadata": {"name": "site", "namespace": "line"},
        "spec": {"template": {"spec": {
            "initContainers": [
                {"name": "seed", "image": "ignition:8.3"},
                {
                    "name": "git-sync",
                    "image": "registry.k8s.io/git-sync/git-sync:v4.4.0",
                    "args": ["--one-time"],
                    "envFrom": [{"configMapRef": {"name": "git-sync-env-site"}}],
                    "volumeMounts": [{"name": "git-secret", "mountPath": "/etc/git-secret"}],
                },
            ],
            "containers": [{"name": "gateway", "image": "ignition:8.3"}],
            "volumes": [{"name": "git-secret", "secret": {
                "secretName": "git-sync-secret",
                "items": [{"key": "ssh-privatekey", "path": "ssh"}],
            }}],
        }}},
    })
}

fn git_sync_map() -> Value {
    json!({
        "kind": "ConfigMap",
        "metadata": {"name": "git-sync-env-site", "namespace": "line"},
        "data": {
            "GITSYNC_REPO": "git@git.example.com:plant.git",
            "GITSYNC_REF": "main",
            "GITSYNC_PERIOD": "30s",
            "GITSYNC_SSH_KNOWN_HOSTS": "false",
            "GITSYNC_DEPTH": "1",
            "SITE_NUMBER": "7",
        },
    })
}

fn mapped() -> Options {
    Options { maps: vec![("projects".into(), "projects".into())], ..Options::default() }
}

#[test]
fn git_sync_becomes_a_gatewaysync_with_its_secret() {
    let migration = migrate(&[git_sync_map(), git_sync_pod()], &mapped()).unwrap();
    let expected = json!({
        "apiVersion": "stoker.io/v1alpha1",
        "kind": "GatewaySync",
        "metadata": {"name": "site", "namespace": "line"},
        "spec": {
            "git": {
                "repo": "git@git.example.com:plant.git",
                "ref": "main",
                "auth": {"sshKey": {
                    "secretRef": {"name": "git-sync-secret", "key": "ssh-privatekey"}}},
            },
            "polling": {"interval": "30s"},
            "sync": {"profiles": {"default": {
                "mappings": [{"source": "projects", "destination": "projects"}]}}},
        },
    });
    assert_eq!(migration.objects, [expected]);
    assert_eq!(dropped(&migration), ["GITSYNC_DEPTH", "GITSYNC_ONE_TIME", "SITE_NUMBER"]);
    // It asks no gateway to load files, and says so.
    let [unset] = &migration.unset[..] else { panic!("{:?}", migration.unset) };
    assert_eq!((&*unset.object, &*unset.field), ("GatewaySync line/site", "spec.gateway.api"));
    let command = &migration.commands[0];
    assert!(command.starts_with("kubectl patch statefulset site -n line --type=strategic -p '"));
    assert!(command.contains(r#""initContainers":[{"$patch":"delete","name":"git-sync"}]"#));
    assert!(command.contains(r#""stoker.io/cr-name":"site""#), "{command}");
}

#[test]
fn git_sync_does_not_say_what_goes_where() {
    let error = migrate(&[git_sync_map()], &Options::default()).unwrap_err();
    assert_eq!(error, Error::NoMappings { object: "ConfigMap line/git-sync-env-site".into() });
    // Without the pod spec nothing is known of Secrets.
    let alone = migrate(&[git_sync_map()], &mapped()).unwrap();
    assert!(alone.objects[0]["spec"]["git"]["auth"].is_null());
}

fn ignition_sync() -> Value {
    json!({
        "apiVersion": "sync.ignition.io/v1alpha1",
        "kind": "IgnitionSync",
        "metadata": {"name": "plant", "namespace": "line", "uid": "1"},
        "spec": {
            "git": {"repo": "https://git.example.com/plant.git", "ref": "2.0.0",
                "auth": {"token": {"secretRef": {"name": "git-token", "key": "token"}}}},
            "storage": {"size": "1Gi"},
            "webhook": {"enabled": true, "port": 8443, "secretRef": {"name": "hook", "key": "k"}},
            "polling": {"enabled": true, "interval": "60s"},
            "gateway": {"port": 8043, "tls": true,
                "apiKeySecretRef": {"name": "api", "key": "apiKey"}},
            "shared": {
                "externalResources": {"enabled": true, "source": "shared/external",
                    "createFallback": true},
                "scripts": {"enabled": true, "source": "shared/scripts",
                    "destPath": "ignition/script-python/exchange"},
                "udts": {"enabled": true, "source": "shared/udts"},
            },
            "additionalFiles": [{"source": "shared/factory.json", "dest": "factory.json",
                "type": "file"}],
            "excludePatterns": ["**/.git/"],
            "siteNumber": "1",
            "bidirectional": {"enabled": false},
            "ignition": {"designerSessionPolicy": "wait"},
            "agent": {"image": {"repository": "ghcr.io/other/agent"}},
        },
    })
}

fn annotated() -> Value {
    json!({
        "kind": "StatefulSet",
        "metadata": {"name": "area1", "namespace": "line"},
        "spec": {"template": {"metadata": {"annotations": {
            "ignition-sync.io/inject": "true",
            "ignition-sync.io/cr-name": "plant",
            "ignition-sync.io/service-path": "services/area1",
            "ignition-sync.io/deployment-mode": "prd",
            "ignition-sync.io/tag-provider": "edge",
            "ignition-sync.io/redundancy-role": "primary",
        }}}},
    })
}

#[test]
fn an_ignitionsync_keeps_what_there_is_and_lists_the_rest() {
    let migration = migrate(&[ignition_sync(), annotated()], &Options::default()).unwrap();
    let spec = &migration.objects[0]["spec"];
    assert_eq!(spec["gateway"]["api"], json!({"secretName": "api", "secretKey": "apiKey"}));
    assert_eq!(spec["sync"]["defaults"]["designerSessionPolicy"], "wait");
    let mappings = spec["sync"]["profiles"]["area1"]["mappings"].as_array().unwrap();
    let pairs: Vec<(&str, &str)> = mappings
        .iter()
        .map(|it| (it["source"].as_str().unwrap(), it["destination"].as_str().unwrap()))
        .collect();
    assert_eq!(
        pairs,
        [
            ("services/area1/projects", "projects"),
            ("services/area1/config/resources/core", "config/resources/core"),
            ("services/area1/config/resources/prd", "config/resources/core"),
            ("shared/external", "config/resources/external"),
            ("shared/factory.json", "factory.json"),
            ("shared/scripts", "projects/area1/ignition/script-python/exchange"),
            ("shared/udts", "config/resources/core/ignition/tag-type-definition/edge"),
        ]
    );
    assert_eq!(
        dropped(&migration),
        [
            "spec.agent.image.repository",
            "spec.bidirectional.enabled",
            "spec.siteNumber",
            "spec.storage.size",
            "spec.webhook.port",
            "annotation ignition-sync.io/redundancy-role",
        ]
    );
    let command = &migration.commands[0];
    assert!(command.contains(r#""stoker.io/profile":"area1""#), "{command}");
    assert!(command.contains(r#""ignition-sync.io/inject":null"#), "{command}");
}

#[test]
fn a_gatewaysync_of_the_go_operator_stays_as_it_is() {
    let manifest = json!({
        "apiVersion": "stoker.io/v1alpha1",
        "kind": "GatewaySync",
        "metadata": {"name": "plant", "namespace": "line", "resourceVersion": "1"},
        "spec": {
            "git": {"repo": "https://git.example.com/plant.git", "ref": "main"},
            "gateway": {"api": {"secretName": "api"}},
            "sync": {"profiles": {"default": {"mappings": [
                {"source": "projects", "destination": "projects"}]}}},
        },
        "status": {},
    });
    let migration = migrate(std::slice::from_ref(&manifest), &Options::default()).unwrap();
    assert_eq!(migration.objects[0]["spec"], manifest["spec"]);
    assert_eq!(migration.objects[0]["metadata"], json!({"name": "plant", "namespace": "line"}));
    let left = (migration.dropped, migration.unset, migration.commands);
    assert_eq!(left, (vec![], vec![], vec![]));
}

#[test]
fn what_can_not_become_a_gatewaysync_is_refused_with_the_reason() {
    assert_eq!(migrate(&[json!({"kind": "Service"})], &mapped()), Err(Error::Nothing));
    let mut map = git_sync_map();
    map["data"]["GITSYNC_REF"] = json!("--upload-pack=x");
    let error = migrate(&[map], &mapped()).unwrap_err();
    assert!(matches!(&error, Error::Invalid { message, .. } if message.contains("spec.git.ref")));
}

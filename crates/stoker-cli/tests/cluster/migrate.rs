//! Claims about `migrate`.

use serde_json::json;
use stoker_testkit::git::{Repo, Tree};

use crate::world::World;

#[test]
fn a_git_sync_in_the_cluster_becomes_a_gatewaysync_that_the_cluster_takes() {
    let world = World::new();
    world.apply(&[
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "git-sync-env-site"},
            "data": {
                "GITSYNC_REPO": "https://git.example.com/plant.git", "GITSYNC_REF": "main",
                "GITSYNC_PERIOD": "45s", "GITSYNC_SUBMODULES": "recursive",
            },
        }),
        json!({
            "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "site"},
            "spec": {
                "replicas": 0, "serviceName": "site", "selector": {"matchLabels": {"app": "site"}},
                "template": {"metadata": {"labels": {"app": "site"}}, "spec": {
                    "initContainers": [{
                        "name": "git-sync", "image": "registry.k8s.io/git-sync/git-sync:v4.4.0",
                        "envFrom": [{"configMapRef": {"name": "git-sync-env-site"}}],
                    }],
                    "containers": [{"name": "gateway", "image": "ignition:8.3"}],
                }},
            },
        }),
    ]);
    let file = world.file("sync.yaml");
    let file = file.to_str().unwrap();
    let words = ["migrate", "--from-configmap", "git-sync-env-site", "--to", file];
    let run = world.stoker(&words).exits(1);
    run.says(&["--map"]);
    let run = world.stoker(&[&words[..], &["--map", "projects:projects"]].concat()).exits(0);
    run.says(&["dropped GITSYNC_SUBMODULES", "not set spec.gateway.api"]);
    world.namespace.apply(&std::fs::read_to_string(file).unwrap());
    assert_eq!(world.sync("site")["spec"]["polling"]["interval"], "45s");
    // The printed command takes git-sync away and asks for an agent.
    let command = run.stderr.lines().find_map(|line| line.strip_prefix("next: ")).unwrap();
    world.paste(command).exits(0);
    let template = world.get("statefulset", "site")["spec"]["template"].clone();
    assert_eq!(template["metadata"]["annotations"]["stoker.io/cr-name"], "site");
    assert!(template["spec"]["initContainers"].is_null(), "{template}");
}

#[test]
fn a_copy_of_the_data_directory_proves_that_nothing_changes() {
    let world = World::new();
    let (repository, _) = Repo::with(Tree::new().file("projects/a/project.json", "{}")).unwrap();
    let data = world.file("data");
    std::fs::create_dir_all(data.join("projects/a")).unwrap();
    std::fs::write(data.join("projects/a/project.json"), "{}").unwrap();
    let source = world.file("old.yaml");
    let old = json!({
        "apiVersion": "sync.ignition.io/v1alpha1", "kind": "IgnitionSync",
        "metadata": {"name": "plant"},
        "spec": {
            "git": {"repo": repository.url(), "ref": "main"}, "storage": {"size": "1Gi"},
        },
    });
    std::fs::write(&source, old.to_string()).unwrap();
    let to = world.file("new.yaml");
    let paths = [&source, &to, &data].map(|path| path.to_str().unwrap().to_owned());
    let words = |last: &'static str| {
        let [source, to, data] = &paths;
        ["migrate", "-f", source, "--map", last, "--to", to, "--data", data].map(str::to_owned)
    };
    let run = |last| {
        let words = words(last);
        world.stoker(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let proof = run("projects:projects").exits(0);
    proof.says(&["dropped spec.storage.size"]);
    let difference = run("projects:other").exits(3);
    assert!(difference.stdout.contains("other"), "{}", difference.stdout);
}

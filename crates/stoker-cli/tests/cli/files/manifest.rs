//! `-f`: the same YAML as in a cluster.

use stoker_testkit::git::{Edit, Tree};
use stoker_testkit::tree;

use crate::kit::manifest::{PROJECTS, gateway_sync, run};
use crate::kit::world::{World, plant, plant_files};

#[test]
fn a_gateway_sync_with_one_profile_needs_no_more() {
    let (world, repo) = (World::new(), plant());
    run(&world, &gateway_sync(&repo.url(), PROJECTS), &[]).exits(0);
    assert_eq!(world.live(), plant_files());
}

#[test]
fn flags_override_the_file() {
    let (world, repo) = (World::new(), plant());
    repo.commit_to("other", Tree::new().file("projects/x", "other")).unwrap();
    let yaml = gateway_sync("https://nowhere.invalid/a.git", PROJECTS);
    run(&world, &yaml, &["--repo", &repo.url(), "--ref", "other"]).exits(0);
    assert_eq!(world.live(), tree::tree([("projects/x", "other")]));
    run(&world, &yaml, &["--repo", &repo.url(), "--map", "config:config", "--allow-mass-delete"])
        .exits(0);
    assert_eq!(world.live().text("config/site.json"), "{\"site\":7}\n");
}

#[test]
fn profiles_are_chosen_by_name() {
    let (world, repo) = (World::new(), plant());
    let profiles = "  sync: {profiles: {north: {mappings: [{source: projects/line, destination: projects/line}]}, south: {mappings: [{source: projects/oven, destination: projects/oven}]}}}";
    let yaml = gateway_sync(&repo.url(), profiles);
    run(&world, &yaml, &["--profile", "south"]).exits(0);
    assert_eq!(
        world.live(),
        tree::tree([("projects/oven/project.json", "{\"title\":\"oven\"}\n")])
    );
}

#[test]
fn a_sync_profile_takes_repository_and_ref_by_flags() {
    let (world, repo) = (World::new(), plant());
    let yaml = "apiVersion: stoker.io/v1alpha1\nkind: SyncProfile\nmetadata: {name: site}\n\
                spec: {mappings: [{source: projects, destination: projects}]}\n";
    let origin = ["--repo", &repo.url(), "--ref", "main", "--profile"];
    run(&world, yaml, &[&origin[..], &["default"]].concat()).exits(2);
    run(&world, yaml, &[&origin[..], &["site"]].concat()).exits(0);
    assert_eq!(world.live(), plant_files());
    run(&world, yaml, &origin[..4]).exits(0);
}

#[test]
fn what_is_for_a_cluster_only_is_skipped_by_name() {
    let (world, repo) = (World::new(), plant());
    let others = "apiVersion: v1\nkind: Namespace\nmetadata: {name: plants}\n---\n\
                  apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: gate}\n---\n";
    let yaml = format!("{others}{}", gateway_sync(&repo.url(), PROJECTS));
    let told = run(&world, &yaml, &[]).exits(0);
    assert_eq!(world.live(), plant_files());
    for title in ["Namespace plants of v1", "Deployment gate of apps/v1"] {
        let line = format!("warning: {title} is for a cluster only: skipped");
        assert!(told.stderr.contains(&line), "{told:?}");
    }
    let result = run(&world, &yaml, &["-o", "json"]).exits(0).json();
    assert_eq!(result["warnings"][0]["code"], "DocumentSkipped");
}

#[test]
fn templates_patches_and_excludes_of_a_profile_are_applied() {
    let (world, repo) = (World::new(), plant());
    let tree = Tree::new()
        .file("t/name.txt", "{{ .GatewayName }} {{ .Vars.area }} {{ .CRName }} {{ .Profile }}")
        .file("t/skip.txt", "x")
        .file("t/big.json", "{\"port\": 1, \"keep\":   1.50}\n");
    repo.commit(Edit::put(tree)).unwrap();
    let profile = "  sync:\n    profiles:\n      site:\n        vars: {area: hall}\n        excludePatterns: ['**/skip.txt']\n        mappings:\n        - source: t\n          destination: projects/t\n          template: true\n          patches: [{file: big.json, set: {port: '{{ .Vars.port }}'}}]";
    let yaml = gateway_sync(&repo.url(), profile);
    run(&world, &yaml, &["--gateway-name", "g1", "--var", "port=8088"]).exits(0);
    let live = world.live();
    assert_eq!(live.text("projects/t/name.txt"), "g1 hall plant site");
    assert_eq!(live.text("projects/t/big.json"), "{\"port\": 8088, \"keep\":   1.50}\n");
    assert_eq!(live.get("projects/t/skip.txt"), None);
}

#[test]
fn a_pause_leaves_what_is_live_and_says_so() {
    let (world, repo) = (World::new(), plant());
    let paused = format!("  paused: true\n{PROJECTS}");
    let never = run(&world, &gateway_sync(&repo.url(), &paused), &["-o", "json"]).exits(0);
    assert_eq!(never.json()["warnings"][0]["code"], "Paused");
    assert_eq!(world.live(), tree::Tree::default());
    let live = repo.commit(Edit::put(Tree::new().file("note", "1"))).unwrap().to_string();
    run(&world, &gateway_sync(&repo.url(), PROJECTS), &[]).exits(0);
    repo.commit(Edit::put(Tree::new().file("projects/oven/new.json", "{}"))).unwrap();
    let paused = gateway_sync(&repo.url(), &paused);
    let result = run(&world, &paused, &["-o", "json"]).exits(0).json();
    assert_eq!(result["status"], "unchanged", "{result:#}");
    assert_eq!(result["commit"], live);
    assert_eq!(result["previousCommit"], live);
    let told = run(&world, &paused, &[]).exits(0).stdout;
    assert!(told.starts_with(&format!("paused: still at {}\n", &live[..7])), "{told}");
    assert_eq!(world.live(), plant_files());
}

#[test]
fn the_smallest_file_has_no_name() {
    let (world, repo) = (World::new(), plant());
    let smallest = |destination: &str| {
        format!(
            "apiVersion: stoker.io/v1alpha1\nkind: GatewaySync\nspec:\n  git: {{repo: '{}', ref: main}}\n\
             \x20 sync: {{profiles: {{site: {{mappings: [{{source: projects, destination: '{destination}'}}]}}}}}}\n",
            repo.url()
        )
    };
    run(&world, &smallest("projects"), &[]).exits(0);
    assert_eq!(world.live(), plant_files());
    run(&world, &smallest("projects/{{.CRName}}"), &[]).exits(2);
    let profile = "apiVersion: stoker.io/v1alpha1\nkind: SyncProfile\n\
                   spec: {mappings: [{source: projects, destination: projects}]}\n";
    run(&world, profile, &["--repo", &repo.url(), "--ref", "main"]).exits(0);
}

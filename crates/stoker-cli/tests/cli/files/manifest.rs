//! `-f`: the very same YAML as a cluster gets.

use stoker_testkit::git::{Edit, Oid, Repo, Tree};
use stoker_testkit::tree;

use crate::kit::manifest::{PROJECTS, gateway_sync, run};
use crate::kit::result::has_every_key;
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
fn profiles_are_chosen_by_name_and_an_unknown_one_lists_them() {
    let (world, repo) = (World::new(), plant());
    let profiles = "  sync: {profiles: {north: {mappings: [{source: projects/line, destination: projects/line}]}, south: {mappings: [{source: projects/oven, destination: projects/oven}]}}}";
    let yaml = gateway_sync(&repo.url(), profiles);
    run(&world, &yaml, &["--profile", "south"]).exits(0);
    assert_eq!(
        world.live(),
        tree::tree([("projects/oven/project.json", "{\"title\":\"oven\"}\n")])
    );
    for more in [&[] as &[&str], &["--profile", "west"]] {
        let refused = run(&World::new(), &yaml, more).exits(2);
        assert!(
            refused.stderr.contains("north") && refused.stderr.contains("south"),
            "{refused:?}"
        );
    }
}

#[test]
fn a_sync_profile_takes_repository_and_ref_by_flags() {
    let (world, repo) = (World::new(), plant());
    let yaml = "apiVersion: stoker.io/v1alpha1\nkind: SyncProfile\nmetadata: {name: site}\n\
                spec: {mappings: [{source: projects, destination: projects}]}\n";
    let refused = run(&world, yaml, &[]).exits(2);
    assert!(refused.stderr.contains("hint: add --repo"), "{refused:?}");
    let origin = ["--repo", &repo.url(), "--ref", "main", "--profile"];
    for other in ["foo", "default"] {
        let refused = run(&world, yaml, &[&origin[..], &[other]].concat()).exits(2);
        let words = format!("there is no profile {other:?}, only site");
        assert!(refused.stderr.contains(&words), "{refused:?}");
    }
    run(&world, yaml, &[&origin[..], &["site"]].concat()).exits(0);
    assert_eq!(world.live(), plant_files());
    run(&world, yaml, &origin[..4]).exits(0);
}

#[test]
fn an_unknown_field_is_named_with_the_nearest_known_one() {
    let (world, repo) = (World::new(), plant());
    let yaml =
        gateway_sync(&repo.url(), PROJECTS).replace("ref: main", "reff: main\n    ref: main");
    let result = run(&world, &yaml, &["-o", "json"]).exits(2).json();
    has_every_key(&result);
    let message = result["error"]["message"].as_str().unwrap();
    assert!(message.contains("reff") && message.contains("\"ref\""), "{message}");
    let yaml = gateway_sync(&repo.url(), &PROJECTS.replace("destination", "destinaton"));
    let refused = run(&world, &yaml, &[]).exits(2);
    assert!(
        refused.stderr.contains("destinaton") && refused.stderr.contains("destination"),
        "{refused:?}"
    );
}

#[test]
fn what_this_version_does_not_support_is_refused_not_ignored() {
    let (world, repo) = (World::new(), plant());
    let yaml = gateway_sync(&repo.url(), PROJECTS) + "    verify: {mode: HEAD}\n";
    let refused = run(&world, &yaml, &[]).exits(2);
    assert!(refused.stderr.contains("not supported by this version"), "{refused:?}");
    assert_eq!(world.live(), tree::Tree::default());
}

#[test]
fn several_documents_are_refused_by_name() {
    let (world, repo) = (World::new(), plant());
    let one = gateway_sync(&repo.url(), PROJECTS);
    let two = format!("{one}---\n{}", one.replace("name: plant", "name: second"));
    let refused = run(&world, &two, &[]).exits(2);
    assert!(refused.stderr.contains("GatewaySync plant"), "{refused:?}");
    assert!(refused.stderr.contains("GatewaySync second"), "{refused:?}");
}

#[test]
fn what_is_no_document_is_said_so_whatever_it_is() {
    let (world, repo) = (World::new(), plant());
    for (text, found) in [
        ("[]", "found a list"),
        ("- a", "found a list"),
        ("foo", "found a text"),
        ("\"x\"", "found a text"),
        ("42", "found a number"),
        ("true", "found true or false"),
    ] {
        let refused = run(&world, text, &["-o", "json"]).exits(2).json();
        has_every_key(&refused);
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains(found) && message.contains("apiVersion and kind"), "{message}");
        let beside = format!("{}---\n{text}\n", gateway_sync(&repo.url(), PROJECTS));
        let refused = run(&world, &beside, &[]).exits(2);
        assert!(refused.stderr.contains(&format!("document 2 of 2: {found}")), "{refused:?}");
    }
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
    let refused = run(&world, others, &[]).exits(2);
    assert!(refused.stderr.contains("only Namespace plants of v1, Deployment"), "{refused:?}");
    // Of our own group nothing is skipped.
    let odd = yaml.replace("apiVersion: apps/v1\nkind: Dep", "apiVersion: stoker.io/v1\nkind: Dep");
    let refused = run(&world, &odd, &[]).exits(2);
    assert!(refused.stderr.contains("kind \"Deployment\""), "{refused:?}");
}

#[test]
fn broken_yaml_and_absent_files_are_exit_2() {
    let world = World::new();
    let refused = run(&world, "spec: [", &["-o", "json"]).exits(2).json();
    has_every_key(&refused);
    let message = refused["error"]["message"].as_str().unwrap();
    assert!(message.contains("sync.yaml") && message.contains("line 1"), "{message}");
    let data = world.data();
    let words = ["sync", "-f", "absent.yaml", "--data", data.to_str().unwrap()];
    let refused = world.stoker(words).exits(2);
    assert!(refused.stderr.contains("absent.yaml"), "{refused:?}");
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
fn a_paused_gateway_sync_changes_nothing_and_says_so() {
    let (world, repo) = (World::new(), plant());
    let yaml = gateway_sync(&repo.url(), &format!("  paused: true\n{PROJECTS}"));
    let run = run(&world, &yaml, &["-o", "json"]).exits(0);
    assert_eq!(run.json()["warnings"][0]["code"], "Paused");
    assert_eq!(world.live().iter().count(), 0);
}

#[test]
fn a_pause_leaves_what_is_live_and_says_so() {
    let (world, repo) = (World::new(), plant());
    let paused = format!("  paused: true\n{PROJECTS}");
    let never = run(&world, &gateway_sync(&repo.url(), &paused), &[]).exits(0);
    assert!(never.stdout.starts_with("paused: "), "{never:?}");
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
    let refused = run(&world, &smallest("projects/{{.CRName}}"), &[]).exits(2);
    assert!(refused.stderr.contains("CRName"), "{refused:?}");
    let profile = "apiVersion: stoker.io/v1alpha1\nkind: SyncProfile\n\
                   spec: {mappings: [{source: projects, destination: projects}]}\n";
    run(&world, profile, &["--repo", &repo.url(), "--ref", "main"]).exits(0);
}

#[test]
fn a_file_that_is_wrong_says_what_and_where_to_mend_it() {
    let world = World::new();
    let good = gateway_sync("https://nowhere.invalid/a.git", PROJECTS);
    let twice = format!("{good}spec: {{}}\n");
    let annotated = good.replace("name: plant", "name: plant\n  annotations: {x: true}");
    let typo = good.replace("ref: main", "reff: main");
    let answered = good.replace("name: plant", "name: plant\n  namespace: n");
    let other = good.replace("kind: GatewaySync", "kind: Gateway");
    for (yaml, message, hint) in [
        (&twice, "duplicate key \"spec\"", "sync.yaml"),
        (&annotated, "metadata.annotations.x: must be a string", "mend metadata.annotations.x in "),
        (&typo, "spec.git.reff", "mend spec.git.ref"),
        (&answered, "metadata.namespace: must be a string", "mend metadata.namespace in "),
        (&other, "did you mean \"GatewaySync\"?", "mend apiVersion and kind in "),
    ] {
        let run = run(&world, yaml, &[]).exits(2);
        let (error, hinted) = run.stderr.split_once("hint: ").unwrap();
        assert!(error.contains(message), "{run:?}");
        assert!(hinted.contains(hint) && !hinted.contains("--help"), "{run:?}");
    }
}

#[test]
fn a_mass_deletion_is_confirmed_for_one_commit_by_its_annotation() {
    let world = World::new();
    let many = |count: usize| {
        let file = |tree: Tree, n| tree.file(format!("projects/oven/{n}"), format!("{n}"));
        (0..count).fold(Tree::new(), file)
    };
    let (repo, before) = Repo::with(many(12)).unwrap();
    let plain = gateway_sync(&repo.url(), PROJECTS);
    run(&world, &plain, &[]).exits(0);
    let only = Edit::put(Tree::new().file("projects/new", "n")).and_remove("projects");
    let after = repo.commit(only).unwrap();
    let confirming = |commit: &Oid| {
        let annotations = format!("annotations: {{stoker.io/allow-mass-delete: \"{commit}\"}}");
        plain.replace("  name: plant\n", &format!("  name: plant\n  {annotations}\n"))
    };
    for yaml in [&plain, &confirming(&before)] {
        let result = run(&world, yaml, &["-o", "json"]).exits(1).json();
        assert_eq!(result["error"]["reason"], "DeletionBlocked", "{result:#}");
    }
    let result = run(&world, &confirming(&after), &["-o", "json"]).exits(0).json();
    assert_eq!(result["filesDeleted"], 12, "{result:#}");
}

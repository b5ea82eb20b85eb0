//! Runs that only plan: `plan`, and a sync with `dryRun`.

use crate::kit::manifest::{gateway_sync, run};
use crate::kit::world::{World, plant, plant_files};

fn profile(policies: &str) -> String {
    format!(
        "  sync:\n    defaults: {{{policies}}}\n    \
         profiles: {{site: {{mappings: [{{source: projects, destination: projects}}]}}}}"
    )
}

#[test]
fn a_dry_run_reports_what_a_sync_would_do_and_writes_nothing() {
    let (world, repo) = (World::new(), plant());
    let yaml = gateway_sync(&repo.url(), &profile("dryRun: true"));
    let result = run(&world, &yaml, &["-o", "json"]).exits(0).json();
    assert_eq!(result["status"], "dryRun", "{result:#}");
    assert_eq!(result["filesAdded"], plant_files().iter().count(), "{result:#}");
    assert_eq!(std::fs::read_dir(world.data()).unwrap().count(), 0);
}

#[test]
fn drift_is_named_by_who_only_looks() {
    let (world, repo) = (World::new(), plant());
    let yaml = gateway_sync(&repo.url(), &profile(""));
    run(&world, &yaml, &[]).exits(0);
    std::fs::write(world.data().join("projects/oven/project.json"), "edited").unwrap();
    for (policy, changes, told) in
        [("repair", 1, "a sync repairs it"), ("report", 0, "left as it is")]
    {
        let yaml = gateway_sync(&repo.url(), &profile(&format!("driftPolicy: {policy}")));
        let (file, data) = (world.file("plan.yaml", yaml), world.data());
        let words = ["plan", "-f", file.to_str().unwrap(), "--data", data.to_str().unwrap()];
        let result = world.stoker(words.into_iter().chain(["-o", "json"])).exits(0).json();
        assert_eq!(result["changes"].as_array().unwrap().len(), changes, "{result:#}");
        let warning = &result["warnings"][0];
        assert_eq!(warning["path"], "projects/oven/project.json", "{result:#}");
        assert!(warning["message"].as_str().unwrap().contains(told), "{result:#}");
    }
}

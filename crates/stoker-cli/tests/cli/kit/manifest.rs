//! The `-f` file: its text, and runs with it.

use super::world::{Run, STOKER, World};

pub(crate) fn gateway_sync(url: &str, more: &str) -> String {
    format!(
        "apiVersion: stoker.io/v1alpha1\nkind: GatewaySync\nmetadata:\n  name: plant\n\
         spec:\n  gateway:\n    api: {{secretName: gateway-key}}\n{more}\n  git:\n    repo: {url}\n    ref: main\n"
    )
}

pub(crate) const PROJECTS: &str =
    "  sync: {profiles: {site: {mappings: [{source: projects, destination: projects}]}}}";

pub(crate) fn run(world: &World, yaml: &str, more: &[&str]) -> Run {
    run_in(world, yaml, more, &[])
}

pub(crate) fn secret(name: &str, key: &str, value: &str) -> String {
    let value = serde_json::to_string(value).unwrap();
    format!(
        "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: {name}}}\nstringData: {{{key}: {value}}}\n"
    )
}

/// A run with more arguments and with environment variables.
pub(crate) fn run_in(world: &World, yaml: &str, more: &[&str], variables: &[(&str, &str)]) -> Run {
    let (file, data) = (world.file("sync.yaml", yaml), world.data());
    let words = ["sync", "-f", file.to_str().unwrap(), "--data", data.to_str().unwrap()];
    let mut command = world.command(STOKER, words.iter().chain(more));
    command.envs(variables.iter().copied());
    Run::ended(command)
}

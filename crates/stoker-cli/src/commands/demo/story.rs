//! The steps of the demo. Each shows the command that a user would type, and runs it.

use std::ffi::OsString;
use std::time::Instant;

use clap::Parser;

use super::plant::Plant;
use crate::cli::Context;
use crate::commands::sync;
use crate::explain::Mode;
use crate::failure::Failure;
use crate::run_document::RunDocument;

#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    sync: sync::Arguments,
}

const VIEW: &str =
    "services/south/projects/line/com.inductiveautomation.perspective/views/Overview/view.json";
const CHANGED: &str = "{\n  \"root\": {\"type\": \"ia.container.coord\"},\n  \"props\": {\"title\": \"Line 1, night shift\"}\n}\n";

pub(super) fn run(plant: &Plant, context: &Context) -> Result<(), Failure> {
    let say = |line: &str| context.console.say(line);
    let stage = plant.path("");
    say(&format!("A plant with two gateways and one repository, in {}", stage.display()));

    say("\n1. The first sync: files land, the gateways scan.");
    for (name, _) in &plant.gateways {
        show(plant, name, Mode::Sync, context)?;
    }

    say("\n2. Nothing new: one request to git, nothing else.");
    show(plant, "north", Mode::Sync, context)?;

    plant.write(VIEW, CHANGED)?;
    let commit = plant.commit("south: night shift")?;
    say(&format!("\n3. An operator commits {commit}, a view of the south gateway. The plan:"));
    show(plant, "south", Mode::Plan, context)?;
    let started = Instant::now();
    for (name, _) in &plant.gateways {
        show(plant, name, Mode::Sync, context)?;
    }
    say(&format!(
        "   both gateways run {commit} {} ms after the commit",
        started.elapsed().as_millis()
    ));

    say("\n4. What the gateways say they have loaded:");
    for (name, gateway) in &plant.gateways {
        let loaded = gateway.loaded();
        let projects: Vec<&str> = loaded.projects.iter().map(String::as_str).collect();
        say(&format!("   {name}: project {}", projects.join(", ")));
    }
    Ok(())
}

fn words(plant: &Plant, gateway: &str) -> Vec<OsString> {
    let url = plant.gateways.iter().find(|(name, _)| *name == gateway).map(|(_, it)| it.url());
    let at = |name: &str| plant.path(name).into_os_string();
    let mut words: Vec<OsString> = vec!["sync".into(), "-f".into(), at("plant.yaml")];
    words.extend(["--profile".into(), "site".into(), "--gateway-name".into(), gateway.into()]);
    words.extend(["--data".into(), at(gateway), "--store".into(), at("store")]);
    words.extend(["--gateway".into(), url.unwrap_or_default().into()]);
    words.extend(["--api-key-file".into(), at("key")]);
    words
}

fn job(plant: &Plant, gateway: &str) -> Result<crate::job::Job, Failure> {
    let line = Line::try_parse_from(words(plant, gateway));
    line.map_err(|error| Failure::usage(error.to_string()))?.sync.job()
}

fn show(plant: &Plant, gateway: &str, mode: Mode, context: &Context) -> Result<(), Failure> {
    let command = if mode == Mode::Plan { "plan" } else { "sync" };
    context.console.say(&format!(
        "   $ stoker {command} -f plant.yaml --gateway-name {gateway} --data {gateway} …"
    ));
    let document = sync::once(&job(plant, gateway)?, mode, context);
    end(document, context)
}

/// The caller prints a failure.
fn end(document: RunDocument, context: &Context) -> Result<(), Failure> {
    if let Some(failure) = document.error {
        return Err(failure);
    }
    context.console.document(&document);
    Ok(())
}

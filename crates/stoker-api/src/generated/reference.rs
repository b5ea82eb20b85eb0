//! The reference pages of the handbook.

use crate::condition::{
    ConditionType, EventReason, Reason, RefResolutionStatus, SyncStatus, Trigger,
};
use crate::contract::env::Env;
use crate::contract::mount::Volume;
use crate::crd;
use crate::generated::fields;
use crate::limit;
use crate::names::{Annotation, Label, Port, SecretKey};

const HEADER: &str = "<!-- Generated, do not edit: cargo xtask generate -->\n\n";

/// Returns the pages for `docs/reference/`: name and content.
pub fn reference_pages() -> Vec<(&'static str, String)> {
    let pages = [
        ("gatewaysync.md", fields::page(&crd::gateway_sync())),
        ("syncprofile.md", fields::page(&crd::sync_profile())),
        ("podbootstrap.md", fields::page(&crd::pod_bootstrap())),
        ("conditions.md", conditions()),
        ("events.md", events()),
        ("annotations.md", annotations()),
        ("agent-environment.md", environment()),
        ("limits.md", limits()),
        ("ports.md", ports()),
    ];
    pages.into_iter().map(|(name, page)| (name, format!("{HEADER}{}\n", page.trim_end()))).collect()
}

/// One table: its head, and a row per entry.
fn table(head: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head_line = line(head.iter().map(|cell| (*cell).to_owned()).collect());
    let rule = format!("|{}\n", "---|".repeat(head.len()));
    let rows: String = rows.into_iter().map(line).collect();
    format!("{head_line}{rule}{rows}")
}

fn named(name: &str, text: &str) -> Vec<String> {
    vec![format!("`{name}`"), text.to_owned()]
}

fn conditions() -> String {
    let reasons = |condition: &ConditionType| {
        let names = condition.reasons().iter().map(|reason| format!("`{reason}`"));
        names.collect::<Vec<_>>().join(", ")
    };
    let types = ConditionType::ALL.iter().map(|condition| {
        vec![format!("`{condition}`"), condition.describe().to_owned(), reasons(condition)]
    });
    let of = |of_a_gateway: bool| {
        let chosen = Reason::ALL.iter().filter(move |r| r.is_of_a_gateway() == of_a_gateway);
        table(&["reason", "meaning"], chosen.map(|r| named(r.as_str(), r.describe())))
    };
    let states = SyncStatus::ALL.iter().map(|s| named(s.as_str(), s.describe()));
    let refs = RefResolutionStatus::ALL.iter().map(|s| named(s.as_str(), s.describe()));
    let triggers = Trigger::ALL.iter().map(|t| named(t.as_str(), t.describe()));
    [
        "# Conditions and reasons".to_owned(),
        "A GatewaySync says how it stands by conditions. Wait for the one that says it all:"
            .to_owned(),
        "```sh\nkubectl wait gatewaysync/press -n line-1 --for=condition=Ready\n```".to_owned(),
        table(&["condition", "True means", "reasons"], types),
        "## Reasons of conditions".to_owned(),
        of(false),
        "## States of a gateway".to_owned(),
        table(&["`syncStatus`", "meaning"], states),
        "## Reasons of a gateway's state".to_owned(),
        of(true),
        "## States of the ref".to_owned(),
        table(&["`refResolutionStatus`", "meaning"], refs),
        "## Triggers of a sync".to_owned(),
        table(&["`trigger`", "meaning"], triggers),
    ]
    .map(|part| part.trim_end().to_owned())
    .join("\n\n")
}

fn events() -> String {
    let rows = EventReason::ALL.iter().map(|event| named(event.as_str(), event.describe()));
    format!(
        "# Events\n\nEvents are told on a change of state, never on each pass.\n\n{}",
        table(&["reason", "meaning"], rows)
    )
}

fn annotations() -> String {
    let annotations = Annotation::ALL.iter().map(|a| named(a.as_str(), a.describe()));
    let labels = Label::ALL.iter().map(|l| named(l.as_str(), l.describe()));
    format!(
        "# Annotations and labels\n\n## Annotations\n\n{}\n## Labels\n\n{}",
        table(&["annotation", "meaning"], annotations),
        table(&["label", "meaning"], labels)
    )
}

fn environment() -> String {
    let variables = Env::ALL.iter().map(|env| named(env.as_str(), env.describe()));
    let volumes = Volume::ALL.iter().map(|volume| {
        vec![format!("`{volume}`"), format!("`{}`", volume.path()), volume.describe().to_owned()]
    });
    let keys = SecretKey::ALL.iter().map(|key| named(key.as_str(), key.describe()));
    format!(
        "# The agent's container\n\nThe webhook adds this container to the pods of gateways; nobody has to set any of this.\n\n## Environment\n\n{}\n## Volumes\n\n{}\n## Default keys of Secrets\n\n{}",
        table(&["variable", "meaning"], variables),
        table(&["volume", "mounted at", "content"], volumes),
        table(&["key", "used by"], keys)
    )
}

fn limits() -> String {
    let rows = limit::ALL.iter().map(|(most, unit)| vec![most.to_string(), (*unit).to_owned()]);
    format!(
        "# Limits\n\nThe schema, the webhook and the command line share these.\n\n{}",
        table(&["limit", "of"], rows)
    )
}

fn ports() -> String {
    let rows = Port::ALL.iter().map(|p| vec![p.number().to_string(), p.describe().to_owned()]);
    format!("# Ports\n\n{}", table(&["port", "used by"], rows))
}

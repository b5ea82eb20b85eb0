//! IgnitionSync, Stoker and GatewaySync become a GatewaySync.

use serde_json::{Value, json};
use stoker_api::names::API_VERSION;

use super::field::{Fields, put};
use super::workload::Workload;
use super::{Error, Migration, Options, check, described};

/// Fields that have the same name and meaning.
const SAME: [&str; 19] = [
    "git.repo",
    "git.ref",
    "git.auth.sshKey.secretRef",
    "git.auth.sshKey.knownHosts",
    "git.auth.token",
    "git.auth.githubApp",
    "git.caSecretRef",
    "git.proxy",
    "git.timeout",
    "git.allowInsecureHTTP",
    "polling",
    "gateway.port",
    "gateway.tls",
    "gateway.api",
    "sync",
    "webhook.enabled",
    "webhook.secretRef",
    "webhook.previousSecretRef",
    "paused",
];

/// Fields of a profile that have the same name and meaning.
const SAME_IN_PROFILE: [&str; 9] = [
    "mappings",
    "excludePatterns",
    "vars",
    "syncPeriod",
    "designerSessionPolicy",
    "designerSessionTimeout",
    "driftPolicy",
    "dryRun",
    "paused",
];

/// Why a field does not come along, by the beginning of its path.
const REASONS: [(&str, &str); 17] = [
    ("storage", "agents keep their own object store; there is no shared volume"),
    ("webhook.port", "the port of the receiver is a value of the chart (webhookReceiver.port)"),
    (
        "agent.image",
        "it names the agent of another operator; set spec.agent.image where you mirror ours",
    ),
    ("agent.resources", "the other agent's limits; the defaults are 50m/64Mi and 1 CPU/256Mi"),
    ("agent.securityContext", "the agent is always restricted, and runs as the gateway's user"),
    ("git.auth.gpgKey", "signatures are not verified by this version"),
    ("git.verify", "signatures are not verified by this version"),
    ("bidirectional", "changes on the gateway do not flow back to git in this version"),
    ("validation", "not supported by this version; `stoker plan` shows what would change"),
    ("snapshots", "not supported by this version; go back with `stoker sync-now --ref`"),
    ("deployment", "not supported by this version; use one GatewaySync for each stage"),
    ("normalize", "write it as patches of a mapping, with {{.GatewayName}} in the value"),
    ("siteNumber", "put it into spec.sync.defaults.vars and use it in templates"),
    ("shared", "not enabled, or without a source"),
    ("ignition", "not supported by this version"),
    ("allowedNamespaces", "a GatewaySync serves its own namespace"),
    ("serviceAccount", "agents use the service account of their pod"),
];

/// Translates one object.
pub(super) fn sync(
    document: &Value,
    workloads: &[Workload<'_>],
    options: &Options,
    migration: &mut Migration,
) -> Result<(), Error> {
    let object = described(document);
    let mut fields = Fields::of(&object, &document["spec"]);
    let mut spec = json!({});
    fields.keep(&SAME, &mut spec);
    if let Some(key) = fields.take("gateway.apiKeySecretRef") {
        put(&mut spec, "gateway.api.secretName", key["name"].clone());
        if key["key"].is_string() {
            put(&mut spec, "gateway.api.secretKey", key["key"].clone());
        }
    }
    for (from, to) in [
        ("excludePatterns", "sync.defaults.excludePatterns"),
        ("ignition.designerSessionPolicy", "sync.defaults.designerSessionPolicy"),
    ] {
        if let Some(value) = fields.take(from) {
            put(&mut spec, to, value);
        }
    }
    let shared = Shared::take(&mut fields);
    layouts(&shared, workloads, &mut spec);
    if !options.maps.is_empty() {
        put(&mut spec, "sync.profiles.default.mappings", given_mappings(options));
    }
    if spec["sync"]["profiles"].as_object().is_none_or(serde_json::Map::is_empty)
        && !shared.files.is_empty()
    {
        put(&mut spec, "sync.profiles.default.mappings", Value::Array(shared.files));
    }
    let sync = json!({
        "apiVersion": API_VERSION,
        "kind": "GatewaySync",
        "metadata": metadata(document, options),
        "spec": spec,
    });
    check(&object, &sync)?;
    migration.objects.push(sync);
    migration.dropped.extend(fields.rest("spec.", reason));
    Ok(())
}

/// Translates a SyncProfile.
pub(super) fn profile(document: &Value, migration: &mut Migration) -> Result<(), Error> {
    let object = described(document);
    let mut fields = Fields::of(&object, &document["spec"]);
    let mut spec = json!({});
    fields.keep(&SAME_IN_PROFILE, &mut spec);
    if spec["mappings"].is_null() {
        return Err(Error::NoMappings { object });
    }
    migration.objects.push(json!({
        "apiVersion": API_VERSION,
        "kind": "SyncProfile",
        "metadata": metadata(document, &Options::default()),
        "spec": spec,
    }));
    migration.dropped.extend(fields.rest("spec.", reason));
    Ok(())
}

/// Name, namespace and labels; everything else is the cluster's.
fn metadata(document: &Value, options: &Options) -> Value {
    let source = &document["metadata"];
    let mut metadata = json!({ "name": source["name"] });
    if let Some(name) = &options.name {
        metadata["name"] = json!(name);
    }
    let namespace = options.namespace.as_deref().or(source["namespace"].as_str());
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    if source["labels"].is_object() {
        metadata["labels"] = source["labels"].clone();
    }
    metadata
}

pub(super) fn given_mappings(options: &Options) -> Value {
    let mappings = options.maps.iter();
    mappings.map(|(from, to)| json!({"source": from, "destination": to})).collect()
}

/// What every gateway gets.
struct Shared {
    /// External resources and additional files.
    files: Vec<Value>,
    /// Scripts: their directory, and where they go below the gateway's project.
    scripts: Option<(String, String)>,
    /// The directory of type definitions; where they go depends on the tag provider.
    udts: Option<String>,
}

impl Shared {
    fn take(fields: &mut Fields) -> Self {
        let mut enabled = |name: &str| {
            let is_enabled = fields.take(&format!("shared.{name}.enabled"));
            is_enabled.filter(|it| *it == json!(true))?;
            fields.text(&format!("shared.{name}.source"))
        };
        let external = enabled("externalResources");
        let scripts = enabled("scripts");
        let udts = enabled("udts");
        let destination = scripts.as_ref().and_then(|_| fields.text("shared.scripts.destPath"));
        // A mapping whose source is absent is skipped, so no file has to stand in for it.
        external.as_ref().and_then(|_| fields.take("shared.externalResources.createFallback"));
        let mapping =
            |source: String| json!({"source": source, "destination": "config/resources/external"});
        let mut files: Vec<Value> = external.map(mapping).into_iter().collect();
        let additional = fields.take("additionalFiles").unwrap_or_default();
        for file in additional.as_array().into_iter().flatten() {
            let mut mapping = json!({"source": file["source"], "destination": file["dest"]});
            if file["type"].is_string() {
                mapping["type"] = file["type"].clone();
            }
            files.push(mapping);
        }
        Self { files, scripts: scripts.zip(destination), udts }
    }
}

/// One profile for each directory that a workload names: the layout by convention, written out.
fn layouts(shared: &Shared, workloads: &[Workload<'_>], spec: &mut Value) {
    for workload in workloads {
        let Some(layout) = workload.layout() else { continue };
        let path = layout.service_path;
        let mut mappings = vec![
            json!({"source": format!("{path}/projects"), "destination": "projects"}),
            json!({
                "source": format!("{path}/config/resources/core"),
                "destination": "config/resources/core",
            }),
        ];
        // Later mappings win: the overlay is composed on the core.
        mappings.extend(layout.deployment_mode.map(|mode| {
            json!({
                "source": format!("{path}/config/resources/{mode}"),
                "destination": "config/resources/core",
            })
        }));
        mappings.extend(shared.files.iter().cloned());
        mappings.extend(shared.scripts.iter().map(|(source, place)| {
            let project = path.rsplit('/').next().unwrap_or(path);
            json!({"source": source, "destination": format!("projects/{project}/{place}")})
        }));
        mappings.extend(shared.udts.iter().map(|source| {
            let provider = layout.tag_provider.unwrap_or("default");
            let types = "config/resources/core/ignition/tag-type-definition";
            json!({"source": source, "destination": format!("{types}/{provider}")})
        }));
        let place = format!("sync.profiles.{}.mappings", layout.profile);
        put(spec, &place, Value::Array(mappings));
    }
}

fn reason(path: &str) -> String {
    let known = REASONS.iter().find(|(prefix, _)| {
        path.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    });
    known.map_or("this version has no such field", |(_, reason)| reason).to_owned()
}

//! git-sync, by its ConfigMap or by its container in a pod spec.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use stoker_api::names::API_VERSION;

use super::field::put;
use super::manifest::given_mappings;
use super::workload::Workload;
use super::{Error, Migration, Options, Remark, check, described};

/// The prefixes of git-sync's variables: version 4, and version 3.
const PREFIXES: [&str; 2] = ["GITSYNC_", "GIT_SYNC_"];

/// Why a setting does not come along.
const REASONS: [(&str, &str); 14] = [
    ("DEPTH", "the agent fetches exactly one commit"),
    ("ROOT", "there is no checkout: files go from git to their destination"),
    ("LINK", "there is no checkout: files go from git to their destination"),
    ("DEST", "there is no checkout: files go from git to their destination"),
    ("ONE_TIME", "the agent keeps running; the gateway starts after the first sync"),
    ("MAX_FAILURES", "the agent retries for as long as it runs"),
    ("SUBMODULES", "submodules are skipped with a warning; put their files into the repository"),
    ("SPARSE_CHECKOUT_FILE", "only what mappings name is fetched"),
    ("EXECHOOK", "no program runs after a sync: the agent asks the gateway to scan"),
    ("WEBHOOK", "no request is made after a sync; watch the status, or the metrics"),
    ("HTTP", "the agent has probes and metrics of its own"),
    ("GROUP_WRITE", "modes are as git has them"),
    ("ADD_USER", "git runs without a passwd entry"),
    ("VERBOSE", "set the log level of the operator's chart"),
];

/// What git-sync has no setting for.
const WITHOUT_API_KEY: &str = "git-sync has no API key of the gateway; without one files arrive, and \
                               the gateway is not asked to load them";

/// The settings of a git-sync, from its ConfigMap, its environment and its flags.
struct Settings<'a> {
    object: &'a Value,
    container: Option<(Workload<'a>, &'a Value)>,
    values: BTreeMap<String, String>,
    /// Keys that are not git-sync's.
    foreign: Vec<String>,
}

/// Migrates every git-sync; those with the same repository become one GatewaySync.
pub(super) fn migrate(
    documents: &[Value],
    workloads: &[Workload<'_>],
    options: &Options,
    migration: &mut Migration,
) -> Result<(), Error> {
    let mut found: Vec<Settings<'_>> = Vec::new();
    let mut used: Vec<&str> = Vec::new();
    for workload in workloads {
        for (_, _, container) in workload.git_sync() {
            let (settings, maps) = Settings::of_container(*workload, container, documents);
            used.extend(maps);
            found.push(settings);
        }
    }
    let maps = documents.iter().filter(|it| it["kind"] == "ConfigMap");
    for map in maps.filter(|it| !used.contains(&it["metadata"]["name"].as_str().unwrap_or(""))) {
        found.extend(Settings::of_map(map));
    }
    let mut repositories: Vec<String> = Vec::new();
    for settings in found {
        let repository = settings.values.get("REPO").cloned().unwrap_or_default();
        if repositories.contains(&repository) {
            continue;
        }
        repositories.push(repository);
        settings.migrate(options, migration)?;
    }
    Ok(())
}

impl<'a> Settings<'a> {
    fn of_map(map: &'a Value) -> Option<Self> {
        let mut settings =
            Self { object: map, container: None, values: BTreeMap::new(), foreign: Vec::new() };
        settings.read_map(map);
        settings.values.contains_key("REPO").then_some(settings)
    }

    /// Flags count more than the environment, and the environment more than a ConfigMap.
    fn of_container(
        workload: Workload<'a>,
        container: &'a Value,
        documents: &'a [Value],
    ) -> (Self, Vec<&'a str>) {
        let mut settings = Self {
            object: container,
            container: Some((workload, container)),
            values: BTreeMap::new(),
            foreign: Vec::new(),
        };
        let sources = container["envFrom"].as_array().into_iter().flatten();
        let maps: Vec<&str> =
            sources.filter_map(|source| source["configMapRef"]["name"].as_str()).collect();
        for map in documents.iter().filter(|it| it["kind"] == "ConfigMap") {
            if maps.contains(&map["metadata"]["name"].as_str().unwrap_or_default()) {
                settings.object = map;
                settings.read_map(map);
            }
        }
        for variable in container["env"].as_array().into_iter().flatten() {
            if let (Some(name), Some(value)) =
                (variable["name"].as_str(), variable["value"].as_str())
            {
                settings.read(name, value);
            }
        }
        let words = container["args"].as_array().into_iter().flatten();
        for word in words.filter_map(Value::as_str) {
            let flag = word.trim_start_matches('-');
            let (name, value) = flag.split_once('=').unwrap_or((flag, "true"));
            settings.values.insert(name.to_uppercase().replace('-', "_"), value.to_owned());
        }
        (settings, maps)
    }

    fn read_map(&mut self, map: &Value) {
        for (name, value) in map["data"].as_object().into_iter().flatten() {
            self.read(name, value.as_str().unwrap_or_default());
        }
    }

    fn read(&mut self, name: &str, value: &str) {
        match PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix)) {
            Some(name) => drop(self.values.insert(name.to_owned(), value.to_owned())),
            None => self.foreign.push(name.to_owned()),
        }
    }

    fn take(&mut self, names: &[&str]) -> Option<String> {
        let found: Vec<String> =
            names.iter().filter_map(|name| self.values.remove(*name)).collect();
        found.into_iter().find(|value| !value.is_empty())
    }

    fn migrate(mut self, options: &Options, migration: &mut Migration) -> Result<(), Error> {
        let object = match self.object["kind"].as_str() {
            Some(_) => described(self.object),
            None => format!("container {}", self.object["name"].as_str().unwrap_or_default()),
        };
        let missing = |field| Error::Missing { object: object.clone(), field };
        let repository = self.take(&["REPO"]).ok_or_else(|| missing("GITSYNC_REPO"))?;
        let git_ref = self.take(&["REF", "REV", "BRANCH"]).filter(|it| it != "HEAD");
        let git_ref = options.git_ref.clone().or(git_ref);
        let git_ref = git_ref.ok_or_else(|| missing("GITSYNC_REF (use --ref)"))?;
        if options.maps.is_empty() {
            return Err(Error::NoMappings { object });
        }
        let mut spec = json!({"git": {"repo": repository, "ref": git_ref}});
        self.credentials(&mut spec);
        if let Some(period) = self.take(&["PERIOD", "WAIT"]) {
            let seconds = period.parse::<f64>().is_ok();
            let period = if seconds { format!("{period}s") } else { period };
            put(&mut spec, "polling.interval", json!(period));
        }
        put(&mut spec, "sync.profiles.default.mappings", given_mappings(options));
        let sync = json!({
            "apiVersion": API_VERSION,
            "kind": "GatewaySync",
            "metadata": self.metadata(options),
            "spec": spec,
        });
        check(&object, &sync)?;
        migration.unset.push(Remark {
            object: described(&sync),
            field: "spec.gateway.api".to_owned(),
            reason: WITHOUT_API_KEY.to_owned(),
        });
        migration.objects.push(sync);
        for name in self.values.keys() {
            migration.dropped.push(Remark {
                object: object.clone(),
                field: format!("{}{name}", PREFIXES[0]),
                reason: reason(name),
            });
        }
        for name in &self.foreign {
            migration.dropped.push(Remark {
                object: object.clone(),
                field: name.clone(),
                reason: "not a setting of git-sync; a script of yours read it".to_owned(),
            });
        }
        Ok(())
    }

    fn metadata(&self, options: &Options) -> Value {
        let map = self.object["metadata"]["name"].as_str();
        let derived = map.map(|name| name.trim_start_matches("git-sync-env-"));
        let name = options.name.as_deref().or(derived).unwrap_or("gateway");
        let mut metadata = json!({ "name": name });
        let namespace = options.namespace.as_deref();
        if let Some(namespace) = namespace.or(self.object["metadata"]["namespace"].as_str()) {
            metadata["namespace"] = json!(namespace);
        }
        metadata
    }

    /// An SSH key or a token, from the Secret that is mounted where git-sync looked for it.
    fn credentials(&mut self, spec: &mut Value) {
        let uses_ssh = self.take(&["SSH"]);
        let key_file = self.take(&["SSH_KEY_FILE"]);
        let known_file = self.take(&["SSH_KNOWN_HOSTS_FILE"]);
        let checks = self.take(&["SSH_KNOWN_HOSTS", "KNOWN_HOSTS"]);
        let password = self.take(&["PASSWORD_FILE"]);
        let username = self.take(&["USERNAME"]);
        let is_ssh = uses_ssh.is_some() || key_file.is_some();
        // The default of git-sync.
        let key_file = key_file.unwrap_or_else(|| "/etc/git-secret/ssh".to_owned());
        if let Some(secret) = password.as_deref().and_then(|file| self.secret(file)) {
            put(spec, "git.auth.token.secretRef", secret);
            if let Some(username) = username {
                put(spec, "git.auth.token.username", json!(username));
            }
        } else if is_ssh || self.is_ssh_url(spec) {
            if let Some(secret) = self.secret(&key_file) {
                put(spec, "git.auth.sshKey.secretRef", secret);
            }
            let known = known_file.unwrap_or_else(|| "/etc/git-secret/known_hosts".to_owned());
            let is_checked = checks.as_deref() != Some("false");
            if let Some(secret) = self.secret(&known).filter(|_| is_checked) {
                put(spec, "git.auth.sshKey.knownHosts.secretRef", secret);
            }
        }
    }

    fn is_ssh_url(&self, spec: &Value) -> bool {
        let url = spec["git"]["repo"].as_str().unwrap_or_default();
        self.container.is_some() && (url.starts_with("ssh://") || !url.contains("://"))
    }

    fn secret(&self, file: &str) -> Option<Value> {
        let (workload, container) = self.container?;
        let (name, key) = workload.secret_at(container, file)?;
        Some(json!({"name": name, "key": key}))
    }
}

fn reason(name: &str) -> String {
    let known = REASONS.iter().find(|(prefix, _)| name.starts_with(prefix));
    known.map_or("Stoker has no such setting", |(_, reason)| reason).to_owned()
}

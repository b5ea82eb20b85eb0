//! Which files go where: defaults, profiles, mappings and patches.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::limit;
use crate::registry::registry_in_json;
use crate::rule;
use crate::schema;
use crate::word::Interval;

/// Which files go where: defaults, and profiles by name.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Sync {
    /// What counts for every profile that does not say otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub defaults: Option<Overrides>,

    /// The profiles, by name. A pod chooses one by the annotation `stoker.io/profile`; a pod that
    /// chooses none gets the one named `default`. A pod can also use a SyncProfile object instead,
    /// by `stoker.io/sync-profile`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::profiles")]
    pub profiles: BTreeMap<String, Profile>,
}

/// Which files of the repository go where on a gateway, and how.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Profile {
    /// The mappings from the repository to the gateway's data directory, applied in order; where
    /// two write the same file, the later one wins.
    #[schemars(length(max = limit::MAPPINGS))]
    #[schemars(extend(
        "x-kubernetes-list-type" = "atomic",
        "x-kubernetes-validations" = rule::mappings()
    ))]
    pub mappings: Vec<Mapping>,

    /// What this profile says otherwise than the defaults.
    #[serde(flatten)]
    pub overrides: Overrides,
}

/// How files are synced. In `defaults` it counts for every profile; in a profile, for that one.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Overrides {
    /// Globs of files that are neither written nor deleted, such as `**/*.bak`. They match the path
    /// below a mapping's source and the path below the data directory. `**` stands for any number
    /// of directories; a trailing slash means a directory. The patterns of a profile add to those
    /// of the defaults. Where the defaults name none: `**/.git/`, `**/.gitkeep` and
    /// `**/.resources/**`; the last is always enforced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::globs")]
    pub exclude_patterns: Option<Vec<String>>,

    /// Variables for templates, reached as `{{.Vars.name}}`. Names are identifiers: letters, digits
    /// and `_`, not beginning with a digit. Those of a profile override those of the defaults, one
    /// by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::vars")]
    pub vars: Option<BTreeMap<String, String>>,

    /// The longest pause, in seconds, between two attempts at what is owed (a failed fetch, scan or
    /// report), and the poll interval where the agent can't watch. From 5 to 3600; the default is
    /// 30.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = limit::SYNC_PERIOD_MIN, max = limit::SYNC_PERIOD_MAX))]
    pub sync_period: Option<i32>,

    /// What to do while an Ignition Designer is open on the gateway: `proceed` syncs anyway, `wait`
    /// waits until it is closed, at most `designerSessionTimeout`, `fail` does not sync. The
    /// default is `proceed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub designer_session_policy: Option<DesignerSessionPolicy>,

    /// How long `wait` waits, such as `5m`. The default is `5m`. After that the gateway's state is
    /// Error, and the sync is tried again when the Designer is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limit::INTERVAL))]
    #[schemars(extend("x-kubernetes-validations" = rule::interval("designerSessionTimeout")))]
    pub designer_session_timeout: Option<String>,

    /// What to do with synced files that were changed on the gateway: `repair` writes them again,
    /// `report` only says so in the condition `DriftDetected`. The default is `repair`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift_policy: Option<DriftPolicy>,

    /// How many percent of a mapping's files one sync may delete, from 0 to 100, before it stops
    /// and asks for confirmation. Fewer than 50 deleted files ask only if they are all files of a
    /// mapping that had 10 or more. The default is 50; 100 never asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-kubernetes-validations" = rule::percent("maxDeletePercent")))]
    pub max_delete_percent: Option<i32>,

    /// Counts and reports changes without applying them. The default is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dry_run: Option<bool>,

    /// Pauses syncing. The default is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
}

/// One mapping from the repository to the gateway's data directory.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Mapping {
    /// The file or directory in the repository, such as `services/{{.GatewayName}}/projects`. `.`
    /// is the whole repository. Templates can use `.GatewayName`, `.PodName`, `.PodOrdinal`,
    /// `.Namespace`, `.CRName`, `.Profile`, `.Ref`, `.Commit`, `.Vars` and `.Labels`.
    #[schemars(length(min = 1, max = limit::PATH))]
    #[schemars(extend("x-kubernetes-validations" = rule::path("source")))]
    pub source: String,

    /// Where it goes, below the gateway's data directory, such as `projects`. `.` is the data
    /// directory itself. Templates as in `source`. A mapping owns the directory that it writes:
    /// what is not in the repository is removed there, see `prune`.
    #[schemars(length(min = 1, max = limit::PATH))]
    #[schemars(extend("x-kubernetes-validations" = rule::destination()))]
    pub destination: String,

    /// Whether the source is a directory (`dir`) or a file (`file`). Where it is not set, the
    /// repository says; where it is set and does not fit, the sync fails.
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub mapping_type: Option<MappingType>,

    /// Whether the sync fails where the source does not exist. The default is false: the mapping is
    /// skipped with a warning, and its destination is left alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,

    /// Whether files in the destination that are not in the repository are removed. The default is
    /// true; with false only those that were synced before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prune: Option<bool>,

    /// Whether the contents of the files are templates, such as `{"name": "{{.GatewayName}}"}`. The
    /// default is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub template: Option<bool>,

    /// Changes to single fields of JSON files on their way to the gateway; every other byte stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limit::PATCHES))]
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub patches: Vec<Patch>,
}

/// Changes to single fields of JSON files.
#[derive(JsonSchema, Serialize, Deserialize, Debug, Clone, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Patch {
    /// The files to change: a glob below the mapping's destination, such as `**/config.json`. May
    /// be left out where the mapping is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = limit::PATH))]
    #[schemars(extend("x-kubernetes-validations" = rule::patch_file()))]
    pub file: Option<String>,

    /// The fields to set, by path: `systemName: "{{.GatewayName}}"`, `connection.port: "5432"`,
    /// `items.0.enabled: "true"`. Values are templates. What is valid JSON afterwards (a number,
    /// true, null, a quoted string, an object) is set as that, everything else as a string.
    #[schemars(schema_with = "schema::patch_set")]
    pub set: BTreeMap<String, String>,
}

registry_in_json! {
    /// What to do while a Designer is open.
    pub enum DesignerSessionPolicy {
        /// Sync anyway.
        Proceed = "proceed",
        /// Wait until it is closed.
        Wait = "wait",
        /// Do not sync.
        Fail = "fail",
    }
}

registry_in_json! {
    /// What to do with synced files that were changed on the gateway.
    pub enum DriftPolicy {
        /// Write them again.
        Repair = "repair",
        /// Only say so.
        Report = "report",
    }
}

registry_in_json! {
    /// What a mapping's source is.
    pub enum MappingType {
        /// A directory.
        Dir = "dir",
        /// A file.
        File = "file",
    }
}

impl Overrides {
    /// What is excluded where the defaults name nothing.
    pub const DEFAULT_EXCLUDES: [&str; 3] = ["**/.git/", "**/.gitkeep", Self::ALWAYS_EXCLUDED];
    /// What is excluded whatever anyone says.
    pub const ALWAYS_EXCLUDED: &str = "**/.resources/**";
    /// `syncPeriod` where nothing is set, in seconds.
    pub const DEFAULT_SYNC_PERIOD: u16 = 30;
    /// `designerSessionTimeout` where nothing is set.
    pub const DEFAULT_DESIGNER_SESSION_TIMEOUT: Interval = Interval::from_secs(300);
}

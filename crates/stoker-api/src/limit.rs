//! The limits that schema, webhook, controller, agent and CLI share.
//!
//! They keep the cost of the schema's CEL rules within the budget of the API server, and every
//! object that Stoker writes far below the 1 MiB that a ConfigMap may hold.

use crate::registry::amounts;

amounts! {
    /// Embedded profiles of one GatewaySync.
    PROFILES = 32, "profiles in `spec.sync.profiles`";
    /// Characters of a profile's name.
    PROFILE_NAME = 63, "characters of a profile name";
    /// Characters of a GatewaySync's name: it becomes the value of a label.
    CR_NAME = 63, "characters of the name of a GatewaySync";
    /// Characters of a gateway's name.
    GATEWAY_NAME = 253, "characters of a gateway name";
    /// Mappings of one profile.
    MAPPINGS = 64, "mappings in one profile";
    /// Patches of one mapping.
    PATCHES = 16, "patches of one mapping";
    /// Entries of one patch's `set`.
    SET_ENTRIES = 32, "entries in `set` of one patch";
    /// Characters of one value in a patch's `set`.
    SET_VALUE = 4096, "characters of one value in `set`";
    /// Variables of one profile or of the defaults.
    VARS = 64, "variables in one `vars`";
    /// Characters of one variable's value.
    VAR_VALUE = 4096, "characters of the value of a variable";
    /// Exclude patterns of one profile or of the defaults.
    EXCLUDES = 64, "patterns in one `excludePatterns`";
    /// Characters of a path or a glob.
    PATH = 512, "characters of a path or a glob";
    /// Characters of a URL.
    URL = 2048, "characters of a URL";
    /// Characters of a ref.
    REF = 255, "characters of a ref";
    /// Characters of an interval such as `1h30m`.
    INTERVAL = 20, "characters of an interval";
    /// Seconds of the shortest interval.
    INTERVAL_SECONDS = 5, "seconds of the shortest interval";
    /// Characters of a user name.
    USERNAME = 128, "characters of a user name";
    /// Seconds of the shortest `syncPeriod`.
    SYNC_PERIOD_MIN = 5, "seconds of the shortest `syncPeriod`";
    /// Seconds of the longest `syncPeriod`.
    SYNC_PERIOD_MAX = 3600, "seconds of the longest `syncPeriod`";
    /// Characters of the name of a Kubernetes object.
    OBJECT_NAME = 253, "characters of the name of a Secret";
    /// Characters of a key in a Secret or a ConfigMap.
    DATA_KEY = 253, "characters of a key in a Secret";
    /// Gateways listed in a GatewaySync's status.
    STATUS_GATEWAYS = 100, "gateways listed in a status";
    /// Past syncs that the status keeps per gateway.
    STATUS_HISTORY = 10, "past syncs kept per gateway";
    /// Bytes of the gateways listed in a status.
    STATUS_BYTES = 524_288, "bytes of the gateways listed in a status";
    /// Projects listed per report.
    REPORT_PROJECTS = 50, "projects listed in one report";
    /// Paths listed per report.
    REPORT_PATHS = 20, "paths listed in one report";
    /// Bytes of a report's message.
    REPORT_MESSAGE_BYTES = 1024, "bytes of the message of one report";
    /// Bytes of one project or path in a report.
    REPORT_NAME_BYTES = 256, "bytes of one project or path in a report";
    /// Bytes of a report as a whole.
    REPORT_BYTES = 8192, "bytes of one report";
    /// Bytes of everything in a metadata ConfigMap.
    METADATA_BYTES = 786_432, "bytes of a metadata ConfigMap";
    /// Pods up to which one status ConfigMap serves all.
    UNSHARDED_PODS = 50, "pods that share one status ConfigMap";
    /// Status ConfigMaps of a GatewaySync with more pods than that.
    SHARDS = 16, "status ConfigMaps of a GatewaySync with more pods";
    /// Pods up to which that many status ConfigMaps serve all.
    SHARDED_PODS = 200, "pods that share those status ConfigMaps";
    /// Status ConfigMaps of a GatewaySync with more pods than that.
    MOST_SHARDS = 128, "status ConfigMaps of a GatewaySync with more pods than that";
    /// Characters of the name of a namespace.
    NAMESPACE = 63, "characters of the name of a namespace";
    /// Registries of a PodBootstrap.
    REGISTRIES = 64, "registries of a PodBootstrap";
    /// Variables of a PodBootstrap.
    BOOTSTRAP_ENV = 32, "variables of a PodBootstrap";
    /// Excluded namespaces of a PodBootstrap.
    EXCLUDED_NAMESPACES = 256, "excluded namespaces of a PodBootstrap";
}

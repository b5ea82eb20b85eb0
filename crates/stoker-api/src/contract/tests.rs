//! Claims about the contract between controller and agents.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::metadata::{self, AuthType, Metadata, PausedBy, Profile, Target};
use super::mount::Volume;
use super::report::{self, Counts, DeletionBlocked, Drift, ForeignFiles, Report};
use super::{cap, env::Env};
use crate::condition::{Reason, Requester, SyncStatus, Trigger};
use crate::gatewaysync::{DesignerSessionPolicy, DriftPolicy, Mapping};
use crate::limit;
use crate::word::{Commit, GatewayName, HttpUrl, Interval, ProfileName, RefName, RepoUrl};

const COMMIT: &str = "4f1c2d3e4b5a69788796a5b4c3d2e1f001122334";

fn metadata() -> Metadata {
    Metadata {
        git_url: RepoUrl::parse("https://git.example.com/plant.git").unwrap(),
        git_ref: RefName::parse("main").unwrap(),
        commit: Some(Commit::parse(COMMIT).unwrap()),
        auth_type: AuthType::SshKey,
        git_username: Some("git".into()),
        git_proxy: Some(HttpUrl::parse("http://proxy:3128").unwrap()),
        git_timeout: Interval::from_secs(90),
        allow_insecure_http: true,
        is_paused: true,
        paused_by: Some(PausedBy::Emergency { reason: "fire drill".into() }),
        is_terminating: false,
        gateway_port: Some(8088),
        gateway_tls: Some(false),
        requested_at: Some("2026-11-15T21:00:00Z".parse().unwrap()),
        requested_by: Some(Requester::Kargo),
        trigger: Some(Trigger::Webhook),
        allow_mass_delete: Some(Commit::parse(COMMIT).unwrap()),
        startup_deadline: Some(Interval::from_secs(0)),
        known_hosts: Some("git.example.com ssh-ed25519 AAAA\n".into()),
        status_shards: 16,
        overrides: BTreeMap::from([("plant-0".into(), target("v2", &"0".repeat(40)))]),
        profiles: BTreeMap::from([(ProfileName::parse("default").unwrap(), profile())]),
        sync_profiles: BTreeMap::from([("press-line".into(), profile())]),
    }
}

fn target(git_ref: &str, commit: &str) -> Target {
    Target { git_ref: RefName::parse(git_ref).unwrap(), commit: Commit::parse(commit).unwrap() }
}

fn profile() -> Profile {
    let mapping = Mapping { source: "a".into(), destination: "b".into(), ..Mapping::default() };
    Profile {
        mappings: vec![mapping],
        exclude_patterns: vec!["**/.git/".into()],
        vars: BTreeMap::from([("site".into(), "1".into())]),
        sync_period: 30,
        designer_session_policy: DesignerSessionPolicy::Wait,
        designer_session_timeout: Interval::from_secs(300),
        drift_policy: DriftPolicy::Repair,
        max_delete_percent: Some(50),
        dry_run: false,
        paused: false,
    }
}

fn report() -> Report {
    let gateway = GatewayName::parse("Plant 1").unwrap();
    Report {
        reason: Some(Reason::ScanFailed),
        message: "scan failed".into(),
        commit: Some(Commit::parse(COMMIT).unwrap()),
        git_ref: Some(RefName::parse("main").unwrap()),
        synced_at: Some("2026-11-15T21:00:00Z".parse().unwrap()),
        duration: Some(Interval::parse("3.2s").unwrap()),
        agent_version: "1.0.0".into(),
        scan_result: "projects done, config owed".into(),
        files_added: 3,
        projects_synced: vec!["hmi".into()],
        trigger: Some(Trigger::Webhook),
        dry_run: Some(Counts { added: 1, modified: 2, deleted: 3 }),
        drift: Some(Drift { count: 1, paths: vec!["a".into()], repaired: true }),
        foreign_files: Some(ForeignFiles { count: 1, paths: vec!["b".into()] }),
        profile: Some("default".into()),
        applied: Some("0123".into()),
        capabilities: vec!["later".into()],
        deletion_blocked: Some(DeletionBlocked {
            commit: Commit::parse(COMMIT).unwrap(),
            deletes: 60,
            of: 100,
        }),
        acknowledged: true,
        ..Report::new(gateway, "plant-0", "uid", SyncStatus::Degraded)
    }
}

// Written by the programs at the end of first light. An upgrade meets both, and a rollback our own:
// its reader is that of the fixtures, which must find every key that it knows.
#[test]
fn metadata_and_reports_of_first_light_are_read_and_keep_their_keys() {
    let stored: BTreeMap<String, String> =
        serde_json::from_str(include_str!("first-light/metadata.json")).unwrap();
    assert_eq!(Metadata::from_data(&stored).unwrap(), metadata());
    let written = metadata().to_data().unwrap();
    for (key, value) in &stored {
        assert_eq!(written.get(key), Some(value), "{key}");
    }
    let stored = include_str!("first-light/report.json");
    assert_eq!(Report::from_value("plant-0", stored).unwrap(), report());
    let stored: serde_json::Value = serde_json::from_str(stored).unwrap();
    let written: serde_json::Value = serde_json::from_str(&report().to_value()).unwrap();
    for (key, value) in stored.as_object().unwrap() {
        assert_eq!(&written[key], value, "{key}");
    }
}

#[test]
fn metadata_comes_back_as_it_was_written() {
    let written = metadata();
    assert_eq!(Metadata::from_data(&written.to_data().unwrap()).unwrap(), written);
}

#[test]
fn metadata_has_the_keys_of_the_contract() {
    let data = metadata().to_data().unwrap();
    let keys: Vec<&str> = data.keys().map(String::as_str).collect();
    let expected = [
        "allowInsecureHTTP",
        "allowMassDelete",
        "authType",
        "commit",
        "gatewayPort",
        "gatewayTLS",
        "gitProxy",
        "gitTimeout",
        "gitURL",
        "gitUsername",
        "knownHosts",
        "overrides",
        "paused",
        "pausedBy",
        "profiles",
        "protocol",
        "ref",
        "requestedAt",
        "requestedBy",
        "startupDeadline",
        "statusShards",
        "syncProfiles",
        "terminating",
        "trigger",
    ];
    assert_eq!(keys, expected);
    assert_eq!(data["protocol"], "1");
    assert_eq!(
        data["overrides"],
        format!(r#"{{"plant-0":{{"ref":"v2","commit":"{}"}}}}"#, "0".repeat(40))
    );
}

#[test]
fn metadata_of_a_newer_controller_is_read_without_what_is_new() {
    let mut data = metadata().to_data().unwrap();
    data.insert("fromTheFuture".into(), "yes".into());
    let profiles =
        data["profiles"].replace("\"paused\":false", "\"paused\":false,\"later\":{\"a\":1}");
    data.insert("profiles".into(), profiles);
    assert_eq!(Metadata::from_data(&data).unwrap(), metadata());
}

#[test]
fn words_of_a_newer_controller_are_ignored_and_a_pause_is_never_missed() {
    let mut data = metadata().to_data().unwrap();
    data.extend([("requestedBy".into(), "later".into()), ("trigger".into(), "moon".into())]);
    data.insert("pausedBy".into(), "weather: storm".into());
    let read = Metadata::from_data(&data).unwrap();
    assert_eq!((read.requested_by, read.trigger), (None, None));
    assert_eq!((read.is_paused, read.paused_by), (true, Some(PausedBy::Spec)));
}

#[test]
fn metadata_of_another_protocol_is_refused_by_name() {
    let mut data = metadata().to_data().unwrap();
    data.insert("protocol".into(), "2".into());
    assert!(
        matches!(Metadata::from_data(&data), Err(metadata::Error::Protocol(found)) if found == "2")
    );
    assert!(matches!(
        Metadata::from_data(&BTreeMap::new()),
        Err(metadata::Error::Missing("protocol"))
    ));
}

#[test]
fn metadata_with_a_hostile_value_is_refused_with_its_key() {
    let cases = [
        ("ref", "--upload-pack=x"),
        ("gitURL", "ext::sh"),
        ("commit", "HEAD"),
        ("gatewayPort", "70000"),
    ];
    for (key, value) in cases {
        let mut data = metadata().to_data().unwrap();
        data.insert(key.into(), value.into());
        let error = Metadata::from_data(&data).unwrap_err();
        assert!(error.to_string().contains(&format!("{key:?}")), "{error}");
    }
}

// C11
#[test]
fn metadata_that_would_not_fit_is_never_published() {
    let mut metadata = metadata();
    let large = Profile {
        vars: BTreeMap::from([("a".into(), "x".repeat(limit::METADATA_BYTES))]),
        ..profile()
    };
    metadata.profiles.insert(ProfileName::parse("large").unwrap(), large);
    assert!(matches!(metadata.to_data(), Err(metadata::Error::TooLarge(_))));
}

#[test]
fn a_pod_with_its_own_ref_gets_that_and_others_the_common_one() {
    let metadata = metadata();
    assert_eq!(metadata.target_of("plant-0").unwrap(), target("v2", &"0".repeat(40)));
    assert_eq!(metadata.target_of("plant-1").unwrap(), target("main", COMMIT));
    assert_eq!(Metadata { commit: None, ..metadata }.target_of("plant-1"), None);
}

#[test]
fn a_report_comes_back_as_it_was_written() {
    let written = report();
    assert_eq!(Report::from_value("plant-0", &written.to_value()).unwrap(), written);
}

#[test]
fn a_report_of_a_newer_agent_is_read_without_what_is_new() {
    let value = report().to_value();
    let value = value
        .replace("\"ScanFailed\"", "\"Unheard\"")
        .replace("{\"protocol\"", "{\"new\":[1],\"protocol\"");
    let read = Report::from_value("plant-0", &value).unwrap();
    assert_eq!(read, Report { reason: None, ..report() });
}

#[test]
fn an_agent_speaks_for_its_own_pod_only() {
    let value = report().to_value();
    assert!(matches!(Report::from_value("plant-1", &value), Err(report::Error::Foreign { .. })));
    let large = format!("{value}{}", " ".repeat(limit::REPORT_BYTES));
    assert!(matches!(Report::from_value("plant-0", &large), Err(report::Error::TooLarge { .. })));
    let other = value.replace("\"protocol\":\"1\"", "\"protocol\":\"9\"");
    assert!(matches!(Report::from_value("plant-0", &other), Err(report::Error::Protocol { .. })));
}

#[test]
fn lists_say_how_much_they_leave_out() {
    let names = (0..1_254).map(|n| n.to_string());
    let kept = cap::list(names, 50);
    assert_eq!((kept.len(), kept[50].as_str()), (51, "… and 1,204 more"));
    assert_eq!(cap::list(["a", "b"], 2), ["a", "b"]);
    assert_eq!(cap::Thousands(1_000_000).to_string(), "1,000,000");
}

#[test]
fn every_name_of_the_agents_container_is_its_own() {
    let env: BTreeSet<&str> = Env::ALL.iter().map(|env| env.as_str()).collect();
    let paths: BTreeSet<&str> = Volume::ALL.iter().map(|volume| volume.path()).collect();
    assert_eq!((env.len(), paths.len()), (Env::ALL.len(), Volume::ALL.len()));
    assert_eq!(Volume::Tmp.fallback(), "stoker-tmp");
    assert_eq!(Volume::ApiKey.file("apiKey"), "/etc/stoker/api-key/apiKey");
}

proptest! {
    // C11: an error text of any size becomes a report that fits.
    #[test]
    fn reports_always_fit_and_can_be_read(message in any::<String>(), project in ".{0,300}", count in 0..400_usize) {
        let large = Report {
            message: message.repeat(50),
            scan_result: message.repeat(50),
            projects_synced: vec![project.clone(); count],
            drift: Some(Drift { count: 9, paths: vec![project.clone(); count], repaired: false }),
            foreign_files: Some(ForeignFiles { count: 9, paths: vec![project.clone(); count] }),
            capabilities: vec![project; count],
            ..report()
        };
        let value = large.to_value();
        prop_assert!(value.len() <= limit::REPORT_BYTES, "{}", value.len());
        prop_assert!(Report::from_value("plant-0", &value).is_ok());
    }

    #[test]
    fn texts_are_cut_at_characters(text in any::<String>(), limit in 0..40_usize) {
        let cut = cap::text(&text, limit);
        prop_assert!(cut.len() <= limit && !cut.contains(char::is_control));
    }

    #[test]
    fn no_value_of_a_status_object_makes_the_reader_panic(value in any::<String>()) {
        prop_assert!(Report::from_value("plant-0", &value).is_err());
    }
}

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn sync(spec: Value) -> Sync {
    serde_json::from_value(spec).unwrap()
}

fn valid(spec: Value) -> Profiles {
    Profiles::of(&sync(spec)).unwrap()
}

/// The fields that are found fault with.
fn faulty(spec: Value) -> Vec<String> {
    Profiles::of(&sync(spec)).unwrap_err().faults.into_iter().map(|fault| fault.field).collect()
}

fn with_mapping(mapping: &Value) -> Value {
    json!({ "profiles": { "site": { "mappings": [mapping] } } })
}

fn with_profile(mut extra: Value) -> Value {
    extra["mappings"] = json!([{ "source": "a", "destination": "b" }]);
    json!({ "profiles": { "site": extra } })
}

#[test]
fn what_nobody_says_has_a_default() {
    let profiles = valid(with_profile(json!({})));
    let profile = &profiles.as_map()["site"];
    assert_eq!(profile.exclude_patterns, ["**/.git/", "**/.gitkeep", "**/.resources/**"]);
    assert_eq!((profile.sync_period, profile.max_delete_percent), (30, None));
    assert!(!profile.dry_run && !profile.paused && profile.vars.is_empty());
}

#[test]
fn excludes_add_up_vars_merge_and_the_rest_is_overridden() {
    let profiles = valid(json!({
        "defaults": {
            "excludePatterns": ["**/*.bak"], "vars": { "a": "1", "b": "1" }, "syncPeriod": 60,
            "driftPolicy": "report", "paused": true,
        },
        "profiles": { "site": {
            "mappings": [{ "source": "a", "destination": "b" }],
            "excludePatterns": ["x/**", "**/*.bak"], "vars": { "b": "2" }, "paused": false,
        } },
    }));
    let profile = &profiles.as_map()["site"];
    assert_eq!(profile.exclude_patterns, ["**/*.bak", "x/**", "**/.resources/**"]);
    assert_eq!(profile.vars, [("a", "1"), ("b", "2")].map(|(k, v)| (k.into(), v.into())).into());
    assert_eq!((profile.sync_period, profile.paused), (60, false));
    assert_eq!(profile.drift_policy.as_str(), "report");
}

#[test]
fn good_mappings_pass() {
    let mappings = [
        json!({ "source": ".", "destination": "." }),
        json!({ "source": "services/{{.GatewayName}}/projects/", "destination": "projects" }),
        json!({ "source": "f.json", "destination": "dir/", "type": "file",
            "patches": [{ "set": { "a.b": "{{.Vars.x}}" } }] }),
        json!({ "source": "{{if .Vars.x}}a{{else}}b{{end}}", "destination": "config/.stokerish",
            "patches": [{ "file": "**/{a,b}.json", "set": { "x": "1" } }] }),
    ];
    for mapping in mappings {
        valid(with_mapping(&mapping));
    }
}

// B1, R40, R50: what the schema missed is refused here, with the field's name.
#[test]
fn bad_mappings_are_refused_by_field() {
    let base = "spec.sync.profiles.site.mappings[0]";
    let cases = [
        (json!({ "source": "/etc", "destination": "a" }), "source"),
        (json!({ "source": "a/../../b", "destination": "a" }), "source"),
        (json!({ "source": "", "destination": "a" }), "source"),
        (json!({ "source": "{{.X", "destination": "a" }), "source"),
        (json!({ "source": "{{if .X}}a", "destination": "a" }), "source"),
        (json!({ "source": "../{{.X}}", "destination": "a" }), "source"),
        (json!({ "source": "a\u{0}", "destination": "a" }), "source"),
        (json!({ "source": "a", "destination": "/a" }), "destination"),
        (json!({ "source": "a", "destination": ".stoker" }), "destination"),
        (json!({ "source": "a", "destination": "./.stoker/x" }), "destination"),
        (json!({ "source": "a", "destination": ".sync-staging/x" }), "destination"),
        (json!({ "source": "a", "destination": "p/.stoker-x" }), "destination"),
        (
            json!({ "source": "a", "destination": "b", "patches": [{ "file": "[", "set": { "a": "1" } }] }),
            "patches[0].file",
        ),
        (
            json!({ "source": "a", "destination": "b", "patches": [{ "file": "x", "set": {} }] }),
            "patches[0].set",
        ),
        (
            json!({ "source": "a", "destination": "b", "patches": [{ "file": "x", "set": { "a": "{{" } }] }),
            "patches[0].set.a",
        ),
        (
            json!({ "source": "a", "destination": "b", "patches": [{ "file": "x", "set": { "a|b": "1" } }] }),
            "patches[0].set.a|b",
        ),
        (
            json!({ "source": "a", "destination": "b", "type": "dir", "patches": [{ "set": { "a": "1" } }] }),
            "patches[0].file",
        ),
    ];
    for (mapping, field) in cases {
        assert_eq!(faulty(with_mapping(&mapping)), [format!("{base}.{field}")], "{mapping}");
    }
}

// F9: also the name of a variable with a dash.
#[test]
fn bad_overrides_are_refused_in_defaults_and_profiles_alike() {
    let cases = [
        (json!({ "excludePatterns": ["ok", "[a"] }), "excludePatterns[1]"),
        (json!({ "vars": { "a-b": "x" } }), "vars.a-b"),
        (json!({ "vars": { "a": "x".repeat(5000) } }), "vars.a"),
        (json!({ "syncPeriod": 4 }), "syncPeriod"),
        (json!({ "syncPeriod": -1 }), "syncPeriod"),
        (json!({ "maxDeletePercent": 101 }), "maxDeletePercent"),
        (json!({ "designerSessionTimeout": "5 minutes" }), "designerSessionTimeout"),
    ];
    for (overrides, field) in cases {
        let found = faulty(with_profile(overrides.clone()));
        assert_eq!(found, [format!("spec.sync.profiles.site.{field}")], "{overrides}");
        assert_eq!(
            faulty(json!({ "defaults": overrides })),
            [format!("spec.sync.defaults.{field}")]
        );
    }
}

#[test]
fn the_limits_of_the_contract_hold() {
    let mapping = json!({ "source": "a", "destination": "b" });
    let profile = json!({ "mappings": [mapping] });
    let many: serde_json::Map<_, _> = (0..33).map(|i| (format!("p{i}"), profile.clone())).collect();
    assert_eq!(faulty(json!({ "profiles": many })), ["spec.sync.profiles"]);
    let site = |value: Value| json!({ "profiles": { "site": value } });
    let many = vec![mapping; 65];
    assert_eq!(faulty(site(json!({ "mappings": many }))), ["spec.sync.profiles.site.mappings"]);
    assert_eq!(faulty(site(json!({ "mappings": [] }))), ["spec.sync.profiles.site.mappings"]);
    let vars: serde_json::Map<_, _> = (0..65).map(|i| (format!("v{i}"), json!("x"))).collect();
    assert_eq!(faulty(with_profile(json!({ "vars": vars }))), ["spec.sync.profiles.site.vars"]);
}

#[test]
fn all_faults_are_found_at_once_and_the_message_is_short() {
    let many = vec![json!({ "source": "/a", "destination": "b" }); 8];
    let invalid =
        Profiles::of(&sync(json!({ "profiles": { "-": { "mappings": many } } }))).unwrap_err();
    assert_eq!(invalid.faults.len(), 9);
    assert!(invalid.to_string().ends_with("; and 4 more"), "{invalid}");
}

#[test]
fn a_profile_is_chosen_by_name_by_default_or_because_it_is_the_only_one() {
    let one = valid(with_profile(json!({})));
    assert_eq!(one.choose(None).unwrap().0.as_str(), "site");
    let profile = json!({ "mappings": [{ "source": "a", "destination": "b" }] });
    let two = valid(json!({ "profiles": { "a": profile, "b": profile } }));
    assert_eq!(two.choose(Some("b")).unwrap().0.as_str(), "b");
    let existing = vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(two.choose(None), Err(Unknown::Choice { existing: existing.clone() }));
    let wanted = "c".to_owned();
    assert_eq!(two.choose(Some("c")), Err(Unknown::Name { wanted, existing }));
    assert_eq!(Profiles::default().choose(None), Err(Unknown::Nothing));
}

#[test]
fn a_sync_profile_is_one_profile_with_the_defaults_of_its_user() {
    let object: SyncProfile = serde_json::from_value(json!({
        "apiVersion": "stoker.io/v1alpha1", "kind": "SyncProfile", "metadata": { "name": "p" },
        "spec": { "mappings": [{ "source": "a", "destination": "b" }], "vars": { "a": "1" } },
    }))
    .unwrap();
    let defaults: Overrides = serde_json::from_value(json!({ "vars": { "b": "2" } })).unwrap();
    let profile = Profiles::of_object(&object, &defaults).unwrap();
    assert_eq!(profile.vars.len(), 2);
    let mut bad = object;
    bad.spec.profile.mappings[0].source = "/".into();
    let invalid = Profiles::of_object(&bad, &defaults).unwrap_err();
    assert_eq!(invalid.faults[0].field, "spec.mappings[0].source");
}

proptest! {
    // Whatever is accepted can't leave the data directory by what it says literally.
    #[test]
    fn accepted_paths_stay_inside(source in "[a./{}x -]{1,12}", destination in "[a./.stoker-]{1,12}") {
        let spec = sync(with_mapping(&json!({ "source": source, "destination": destination })));
        if Profiles::of(&spec).is_ok() {
            prop_assert!(!destination.starts_with('/'));
            prop_assert!(destination.split('/').all(|part| part != ".."));
            prop_assert!(!destination.starts_with(".stoker/"));
        }
    }
}

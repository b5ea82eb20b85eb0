//! What each fault is called, and what fixes it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};
use stoker_api::condition::{ConditionType, Reason, SyncStatus};
use stoker_api::contract::report::DeletionBlocked;
use stoker_api::crd;
use stoker_api::names::{Annotation, FINALIZER};

use super::*;
use crate::gateway::name_of;
use crate::testing::{commit, now, plant, stored};

fn facts() -> Facts {
    Facts { now: now(), ..Facts::default() }
}

fn with_sync(change: impl FnOnce(&mut GatewaySync)) -> Facts {
    let mut sync = stored(plant());
    change(&mut sync);
    Facts { syncs: vec![sync], ..facts() }
}

fn press() -> PodFacts {
    let annotations = [(Annotation::Inject, "true"), (Annotation::CrName, "plant")];
    let annotations = annotations.map(|(name, value)| (name.to_string(), value.to_owned()));
    PodFacts {
        namespace: "line".into(),
        name: "press-0".into(),
        uid: "uid".into(),
        has_agent: true,
        annotations: annotations.into(),
        ..PodFacts::default()
    }
}

fn with_pod(pod: PodFacts) -> Facts {
    Facts { pods: vec![pod], ..with_sync(|_| ()) }
}

fn with_report(change: impl FnOnce(&mut Report)) -> Facts {
    let mut report =
        Report::new(name_of(None, None, "press-0"), "press-0", "uid", SyncStatus::Error);
    change(&mut report);
    Facts { reports: [(Key::new("line", "press-0"), report)].into(), ..with_pod(press()) }
}

fn refused(sync: &mut GatewaySync, reason: Reason) {
    let condition = json!({
        "type": ConditionType::RefResolved.as_str(), "status": "False",
        "reason": reason.as_str(), "message": "why", "lastTransitionTime": "2026-01-01T00:00:00Z",
    });
    sync.status = Some(serde_json::from_value(json!({ "conditions": [condition] })).unwrap());
}

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

/// Returns code and fix of the only finding.
fn only(facts: &Facts) -> (Code, String) {
    let found = facts.findings();
    assert_eq!(found.len(), 1, "{found:#?}");
    (found[0].code, found[0].fix.clone())
}

#[test]
fn a_healthy_plant_has_no_findings() {
    let report = with_report(|report| report.sync_status = SyncStatus::Synced);
    assert_eq!(report.findings(), []);
}

#[test]
fn a_missing_secret_and_a_missing_key_are_written_from_a_file() {
    let sync = |keys: Option<BTreeSet<String>>| Facts {
        secrets: [(Key::new("line", "git-token"), keys)].into(),
        ..with_sync(|sync| {
            let auth = json!({"token": {"secretRef": {"name": "git-token"}}});
            sync.spec.git.auth = Some(object(auth));
        })
    };
    let fix = "kubectl create secret generic git-token -n line --from-file=token=./token \
               --dry-run=client -o yaml | kubectl apply --server-side --force-conflicts -f -";
    assert_eq!(only(&sync(None)), (Code::SecretMissing, fix.to_owned()));
    let other = Some(["other".to_owned()].into());
    assert_eq!(only(&sync(other)), (Code::SecretKeyMissing, fix.to_owned()));
    assert_eq!(sync(Some(["token".to_owned()].into())).findings(), []);
    // A Secret that could not be read is not called missing.
    assert_eq!(Facts { secrets: BTreeMap::new(), ..sync(None) }.findings(), []);
}

// F04: of two Secrets the one that is missing is named.
#[test]
fn a_missing_api_key_is_not_taken_for_a_missing_token() {
    let key = |name: &str| Key::new("line", name);
    let facts = Facts {
        secrets: [(key("git"), Some(["token".to_owned()].into())), (key("gateway"), None)].into(),
        ..with_sync(|sync| {
            let auth = json!({"token": {"secretRef": {"name": "git"}}});
            sync.spec.git.auth = Some(object(auth));
            sync.spec.gateway = Some(object(json!({"apiKeySecretRef": {"name": "gateway"}})));
        })
    };
    let (code, fix) = only(&facts);
    assert_eq!(code, Code::SecretMissing);
    assert!(fix.starts_with("kubectl create secret generic gateway -n line "), "{fix}");
}

#[test]
fn a_pause_and_a_stop_are_resumed() {
    let paused = with_sync(|sync| sync.spec.paused = Some(true));
    assert_eq!(only(&paused), (Code::Paused, "stoker resume plant -n line".to_owned()));
    let stopped =
        Facts { emergency: [("ops".to_owned(), "fire".to_owned())].into(), ..with_sync(|_| ()) };
    let fix = "stoker resume --all --operator-namespace ops".to_owned();
    assert_eq!(only(&stopped), (Code::EmergencyStop, fix));
}

#[test]
fn an_unknown_ref_is_withdrawn_or_replaced_by_the_last_good_one() {
    let requested = with_sync(|sync| {
        refused(sync, Reason::RefResolutionFailed);
        let annotation = (Annotation::RequestedRef.to_string(), "v9".to_owned());
        sync.metadata.annotations = Some([annotation].into());
    });
    let fix = "kubectl annotate gatewaysync plant -n line stoker.io/requested-ref-".to_owned();
    assert_eq!(only(&requested), (Code::RequestedRefUnknown, fix));
    let of_spec = with_sync(|sync| {
        refused(sync, Reason::RefResolutionFailed);
        sync.status.as_mut().unwrap().last_sync_ref = Some("release".into());
    });
    let fix = "kubectl patch gatewaysync plant -n line --type=merge \
               -p '{\"spec\":{\"git\":{\"ref\":\"release\"}}}'";
    assert_eq!(only(&of_spec), (Code::RefUnknown, fix.to_owned()));
}

#[test]
fn a_deletion_that_no_operator_ends_is_let_go() {
    let deleted = |minutes: i64| {
        with_sync(|sync| {
            let since = now() - jiff::SignedDuration::from_mins(minutes);
            sync.metadata.deletion_timestamp = Some(Time(since));
            sync.metadata.finalizers = Some(vec![FINALIZER.into()]);
        })
    };
    let fix = "kubectl patch gatewaysync plant -n line --type=merge \
               -p '{\"metadata\":{\"finalizers\":null}}'";
    assert_eq!(only(&deleted(0)), (Code::DeletionStuck, fix.to_owned()));
    let ready = json!({"metadata": {"name": "stoker", "namespace": "ops"},
        "spec": {"replicas": 1, "selector": {}, "template": {}}, "status": {"readyReplicas": 1}});
    let with_operator =
        |minutes| Facts { operators: Some(vec![object(ready.clone())]), ..deleted(minutes) };
    assert_eq!(with_operator(1).findings(), []);
    assert_eq!(only(&with_operator(3)).0, Code::DeletionStuck);
}

#[test]
fn pods_are_corrected_in_their_template_and_restarted_by_their_owner() {
    let owner = pod::Owner { kind: "statefulset".into(), name: "press".into() };
    let missing = PodFacts { has_agent: false, ..press() };
    let replace = "kubectl get pod press-0 -n line -o yaml | kubectl replace --force -f -";
    assert_eq!(only(&with_pod(missing.clone())), (Code::AgentMissing, replace.to_owned()));
    let replaced = PodFacts { owner: Some(owner.clone()), ..missing };
    let delete = "kubectl delete pod press-0 -n line".to_owned();
    assert_eq!(only(&with_pod(replaced)), (Code::AgentMissing, delete));

    let mut unknown = PodFacts { owner: Some(owner), ..press() };
    unknown.annotations.insert(Annotation::Profile.to_string(), "blue".into());
    let patch = "kubectl patch statefulset press -n line --type=merge -p \
        '{\"spec\":{\"template\":{\"metadata\":{\"annotations\":{\"stoker.io/profile\":\"default\"}}}}}'";
    assert_eq!(only(&with_pod(unknown)), (Code::ProfileUnknown, patch.to_owned()));

    let mut stray = press();
    stray.annotations.insert(Annotation::CrName.to_string(), "plnat".into());
    let fix = "kubectl annotate pod press-0 -n line --overwrite stoker.io/cr-name=plant";
    assert_eq!(only(&with_pod(stray)), (Code::SyncUnknown, fix.to_owned()));
}

#[test]
fn an_account_without_rights_is_bound() {
    let bound = |accounts: &[&str]| Facts {
        bound: Some(
            [(Key::new("line", "plant"), accounts.iter().map(|name| (*name).to_owned()).collect())]
                .into(),
        ),
        ..with_pod(press())
    };
    let fix = "kubectl create rolebinding stoker-sync-plant-default -n line \
               --role=stoker-sync-plant --serviceaccount=line:default";
    assert_eq!(only(&bound(&["other"])), (Code::AgentNotBound, fix.to_owned()));
    assert_eq!(bound(&["default"]).findings(), []);
}

#[test]
fn a_blocked_deletion_waits_for_exactly_its_commit() {
    let blocked = |report: &mut Report| {
        report.reason = Some(Reason::DeletionBlocked);
        report.deletion_blocked =
            Some(DeletionBlocked { commit: commit('a'), deletes: 60, of: 90 });
    };
    let mut facts = with_report(blocked);
    let fix = format!(
        "kubectl annotate gatewaysync plant -n line --overwrite \
         stoker.io/allow-mass-delete={}",
        commit('a')
    );
    assert_eq!(only(&facts), (Code::DeletionBlocked, fix));
    let confirm = |commit: String| Some([(Annotation::AllowMassDelete.to_string(), commit)].into());
    facts.syncs[0].metadata.annotations = confirm(commit('b').to_string());
    assert_eq!(only(&facts).0, Code::DeletionBlocked);
    facts.syncs[0].metadata.annotations = confirm(commit('a').to_string());
    assert_eq!(facts.findings(), []);
}

#[test]
fn a_full_volume_grows_once() {
    let claim = |request: &str| {
        object::<PersistentVolumeClaim>(json!({
            "metadata": {"name": "data"},
            "spec": {"resources": {"requests": {"storage": request}}},
            "status": {"capacity": {"storage": "10Gi"}},
        }))
    };
    let full = |request: &str| {
        let mut facts = with_report(|report| report.reason = Some(Reason::DiskFull));
        facts.pods[0].claims = vec!["data".into()];
        facts.claims = [(Key::new("line", "data"), claim(request))].into();
        facts
    };
    let fix = "kubectl patch pvc data -n line --type=merge \
               -p '{\"spec\":{\"resources\":{\"requests\":{\"storage\":\"20Gi\"}}}}'";
    assert_eq!(only(&full("10Gi")), (Code::VolumeFull, fix.to_owned()));
    assert_eq!(full("20Gi").findings(), []);
}

#[test]
fn other_reports_lead_to_their_remedy() {
    let report = |reason| only(&with_report(|report| report.reason = Some(reason)));
    assert_eq!(report(Reason::GatewayUnauthorized).0, Code::ApiKeyRefused);
    assert_eq!(report(Reason::GatewayForbidden).0, Code::ApiKeyForbidden);
    let logs = "stoker logs plant -n line --pod press-0".to_owned();
    assert_eq!(report(Reason::ScanFailed), (Code::GatewayFailed, logs));
    // The report of a pod that is gone says nothing about its successor.
    let old = with_report(|report| report.pod_uid = "old".into());
    assert_eq!(old.findings(), []);
    let ahead = with_report(|report| {
        report.sync_status = SyncStatus::Synced;
        report.synced_at = Some(now() + jiff::SignedDuration::from_mins(10));
    });
    assert_eq!(only(&ahead).0, Code::ClockSkew);
}

fn webhook(selector: &Value, bundle: &str) -> MutatingWebhookConfiguration {
    object(json!({
        "metadata": {"name": "stoker-pod-injection"},
        "webhooks": [{
            "name": WEBHOOK,
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {
                "caBundle": base64(bundle),
                "service": {"name": "stoker-webhook-service", "namespace": "ops"},
            },
            "namespaceSelector": selector,
        }],
    }))
}

/// Returns bytes as manifests have them.
fn base64(text: &str) -> Value {
    let bytes = k8s_openapi::ByteString(text.as_bytes().to_vec());
    serde_json::to_value(bytes).unwrap()
}

#[test]
fn a_namespace_that_the_webhook_leaves_out_is_labelled() {
    let selector = json!({
        "matchLabels": {"stoker.io/injection": "enabled"},
        "matchExpressions": [
            {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["kube-system"]}],
    });
    let labelled = |labels: &[(&str, &str)]| {
        let labels = labels.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Facts {
            webhooks: Some(vec![webhook(&selector, "ca")]),
            namespaces: [("line".to_owned(), labels.collect())].into(),
            ..with_pod(press())
        }
    };
    let fix = "kubectl label namespace line stoker.io/injection=enabled --overwrite".to_owned();
    assert_eq!(only(&labelled(&[])), (Code::NamespaceNotLabelled, fix));
    let mut reached = labelled(&[("stoker.io/injection", "enabled")]);
    assert_eq!(reached.findings(), []);
    reached.trials.insert("line".to_owned(), false);
    assert_eq!(only(&reached).0, Code::WebhookUnreachable);
}

#[test]
fn a_bundle_must_have_the_ca_and_a_certificate_must_last() {
    let trusted = |bundle: &str, ca: &str, ends: Option<&str>| {
        let ends = ends.map(|ends| ends.parse().unwrap());
        let key = Key::new("ops", "stoker-webhook-tls");
        let facts = Facts {
            webhooks: Some(vec![webhook(&json!({}), bundle)]),
            certificates: [(key, Certificate { ca: ca.to_owned(), ends })].into(),
            ..facts()
        };
        facts.findings().into_iter().map(|finding| finding.code).collect::<Vec<_>>()
    };
    assert_eq!(trusted("old new", "new\n", Some("2027-01-01T00:00:00Z")), []);
    assert_eq!(trusted("", "new", None), [Code::CaBundleWrong]);
    assert_eq!(trusted("old", "new", None), [Code::CaBundleWrong]);
    assert_eq!(trusted("a", "a", Some("2026-01-01T00:00:00Z")), [Code::CertificateExpired]);
}

#[test]
fn the_operator_is_installed_scaled_and_at_work() {
    let operator = |replicas: i32, ready: i32| Facts {
        operators: Some(vec![object(json!({
            "metadata": {"name": "stoker", "namespace": "ops"},
            "spec": {"replicas": replicas, "selector": {}, "template": {}},
            "status": {"readyReplicas": ready},
        }))]),
        leases: vec![object(json!({
            "metadata": {"name": "lease", "namespace": "ops"},
            "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15,
                "renewTime": "2026-11-16T11:59:50.000000Z"},
        }))],
        ..facts()
    };
    assert_eq!(operator(2, 2).findings(), []);
    let fix = "kubectl scale deployment stoker -n ops --replicas=2".to_owned();
    assert_eq!(only(&operator(0, 0)), (Code::OperatorScaledDown, fix));
    let fix = "kubectl rollout restart deployment stoker -n ops".to_owned();
    assert_eq!(only(&operator(2, 0)), (Code::OperatorNotReady, fix.clone()));
    let later = Facts { now: now() + jiff::SignedDuration::from_mins(5), ..operator(2, 2) };
    assert_eq!(only(&later), (Code::LeaseExpired, fix));
    let earlier = Facts { now: now() - jiff::SignedDuration::from_mins(5), ..operator(2, 2) };
    assert_eq!(only(&earlier).0, Code::ClockSkew);
    let install = "helm upgrade --install stoker-operator charts/stoker-operator -n stoker-system \
                   --create-namespace";
    let missing = only(&Facts { operators: Some(vec![]), ..facts() });
    assert_eq!(missing, (Code::OperatorMissing, install.to_owned()));
}

#[test]
fn definitions_are_there_and_have_every_field() {
    let established = |mut found: CustomResourceDefinition| {
        let condition = json!({"type": "Established", "status": "True", "reason": "a",
            "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z"});
        found.status = Some(object(json!({ "conditions": [condition] })));
        (found.metadata.name.clone().unwrap(), found)
    };
    let mut all: BTreeMap<_, _> = crd::all().into_iter().map(established).collect();
    let facts = |all: &BTreeMap<_, _>| Facts { definitions: Some(all.clone()), ..facts() };
    assert_eq!(facts(&all).findings(), []);
    let name = "gatewaysyncs.stoker.io";
    let found = all.get_mut(name).unwrap();
    let schema = found.spec.versions[0].schema.as_mut().unwrap();
    let fields = schema.open_api_v3_schema.as_mut().unwrap().properties.as_mut().unwrap();
    fields.get_mut("spec").unwrap().properties.as_mut().unwrap().remove("paused").unwrap();
    let outdated = facts(&all).findings();
    assert_eq!(outdated[0].code, Code::DefinitionOutdated);
    assert!(outdated[0].message.contains("\"spec.paused\""), "{outdated:?}");
    all.remove(name);
    assert_eq!(only(&facts(&all)).0, Code::DefinitionMissing);
}

#[test]
fn one_gatewaysync_is_looked_at_alone() {
    let mut facts = with_sync(|sync| sync.spec.paused = Some(true));
    let mut other = facts.syncs[0].clone();
    other.metadata.name = Some("other".into());
    facts.syncs.push(other);
    facts.pods = vec![PodFacts { has_agent: false, ..press() }];
    assert_eq!(facts.findings().len(), 3);
    let alone = facts.only(&Key::new("line", "other")).findings();
    assert_eq!(alone.len(), 1, "{alone:?}");
    assert_eq!(alone[0].object, "GatewaySync line/other");
}

#[test]
fn a_pinned_host_key_is_dropped_by_a_person_who_compared_it_and_not_by_the_fix() {
    let facts = with_sync(|sync| {
        refused(sync, Reason::RemoteUnreachable);
        let pinned = object(json!({
            "type": ConditionType::SshHostKeyVerification.as_str(), "status": "False",
            "reason": Reason::HostKeyTrustedOnFirstUse.as_str(), "message": "",
            "lastTransitionTime": "2026-01-01T00:00:00Z",
        }));
        sync.status.as_mut().unwrap().conditions.push(pinned);
    });
    let findings = facts.findings();
    let found = findings.iter().find(|finding| finding.code == Code::RemoteUnreachable).unwrap();
    assert!(!found.fix.contains(Annotation::ForgetHostKey.as_str()), "{}", found.fix);
    assert!(found.message.contains("compare its fingerprint"), "{}", found.message);
}

//! The installation: definitions, operator, webhook and namespaces.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use k8s_openapi::api::admissionregistration::v1::{MutatingWebhook, MutatingWebhookConfiguration};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use stoker_api::crd;
use stoker_api::names::Label;

use super::{Code, Facts, Finding, Key, Outdated, Severity, Unread, definition};

/// The webhook that injects agents.
pub const WEBHOOK: &str = "pod-inject.stoker.io";

/// How the name of its configuration ends, and how those of the Secrets with its certificate end:
/// the operator's own, and that of cert-manager.
const CONFIGURATION_SUFFIX: &str = "-pod-injection";
/// How the names of the Secrets with a webhook's certificate end: the operator's own, and that of
/// cert-manager.
pub const CERTIFICATE_SUFFIXES: [&str; 2] = ["-webhook-tls", "-webhook-cert"];

/// From a checkout or from an unpacked release, as the quickstart does it.
const INSTALL: &str = "helm upgrade --install stoker-operator charts/stoker-operator \
                       -n stoker-system --create-namespace";

/// Returns namespace and prefix of the Secrets with the certificate of a webhook.
pub fn certificate_owner(configuration: &MutatingWebhookConfiguration) -> Option<Key> {
    let prefix = configuration.metadata.name.as_deref()?.strip_suffix(CONFIGURATION_SUFFIX)?;
    let hook = injector(configuration)?;
    Some(Key::new(&hook.client_config.service.as_ref()?.namespace, prefix))
}

pub(super) fn examine(facts: &Facts, found: &mut Vec<Finding>) {
    found.extend(facts.unread.iter().map(unreadable));
    definitions(facts, found);
    operators(facts, found);
    webhooks(facts, found);
    namespaces(facts, found);
    for (namespace, reason) in &facts.emergency {
        let why = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        found.push(Finding {
            severity: Severity::Problem,
            code: Code::EmergencyStop,
            object: format!("ConfigMap {namespace}/stoker-pause"),
            message: format!("the emergency stop holds every GatewaySync{why}"),
            fix: format!("stoker resume --all --operator-namespace {namespace}"),
        });
    }
}

fn unreadable(unread: &Unread) -> Finding {
    let Unread { resource, namespace, message, is_forbidden } = unread;
    let place = namespace.as_ref().map_or("-A".to_owned(), |namespace| format!("-n {namespace}"));
    Finding {
        severity: Severity::Note,
        code: Code::Unreadable,
        object: resource.clone(),
        message: format!("not checked: {message}"),
        fix: if *is_forbidden {
            format!("kubectl auth can-i list {resource} {place}")
        } else {
            format!("kubectl get {resource} {place}")
        },
    }
}

fn definitions(facts: &Facts, found: &mut Vec<Finding>) {
    let Some(definitions) = &facts.definitions else { return };
    for ours in crd::all() {
        let name = ours.metadata.name.clone().unwrap_or_default();
        let (code, message) = match definitions.get(&name) {
            None => (Code::DefinitionMissing, "the definition does not exist".to_owned()),
            Some(found) => match definition::judge(&ours, found) {
                Ok(()) => continue,
                Err(fault @ (Outdated::NotServed { .. } | Outdated::Lacks { .. })) => {
                    (Code::DefinitionOutdated, fault.to_string())
                }
            },
        };
        found.push(Finding {
            severity: Severity::Problem,
            code,
            object: format!("CustomResourceDefinition {name}"),
            message,
            fix: upgrade(facts),
        });
    }
}

/// Installs the definitions again, as the release that is there.
fn upgrade(facts: &Facts) -> String {
    let release = facts.operators.iter().flatten().find_map(|operator| {
        let labels = operator.metadata.labels.as_ref()?;
        let namespace = operator.metadata.namespace.as_deref()?;
        Some((labels.get("app.kubernetes.io/instance")?.as_str(), namespace))
    });
    match release {
        Some((name, namespace)) => format!(
            "helm upgrade {name} charts/stoker-operator -n {namespace} --reset-then-reuse-values \
             --set crds.upgrade=true"
        ),
        None => INSTALL.to_owned(),
    }
}

fn operators(facts: &Facts, found: &mut Vec<Finding>) {
    let Some(operators) = &facts.operators else { return };
    if operators.is_empty() {
        found.push(Finding {
            severity: Severity::Problem,
            code: Code::OperatorMissing,
            object: "Deployment".to_owned(),
            message: "no operator is installed".to_owned(),
            fix: INSTALL.to_owned(),
        });
    }
    for operator in operators {
        let Some(name) = key(operator) else { continue };
        let wanted = operator.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
        let ready = operator.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0);
        let problem = |code, message: &str, fix| Finding {
            severity: Severity::Problem,
            code,
            object: format!("Deployment {}/{}", name.namespace, name.name),
            message: message.to_owned(),
            fix,
        };
        if wanted == 0 {
            let Key { namespace, name } = &name;
            let fix = format!("kubectl scale deployment {name} -n {namespace} --replicas=2");
            found.push(problem(Code::OperatorScaledDown, "the operator has no replicas", fix));
        } else if ready == 0 {
            let message = "no replica of the operator is ready";
            found.push(problem(Code::OperatorNotReady, message, restart(&name)));
        } else {
            leases(facts, &name, found);
        }
    }
}

fn leases(facts: &Facts, operator: &Key, found: &mut Vec<Finding>) {
    let of_operator = |name: &Option<String>| name.as_deref() == Some(&operator.namespace);
    for lease in facts.leases.iter().filter(|lease| of_operator(&lease.metadata.namespace)) {
        let Some(spec) = &lease.spec else { continue };
        let valid = SignedDuration::from_secs(spec.lease_duration_seconds.unwrap_or(15).into());
        let Some(renewed) = spec.renew_time.as_ref().map(|time| time.0) else { continue };
        let object = format!(
            "Lease {}/{}",
            operator.namespace,
            lease.metadata.name.as_deref().unwrap_or_default()
        );
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        let is_held = !holder.is_empty();
        // Two more periods: another replica may be taking it over.
        if facts.now.duration_since(renewed) > valid * 3 {
            found.push(Finding {
                severity: Severity::Problem,
                code: Code::LeaseExpired,
                object,
                message: if is_held {
                    format!("{holder:?} holds the Lease but does not renew it")
                } else {
                    "no operator holds the Lease".to_owned()
                },
                fix: restart(operator),
            });
        } else if renewed.duration_since(facts.now) > SKEW {
            found.push(Finding {
                severity: Severity::Problem,
                code: Code::ClockSkew,
                object,
                message: format!(
                    "the clock of {holder:?} is {} s ahead of the API server's",
                    renewed.duration_since(facts.now).as_secs()
                ),
                fix: "timedatectl set-ntp true # on the node of the operator".to_owned(),
            });
        }
    }
}

/// How far clocks may differ.
pub(super) const SKEW: SignedDuration = SignedDuration::from_secs(60);

fn webhooks(facts: &Facts, found: &mut Vec<Finding>) {
    let Some(webhooks) = &facts.webhooks else { return };
    let is_installed = facts.operators.as_ref().is_some_and(|operators| !operators.is_empty());
    if webhooks.is_empty() && is_installed {
        found.push(Finding {
            severity: Severity::Problem,
            code: Code::WebhookMissing,
            object: "MutatingWebhookConfiguration".to_owned(),
            message: "no webhook injects agents".to_owned(),
            fix: upgrade(facts).replace("crds.upgrade", "webhook.enabled"),
        });
    }
    for configuration in webhooks {
        let name = configuration.metadata.name.as_deref().unwrap_or_default();
        let Some(hook) = injector(configuration) else { continue };
        let Some(owner) = certificate_owner(configuration) else { continue };
        let operator = facts.operators.iter().flatten().filter_map(key);
        let operator = operator.into_iter().find(|it| it.namespace == owner.namespace);
        let fix = operator.map_or_else(|| upgrade(facts), |operator| restart(&operator));
        let mut problem = |code, message: String| {
            found.push(Finding {
                severity: Severity::Problem,
                code,
                object: format!("MutatingWebhookConfiguration {name}"),
                message,
                fix: fix.clone(),
            });
        };
        let bundle = hook.client_config.ca_bundle.as_ref();
        let bundle = bundle.map(|bundle| String::from_utf8_lossy(&bundle.0).into_owned());
        let bundle = bundle.unwrap_or_default();
        let certificate = CERTIFICATE_SUFFIXES.iter().find_map(|suffix| {
            let name = format!("{}{suffix}", owner.name);
            facts.certificates.get(&Key::new(&owner.namespace, &name))
        });
        if bundle.is_empty() {
            problem(Code::CaBundleWrong, "caBundle is empty".to_owned());
        } else if certificate.is_some_and(|it| !bundle.contains(it.ca.trim())) {
            let message = "caBundle does not have the CA of the webhook's certificate";
            problem(Code::CaBundleWrong, message.to_owned());
        }
        if let Some(ends) = certificate.and_then(|it| it.ends).filter(|ends| *ends < facts.now) {
            problem(Code::CertificateExpired, format!("the webhook's certificate ended at {ends}"));
        }
    }
}

/// Namespaces in which pods ask for an agent.
fn namespaces(facts: &Facts, found: &mut Vec<Finding>) {
    let Some(webhooks) = &facts.webhooks else { return };
    let hooks: Vec<&MutatingWebhook> = webhooks.iter().filter_map(injector).collect();
    let asking = facts.pods.iter().filter(|pod| pod.asks_for_agent());
    let asking: BTreeSet<&str> = asking.map(|pod| &*pod.namespace).collect();
    for namespace in asking {
        let Some(labels) = facts.namespaces.get(namespace) else { continue };
        let is_selected = |hook: &&&MutatingWebhook| {
            hook.namespace_selector.as_ref().is_none_or(|selector| selects(selector, labels))
        };
        let object = format!("Namespace {namespace}");
        if hooks.iter().find(is_selected).is_none() {
            found.push(Finding {
                severity: Severity::Problem,
                code: Code::NamespaceNotLabelled,
                object,
                message: "pods here ask for an agent, but the webhook is not called for this \
                          namespace"
                    .to_owned(),
                fix: format!(
                    "kubectl label namespace {namespace} {}=enabled --overwrite",
                    Label::Injection
                ),
            });
        } else if facts.trials.get(namespace) == Some(&false) {
            let operator = facts.operators.iter().flatten().find_map(key);
            found.push(Finding {
                severity: Severity::Problem,
                code: Code::WebhookUnreachable,
                object,
                message: "a pod that was created as a dry run got no agent: the API server does \
                          not reach the webhook"
                    .to_owned(),
                fix: operator.map_or_else(|| INSTALL.to_owned(), |operator| restart(&operator)),
            });
        }
    }
}

/// Says whether a selector selects these labels.
fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let equal = selector.match_labels.iter().flatten();
    let mut wanted = equal.map(|(name, value)| labels.get(name) == Some(value));
    let expressions = selector.match_expressions.iter().flatten();
    let mut judged = expressions.map(|expression| {
        let values = expression.values.as_deref().unwrap_or_default();
        let value = labels.get(&expression.key);
        let is_in = value.is_some_and(|value| values.contains(value));
        match expression.operator.as_str() {
            "In" => is_in,
            "NotIn" => !is_in,
            "Exists" => value.is_some(),
            _ => value.is_none(),
        }
    });
    wanted.all(|holds| holds) && judged.all(|holds| holds)
}

fn injector(configuration: &MutatingWebhookConfiguration) -> Option<&MutatingWebhook> {
    configuration.webhooks.iter().flatten().find(|hook| hook.name == WEBHOOK)
}

fn key(operator: &Deployment) -> Option<Key> {
    let metadata = &operator.metadata;
    Some(Key::new(metadata.namespace.as_deref()?, metadata.name.as_deref()?))
}

fn restart(operator: &Key) -> String {
    format!("kubectl rollout restart deployment {} -n {}", operator.name, operator.namespace)
}

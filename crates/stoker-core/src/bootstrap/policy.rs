//! A PodBootstrap, checked and ready to be used for every pod.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fmt::{self, Display, Formatter};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use stoker_api::podbootstrap::{
    CaBundle, Housekeeping, HousekeepingMode, OnChange, PodBootstrapSpec, Variable,
};
use stoker_text::image::{ImageRefError, is_name_prefix};

use super::image::{self, Rule};
use super::{BUNDLE_FILE, CA_FILE};
use crate::repair::selects;

/// The variable that adds to the public roots instead of replacing them.
const ADDS_TO_ROOTS: &str = "NODE_EXTRA_CA_CERTS";
/// The characters of a mark.
const MARK: usize = 12;

/// A policy that is valid.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    rules: Vec<Rule>,
    pub(super) pull_secret: Option<String>,
    pub(super) ca: Option<CaMount>,
    pub(super) env: Vec<Variable>,
    excluded_namespaces: Vec<String>,
    excluded_pods: Option<LabelSelector>,
    /// What is done about pods without a mark.
    pub mode: HousekeepingMode,
    /// What is done about pods with an older mark.
    pub on_change: OnChange,
    /// How many pods are evicted in a minute at most.
    pub max_per_minute: u32,
    digest: [u8; 32],
}

/// Where certificates are mounted, and the variables that point to them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CaMount {
    pub(super) path: String,
    pub(super) variables: Vec<Variable>,
}

/// One thing that is wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The field, such as `spec.registries[0].from`.
    pub field: String,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Display for Problem {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.message)
    }
}

impl Policy {
    /// Checks a policy.
    ///
    /// # Errors
    /// Fails with everything that is wrong with it.
    pub fn compile(spec: &PodBootstrapSpec) -> Result<Self, Vec<Problem>> {
        let problems = problems(spec);
        if !problems.is_empty() {
            return Err(problems);
        }
        let exclude = spec.exclude.clone().unwrap_or_default();
        let housekeeping = spec.housekeeping.clone().unwrap_or_default();
        let rate = housekeeping.max_per_minute.and_then(|rate| u32::try_from(rate).ok());
        // An empty selector selects nothing here: it must not switch the policy off.
        let selector = exclude.pod_selector.filter(|selector| {
            selector.match_labels.as_ref().is_some_and(|labels| !labels.is_empty())
                || selector.match_expressions.as_ref().is_some_and(|all| !all.is_empty())
        });
        Ok(Self {
            rules: spec.registries.iter().map(Rule::new).collect(),
            pull_secret: spec.pull_secret.as_ref().map(|secret| secret.name.clone()),
            ca: spec.ca_bundle.as_ref().map(CaMount::new),
            env: spec.env.iter().map(literal).collect(),
            excluded_namespaces: exclude.namespaces,
            excluded_pods: selector,
            mode: housekeeping.mode.unwrap_or(HousekeepingMode::Report),
            on_change: housekeeping.on_change.unwrap_or(OnChange::Report),
            max_per_minute: rate.unwrap_or(Housekeeping::DEFAULT_MAX_PER_MINUTE.unsigned_abs()),
            digest: digest(spec),
        })
    }

    /// Returns the mark of pods that this policy changed: a hash of what the policy does and of the
    /// certificates that it mounts. Exceptions and housekeeping are not part of it.
    pub fn mark(&self, certificates: Option<&str>) -> String {
        let mut hasher = Sha256::new();
        hasher.update(self.digest);
        hasher.update(certificates.filter(|_| self.ca.is_some()).unwrap_or_default());
        let digest = hasher.finalize();
        digest.iter().take(MARK / 2).fold(String::new(), |mut text, byte| {
            write!(text, "{byte:02x}").expect("a string takes any text");
            text
        })
    }

    /// Says whether the policy mounts certificates.
    pub fn has_ca(&self) -> bool {
        self.ca.is_some()
    }

    pub(super) fn rewrite(&self, image: &str) -> Result<Option<String>, ImageRefError> {
        if self.rules.is_empty() {
            return Ok(None);
        }
        image::rewrite(image, &self.rules)
    }

    pub(super) fn is_mapped(&self, image: &str) -> bool {
        image::is_mapped(image, &self.rules)
    }

    /// Says whether the policy leaves this namespace alone.
    pub fn excludes_namespace(&self, name: &str) -> bool {
        self.excluded_namespaces.iter().any(|excluded| excluded == name)
    }

    pub(super) fn excludes_pod(&self, labels: &BTreeMap<String, String>) -> bool {
        self.excluded_pods.as_ref().is_some_and(|selector| selects(selector, labels))
    }
}

impl CaMount {
    fn new(bundle: &CaBundle) -> Self {
        let path = bundle.mount_path.as_deref().unwrap_or(CaBundle::DEFAULT_MOUNT_PATH);
        let path = path.trim_end_matches('/');
        let whole = bundle.include_public_roots.unwrap_or(true);
        let variable = |name: &String| {
            let file = if whole && name != ADDS_TO_ROOTS { BUNDLE_FILE } else { CA_FILE };
            Variable { name: name.clone(), value: format!("{path}/{file}") }
        };
        Self { path: path.to_owned(), variables: bundle.env.iter().map(variable).collect() }
    }
}

/// Kubernetes would expand `$(…)`. Two dollars stand for one.
fn literal(variable: &Variable) -> Variable {
    Variable { name: variable.name.clone(), value: variable.value.replace("$(", "$$(") }
}

fn problems(spec: &PodBootstrapSpec) -> Vec<Problem> {
    let mut found = Vec::new();
    let mut add = |field: String, message: String| found.push(Problem { field, message });
    check_registries(spec, &mut add);
    check_selector(spec, &mut add);
    found
}

fn check_registries(spec: &PodBootstrapSpec, add: &mut impl FnMut(String, String)) {
    let rules: Vec<Rule> = spec.registries.iter().map(Rule::new).collect();
    for (index, registry) in spec.registries.iter().enumerate() {
        for (name, text) in [("from", &registry.from), ("to", &registry.to)] {
            if !is_name_prefix(text) {
                add(
                    format!("spec.registries[{index}].{name}"),
                    format!(
                        "{text:?} is not a registry with whole components of a path, such as ghcr.io/acme: remove scheme, tag and digest"
                    ),
                );
            }
        }
    }
    for (index, rule) in rules.iter().enumerate() {
        for (other, earlier) in rules.iter().enumerate() {
            if other < index && earlier.from == rule.from {
                add(
                    format!("spec.registries[{index}].from"),
                    format!("{:?} is mapped twice: remove one of the two", rule.from),
                );
            }
            // Such an image would be taken for one that was rewritten already.
            if other != index && image::rest(&rule.from, &earlier.to).is_some() {
                add(
                    format!("spec.registries[{index}].from"),
                    format!(
                        "{:?} lies below {:?}, which spec.registries[{other}] maps to: an image could be rewritten twice, so choose another",
                        rule.from, earlier.to
                    ),
                );
            }
            if other != index && image::rest(&rule.to, &earlier.from).is_some() {
                add(
                    format!("spec.registries[{index}].to"),
                    format!(
                        "{:?} lies below {:?}, which spec.registries[{other}] maps: an image could be rewritten twice, so choose another",
                        rule.to, earlier.from
                    ),
                );
            }
        }
    }
}

fn check_selector(spec: &PodBootstrapSpec, add: &mut impl FnMut(String, String)) {
    let requirements = spec.exclude.as_ref().and_then(|exclude| exclude.pod_selector.as_ref());
    let requirements = requirements.and_then(|it| it.match_expressions.as_ref());
    for (index, requirement) in requirements.into_iter().flatten().enumerate() {
        let has_values = requirement.values.as_ref().is_some_and(|values| !values.is_empty());
        let field = format!("spec.exclude.podSelector.matchExpressions[{index}]");
        match (requirement.operator.as_str(), has_values) {
            ("In" | "NotIn", true) | ("Exists" | "DoesNotExist", false) => {}
            ("In" | "NotIn", false) => add(field, "In and NotIn need values: add one".to_owned()),
            ("Exists" | "DoesNotExist", true) => {
                add(field, "Exists and DoesNotExist take no values: remove them".to_owned());
            }
            (other, _) => add(
                field,
                format!("{other:?} is none of In, NotIn, Exists, DoesNotExist: correct it"),
            ),
        }
    }
}

/// Hashes what the policy does to pods.
fn digest(spec: &PodBootstrapSpec) -> [u8; 32] {
    let text = json!({
        "registries": spec.registries,
        "pullSecret": spec.pull_secret,
        "caBundle": spec.ca_bundle,
        "env": spec.env,
    });
    Sha256::digest(text.to_string()).into()
}

//! The policy by which the API server ties each report to the pod that it is about.
//!
//! RBAC lets the agents of a GatewaySync write its status objects. Which key of them an agent writes
//! is the policy's matter: a token that the kubelet mounts says which pod it is for.
//!
//! Operators run in pods, too, and remove the reports of others. The chart exempts its own operator
//! by name. Other operators of the cluster are known by a right that no agent has: an account that
//! may write the status of GatewaySyncs gains nothing from a forged report.

use serde_json::{Value, json};

use super::HEADER;
use crate::names::{GROUP, Label, MANAGED_BY, STATUS_PREFIX};

/// Stands for the user name of the operator, which the chart knows.
pub const OPERATOR_USER: &str = "OPERATOR_USER";

/// How the API server names the pod of a token.
const POD_NAME: &str = "authentication.kubernetes.io/pod-name";

/// Fields of a status object that are the controller's.
const OTHERS: [&str; 6] = [
    "binaryData",
    "immutable",
    "metadata.?labels",
    "metadata.?annotations",
    "metadata.?ownerReferences",
    "metadata.?finalizers",
];

/// Returns the `spec` of the policy as a file of the chart: name and content.
pub fn status_policy() -> (&'static str, String) {
    let label = Label::ManagedBy.as_str();
    let is_ours = format!(
        "request.name.startsWith('{STATUS_PREFIX}') && \
         oldObject.metadata.?labels['{label}'].orValue('') == '{MANAGED_BY}'"
    );
    let same = |field: &&str| {
        let path = if field.contains('.') { (*field).to_owned() } else { format!("?{field}") };
        format!("object.{path} == oldObject.{path}")
    };
    let others = OTHERS.iter().map(same).collect::<Vec<_>>().join(" && ");
    // Last, so that the authorizer is asked only for a request that would be denied.
    let or_operator = |holds: &str| format!("({holds}) || variables.isOperator");
    let own_report = "variables.before.all(key, key == variables.pod || \
                      (key in variables.after && variables.after[key] == variables.before[key])) \
                      && variables.after.all(key, key == variables.pod || key in variables.before)";
    let own_namespace =
        "request.userInfo.username.startsWith('system:serviceaccount:' + request.namespace + ':')";
    let spec = json!({
        "failurePolicy": "Fail",
        "matchConstraints": { "resourceRules": [{
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["UPDATE"],
            "resources": ["configmaps"],
        }] },
        "matchConditions": [
            { "name": "status-object", "expression": is_ours },
            // A request without it is a person's, or of a token that is not a pod's: RBAC decides.
            // Kubernetes 1.30 leaves `extra` out where it is empty.
            { "name": "from-a-pod", "expression": format!(
                "has(request.userInfo.extra) && '{POD_NAME}' in request.userInfo.extra"
            ) },
            {
                "name": "not-the-operator",
                "expression": format!("request.userInfo.username != '{OPERATOR_USER}'"),
            },
        ],
        "variables": variables(),
        "validations": [
            {
                "expression": or_operator(own_report),
                "messageExpression": "'pod ' + variables.pod + ' may write its own report only'",
                "reason": "Forbidden",
            },
            {
                "expression": or_operator(&others),
                "message": "agents may write reports only: the rest of a status object is the controller's",
                "reason": "Forbidden",
            },
            {
                "expression": or_operator(own_namespace),
                "message": "only pods of this namespace may write reports here",
                "reason": "Forbidden",
            },
        ],
    });
    let body = serde_saphyr::to_string(&spec).expect("string keys only, so it serialises");
    ("status-policy.yaml", format!("{HEADER}{body}"))
}

fn variables() -> Value {
    json!([
        { "name": "pod", "expression": format!("request.userInfo.extra['{POD_NAME}'][0]") },
        { "name": "before", "expression": "oldObject.?data.orValue({})" },
        { "name": "after", "expression": "object.?data.orValue({})" },
        { "name": "isOperator", "expression": format!(
            "authorizer.group('{GROUP}').resource('gatewaysyncs').subresource('status')\
             .namespace(request.namespace).check('patch').allowed()"
        ) },
    ])
}

//! The response to an `AdmissionReview`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use stoker_core::admission::Decision;

/// Builds the `AdmissionReview` that answers the request with this id.
pub(super) fn build(uid: &str, decision: &Decision) -> Vec<u8> {
    let mut response = json!({ "uid": uid, "allowed": true });
    match decision {
        Decision::Pass(_) => {}
        Decision::Admit(warnings) => warn(&mut response, warnings),
        Decision::Deny(denial) => {
            response["allowed"] = json!(false);
            response["status"] = json!({ "code": 403, "message": denial.message });
        }
        Decision::Inject(injection) => {
            // A patch is a list of plain values: it can't fail to be written.
            let patch = serde_json::to_vec(&injection.patch).unwrap_or_default();
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(STANDARD.encode(patch));
            warn(&mut response, &injection.warnings);
        }
    }
    review(&response)
}

/// Wraps a response.
pub(crate) fn review(response: &Value) -> Vec<u8> {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": response,
    });
    review.to_string().into_bytes()
}

fn warn(response: &mut Value, warnings: &[String]) {
    if !warnings.is_empty() {
        response["warnings"] = json!(warnings);
    }
}

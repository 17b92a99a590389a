//! Encodes the AdmissionReview of a response.
//!
//! - Invariant: a denial has no patch, and there is a patch type only with a patch.

use super::verdict::{ReviewVerdict, clean_message};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use std::collections::BTreeMap;

/// The maximum number of annotations of a response.
const ANNOTATIONS_MAX: usize = 16;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionReviewBody<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: AdmissionResponseBody<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct AdmissionResponseBody<'a> {
    uid: &'a str,
    allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<AdmissionStatus<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    patch: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    audit_annotations: BTreeMap<&'a str, String>,
}

#[derive(Serialize)]
struct AdmissionStatus<'a> {
    status: &'static str,
    message: String,
    reason: &'a str,
    code: u16,
}

/// Encodes the response to the review with this uid.
pub(super) fn encode(uid: &str, verdict: &ReviewVerdict) -> Vec<u8> {
    let patch = (verdict.denial.is_none() && !verdict.patch.is_empty())
        .then(|| STANDARD.encode(verdict.patch.to_json()));
    let response = AdmissionResponseBody {
        uid,
        allowed: verdict.denial.is_none(),
        status: verdict.denial.as_ref().map(|denial| AdmissionStatus {
            status: "Failure",
            message: clean_message(&denial.message),
            reason: denial.reason,
            code: denial.clean_code(),
        }),
        patch_type: patch.as_ref().map(|_| "JSONPatch"),
        patch,
        warnings: verdict.clean_warnings(),
        audit_annotations: verdict
            .audit
            .iter()
            .take(ANNOTATIONS_MAX)
            .map(|(key, value)| (*key, clean_message(value)))
            .collect(),
    };
    let review =
        AdmissionReviewBody { api_version: "admission.k8s.io/v1", kind: "AdmissionReview", response };
    serde_json::to_vec(&review).expect("strings and numbers can be written")
}

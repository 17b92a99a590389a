//! Decodes JSON to an [`AdmissionRequest`] in one pass, and validates it.
//!
//! - Invariant: text without escapes is not copied, and nothing recurses with the input; unknown fields are ignored.
//! - An object that cannot be judged is not an error here, so that the review can still be answered.

use super::RequestOrigin;
use super::filter::FilteredReview;
use super::invalid_review::InvalidReview;
use super::request::{AdmissionRequest, GroupVersionKind, GroupVersionResource, RequestOperation, UserInfo};
use serde_json::value::RawValue;
use std::borrow::Cow;
use taintward_kube::wire::{Fields, Text, object_from_slice};
use taintward_server::escape::escaped;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// The longest uid that is echoed. API servers send 36 characters.
const UID_MAX: usize = 256;

/// The maximum length of untrusted text in messages, in characters.
const SHOWN_MAX: usize = 80;

/// Decodes an AdmissionReview of `admission.k8s.io/v1`.
///
/// # Errors
/// If it is not one, or lacks what a response needs.
pub fn decode(body: &[u8]) -> Result<AdmissionRequest<'_>, InvalidReview> {
    parse_request(body)?.check(true)
}

/// The same from the output of the filter; objects that were left out are missing.
pub(super) fn decode_filtered(filtered: &FilteredReview) -> Result<AdmissionRequest<'_>, InvalidReview> {
    parse_request(&filtered.text)?.check(!filtered.left_out)
}

fn parse_request(body: &[u8]) -> Result<RequestJson<'_>, InvalidReview> {
    let text = std::str::from_utf8(body)
        .map_err(|error| InvalidReview::question(format!("not UTF-8 at byte {}", error.valid_up_to())))?;
    let review: ReviewJson<'_> = object_from_slice(text.as_bytes()).map_err(|error| no_review(&error))?;
    for (what, is, wanted) in [("apiVersion", &review.api_version, API_VERSION), ("kind", &review.kind, KIND)]
    {
        if **is != *wanted {
            return Err(InvalidReview::question(format!("{what} must be {wanted}, not {}", quoted(is))));
        }
    }
    let Fields(parse_request) =
        review.request.ok_or_else(|| InvalidReview::question("it has no request".into()))?;
    Ok(parse_request)
}

fn no_review(error: &serde_json::Error) -> InvalidReview {
    let reason: String = error.to_string().chars().take(4 * SHOWN_MAX).collect();
    InvalidReview::question(format!("no {KIND} of {API_VERSION}: {}", escaped(&reason)))
}

/// Untrusted text, short and harmless.
pub(crate) fn quoted(text: &str) -> String {
    match text {
        "" => "empty".into(),
        text => {
            let short: String = text.chars().take(SHOWN_MAX).collect();
            let more = if short.len() < text.len() { "..." } else { "" };
            format!("{}{more}", escaped(&short))
        }
    }
}

#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct ReviewJson<'a> {
    #[serde(borrow)]
    api_version: Text<'a>,
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    request: Option<Fields<RequestJson<'a>>>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct RequestJson<'a> {
    #[serde(borrow)]
    uid: Text<'a>,
    #[serde(borrow)]
    kind: Option<Fields<KindOrResource<'a>>>,
    #[serde(borrow)]
    resource: Option<Fields<KindOrResource<'a>>>,
    #[serde(borrow)]
    sub_resource: Text<'a>,
    #[serde(borrow)]
    name: Text<'a>,
    #[serde(borrow)]
    namespace: Text<'a>,
    #[serde(borrow)]
    operation: Text<'a>,
    #[serde(borrow)]
    user_info: Fields<UserInfoJson<'a>>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    old_object: Option<&'a RawValue>,
    dry_run: Option<bool>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct KindOrResource<'a> {
    #[serde(borrow)]
    group: Text<'a>,
    #[serde(borrow)]
    version: Text<'a>,
    #[serde(borrow)]
    kind: Text<'a>,
    #[serde(borrow)]
    resource: Text<'a>,
}

#[derive(Default, serde::Deserialize)]
#[serde(default)]
struct UserInfoJson<'a> {
    #[serde(borrow)]
    username: Text<'a>,
    #[serde(borrow)]
    groups: Option<Vec<Text<'a>>>,
}

impl<'a> RequestJson<'a> {
    fn check(self, whole: bool) -> Result<AdmissionRequest<'a>, InvalidReview> {
        let uid = demanded("request.uid", self.uid)?;
        if uid.len() > UID_MAX {
            return Err(InvalidReview::question(format!(
                "request.uid has {} bytes, {UID_MAX} at most",
                uid.len()
            )));
        }
        let operation = operation(&self.operation)?;
        let Fields(kind) = self.kind.ok_or_else(|| missing("request.kind"))?;
        let Fields(resource) = self.resource.ok_or_else(|| missing("request.resource"))?;
        let old_object = object("request.oldObject", self.old_object)?;
        let object = object("request.object", self.object)?;
        match operation {
            RequestOperation::Create | RequestOperation::Update if whole && object.is_none() => {
                return Err(missing("request.object"));
            }
            RequestOperation::Update if whole && old_object.is_none() => {
                return Err(missing("request.oldObject"));
            }
            _ => {}
        }
        Ok(AdmissionRequest {
            uid,
            operation,
            kind: GroupVersionKind {
                group: kind.group.0,
                version: demanded("request.kind.version", kind.version)?,
                kind: demanded("request.kind.kind", kind.kind)?,
            },
            resource: GroupVersionResource {
                group: resource.group.0,
                version: demanded("request.resource.version", resource.version)?,
                resource: demanded("request.resource.resource", resource.resource)?,
            },
            subresource: self.sub_resource.0,
            namespace: self.namespace.0,
            name: self.name.0,
            user: self.user_info.0.user(),
            dry_run: self.dry_run.unwrap_or(false),
            origin: RequestOrigin::Unverified,
            object,
            old_object,
        })
    }
}

impl<'a> UserInfoJson<'a> {
    fn user(self) -> UserInfo<'a> {
        let groups = self.groups.unwrap_or_default();
        UserInfo { username: self.username.0, groups: groups.into_iter().map(|group| group.0).collect() }
    }
}

fn missing(field: &str) -> InvalidReview {
    InvalidReview::question(format!("{field} is missing"))
}

fn demanded<'a>(field: &str, Text(value): Text<'a>) -> Result<Cow<'a, str>, InvalidReview> {
    Some(value).filter(|text| !text.is_empty()).ok_or_else(|| missing(field))
}

fn operation(text: &str) -> Result<RequestOperation, InvalidReview> {
    RequestOperation::ALL.into_iter().find(|each| each.as_str() == text).ok_or_else(|| {
        let names = RequestOperation::ALL.map(RequestOperation::as_str).join(", ");
        InvalidReview::question(format!("request.operation must be one of {names}, not {}", quoted(text)))
    })
}

/// An object, if it is present.
fn object<'a>(field: &str, raw: Option<&'a RawValue>) -> Result<Option<&'a RawValue>, InvalidReview> {
    let Some(raw) = raw else { return Ok(None) };
    if !raw.get().starts_with('{') {
        return Err(InvalidReview::question(format!("{field} must be an object")));
    }
    Ok(Some(raw))
}

//! # Decode: whether it is a question, and which
//! Room:     JSON to [`Request`], in one pass, and what is demanded of it.
//! Comes in: bytes from anybody.
//! Goes out: a question that can be answered, or one line that says what is wrong with it.
//! Keeps:    nothing is copied that has no escapes in it; nothing recurses with the input; fields that are not known may
//!           come with new API servers and do not matter. Who may be answered is: an object that cannot be judged is not
//!           an error, if the question itself makes sense.
//! Not here: what the object says (whoever judges it).

use super::Origin;
use super::request::{Kind, Operation, Request, Resource, User};
use super::shape::{Fields, Text};
use super::sieve::Sifted;
use serde_json::value::RawValue;
use std::borrow::Cow;
use taintward_serve::escape::escaped;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// The longest uid that is echoed. API servers send 36 characters.
const UID_MAX: usize = 256;

/// The most of a stranger's text that is shown to him again, in characters.
const SHOWN_MAX: usize = 80;

/// What makes no sense: what is wrong with it, in one line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Malformed {
    reason: String,
    of_object: bool,
}

impl Malformed {
    /// The question makes no sense, so that there is nothing to be answered.
    pub(crate) fn question(reason: String) -> Self {
        Self { reason, of_object: false }
    }

    /// The object in a question that can be answered.
    pub(crate) fn object(reason: String) -> Self {
        Self { reason, of_object: true }
    }

    pub(super) fn is_of_object(&self) -> bool {
        self.of_object
    }
}

/// Reads an AdmissionReview of `admission.k8s.io/v1`.
///
/// # Errors
/// If it is none, or lacks what an answer needs.
pub fn decode(body: &[u8]) -> Result<Request<'_>, Malformed> {
    asked(body)?.check(true)
}

/// The same from what a sieve has kept; objects that were left out are missing.
pub(super) fn decode_sifted(sifted: &Sifted) -> Result<Request<'_>, Malformed> {
    asked(&sifted.text)?.check(!sifted.left_out)
}

fn asked(body: &[u8]) -> Result<Asked<'_>, Malformed> {
    let text = std::str::from_utf8(body)
        .map_err(|error| Malformed::question(format!("not UTF-8 at byte {}", error.valid_up_to())))?;
    let Fields(review): Fields<Review<'_>> = serde_json::from_str(text).map_err(|error| no_review(&error))?;
    for (what, is, wanted) in [("apiVersion", &review.api_version, API_VERSION), ("kind", &review.kind, KIND)]
    {
        let is = is.as_ref().map(|text| &*text.0);
        if is != Some(wanted) {
            return Err(Malformed::question(format!("{what} must be {wanted}, not {}", shown(is))));
        }
    }
    let Fields(asked) =
        review.request.ok_or_else(|| Malformed::question("there is no request in it".into()))?;
    Ok(asked)
}

fn no_review(error: &serde_json::Error) -> Malformed {
    let reason: String = error.to_string().chars().take(4 * SHOWN_MAX).collect();
    Malformed::question(format!("no {KIND} of {API_VERSION}: {}", escaped(&reason)))
}

/// A stranger's text, short and harmless.
pub(crate) fn shown(text: Option<&str>) -> String {
    match text {
        None | Some("") => "empty".into(),
        Some(text) => {
            let short: String = text.chars().take(SHOWN_MAX).collect();
            let more = if short.len() < text.len() { "..." } else { "" };
            format!("{}{more}", escaped(&short))
        }
    }
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    #[serde(borrow)]
    api_version: Option<Text<'a>>,
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    request: Option<Fields<Asked<'a>>>,
}

#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked<'a> {
    #[serde(borrow)]
    uid: Option<Text<'a>>,
    #[serde(borrow)]
    kind: Option<Fields<Named<'a>>>,
    #[serde(borrow)]
    resource: Option<Fields<Named<'a>>>,
    #[serde(borrow)]
    sub_resource: Option<Text<'a>>,
    #[serde(borrow)]
    name: Option<Text<'a>>,
    #[serde(borrow)]
    namespace: Option<Text<'a>>,
    #[serde(borrow)]
    operation: Option<Text<'a>>,
    #[serde(borrow)]
    user_info: Option<Fields<Asking<'a>>>,
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    #[serde(borrow)]
    old_object: Option<&'a RawValue>,
    dry_run: Option<bool>,
}

#[derive(serde::Deserialize)]
struct Named<'a> {
    #[serde(borrow)]
    group: Option<Text<'a>>,
    #[serde(borrow)]
    version: Option<Text<'a>>,
    #[serde(borrow)]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    resource: Option<Text<'a>>,
}

#[derive(serde::Deserialize)]
struct Asking<'a> {
    #[serde(borrow)]
    username: Option<Text<'a>>,
    #[serde(borrow)]
    groups: Option<Vec<Text<'a>>>,
}

impl<'a> Asked<'a> {
    fn check(self, whole: bool) -> Result<Request<'a>, Malformed> {
        let uid = demanded("request.uid", self.uid)?;
        if uid.len() > UID_MAX {
            return Err(Malformed::question(format!(
                "request.uid has {} bytes, {UID_MAX} at most",
                uid.len()
            )));
        }
        let operation = operation(&text(self.operation))?;
        let Fields(kind) = self.kind.ok_or_else(|| missing("request.kind"))?;
        let Fields(resource) = self.resource.ok_or_else(|| missing("request.resource"))?;
        let old_object = object("request.oldObject", self.old_object)?;
        let object = object("request.object", self.object)?;
        match operation {
            Operation::Create | Operation::Update if whole && object.is_none() => {
                return Err(missing("request.object"));
            }
            Operation::Update if whole && old_object.is_none() => return Err(missing("request.oldObject")),
            _ => {}
        }
        Ok(Request {
            uid,
            operation,
            kind: Kind {
                group: text(kind.group),
                version: demanded("request.kind.version", kind.version)?,
                kind: demanded("request.kind.kind", kind.kind)?,
            },
            resource: Resource {
                group: text(resource.group),
                version: demanded("request.resource.version", resource.version)?,
                resource: demanded("request.resource.resource", resource.resource)?,
            },
            subresource: text(self.sub_resource),
            namespace: text(self.namespace),
            name: text(self.name),
            user: self.user_info.map_or_else(User::default, |asking| asking.0.user()),
            dry_run: self.dry_run.unwrap_or(false),
            origin: Origin::Anybody,
            object,
            old_object,
        })
    }
}

impl<'a> Asking<'a> {
    fn user(self) -> User<'a> {
        let groups = self.groups.unwrap_or_default();
        User { username: text(self.username), groups: groups.into_iter().map(|group| group.0).collect() }
    }
}

fn text(text: Option<Text<'_>>) -> Cow<'_, str> {
    text.map_or(Cow::Borrowed(""), |text| text.0)
}

fn missing(field: &str) -> Malformed {
    Malformed::question(format!("{field} is missing"))
}

fn demanded<'a>(field: &str, value: Option<Text<'a>>) -> Result<Cow<'a, str>, Malformed> {
    Some(text(value)).filter(|text| !text.is_empty()).ok_or_else(|| missing(field))
}

fn operation(text: &str) -> Result<Operation, Malformed> {
    Operation::ALL.into_iter().find(|each| each.as_str() == text).ok_or_else(|| {
        let known = Operation::ALL.map(Operation::as_str).join(", ");
        Malformed::question(format!("request.operation must be one of {known}, not {}", shown(Some(text))))
    })
}

/// An object, if there is one.
fn object<'a>(field: &str, raw: Option<&'a RawValue>) -> Result<Option<&'a RawValue>, Malformed> {
    let Some(raw) = raw else { return Ok(None) };
    if !raw.get().starts_with('{') {
        return Err(Malformed::question(format!("{field} must be an object")));
    }
    Ok(Some(raw))
}

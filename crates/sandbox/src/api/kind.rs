//! # Kind: whether a body is what its path says
//! Room:     `apiVersion` and `kind` of bodies; either may be left out.
//! Comes in: a resource and a body sent to it.
//! Goes out: a refusal, in the order in which a real server notices: kinds nobody knows, bodies that are not of
//!           the kind they name, kinds that belong elsewhere.
//! Not here: reading bodies of the right kind (`rules.rs`).

use crate::custom;
use crate::failure::Failure;
use crate::normal::normal;
use crate::resource::Resource;
use crate::schema::Schema;
use serde_json::{Value, json};

/// Where a real server keeps its kinds: it says so.
const SCHEME: &str = "pkg/runtime/scheme.go:111";

/// Why a body is not what it says it is.
pub(crate) enum Misnamed {
    /// It cannot be read: the kind's version, the kind, and why.
    Unread(String, String, String),
    /// It can, but does not belong here.
    Elsewhere(Failure),
}

/// Kinds nobody knows.
pub(crate) fn unregistered(version: &str, kind: &str) -> String {
    format!("no kind \"{kind}\" is registered for version \"{version}\" in scheme \"{SCHEME}\"")
}

/// Whether a body may be read as the resource's kind.
pub(crate) fn check(resource: &Resource, object: &Value) -> Result<(), Misnamed> {
    let said = |field: &str, or: &str| match object[field].as_str() {
        None | Some("") => or.to_owned(),
        Some(text) => text.to_owned(),
    };
    let expected = resource.api_version();
    if custom::of(resource.group, resource.plural).is_some() {
        return check_custom(resource, object).map_err(Misnamed::Elsewhere);
    }
    let (version, kind) = (said("apiVersion", &expected), said("kind", resource.kind));
    if version == expected && kind == resource.kind {
        return Ok(());
    }
    let short = version.rsplit('/').next().unwrap_or_default().to_owned();
    if Schema::get().kind(&version, &kind).is_none() {
        return Err(Misnamed::Unread(short, kind.clone(), unregistered(&version, &kind)));
    }
    if let Err(fault) = normal(&version, &kind, object.clone()) {
        return Err(Misnamed::Unread(short, kind, fault.to_string()));
    }
    let why = if version == expected {
        format!(
            "{kind} in version \"{short}\" cannot be handled as a {}: no kind \"{kind}\" is registered for the \
             expected type",
            resource.kind
        )
    } else {
        format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )
    };
    Err(Misnamed::Elsewhere(Failure::bad_request(why)))
}

/// Custom kinds have no types that a body could be read into: it must say what it is.
fn check_custom(resource: &Resource, object: &Value) -> Result<(), Failure> {
    let said = |field: &str| object[field].as_str().unwrap_or_default();
    let (version, kind, expected) = (said("apiVersion"), said("kind"), resource.api_version());
    if version != expected {
        return Err(Failure::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )));
    }
    if kind != resource.kind {
        let message = format!("Invalid value: {kind:?}: must be {}", resource.kind);
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let cause = json!({"reason": "FieldValueInvalid", "message": message, "field": "kind"});
        return Err(Failure::invalid(resource.group, kind, name, &[format!("kind: {message}")], vec![cause]));
    }
    Ok(())
}

/// The same, for bodies.
pub(crate) fn check_body(resource: &Resource, object: &Value) -> Result<(), Failure> {
    check(resource, object).map_err(|misnamed| match misnamed {
        Misnamed::Unread(version, kind, why) => Failure::bad_request(format!(
            "{kind} in version \"{version}\" cannot be handled as a {}: {why}",
            resource.kind
        )),
        Misnamed::Elsewhere(failure) => failure,
    })
}

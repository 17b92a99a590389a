//! Decodes JSON, YAML and protobuf bodies, and options sent as bodies.

use super::read::invalid_options;
use super::request::HttpRequest;
use crate::api::{DeleteOptions, Propagation};
use crate::api_status::StatusError;
use crate::{canonicalize, protobuf};
use serde_json::{Value, json};

const KNOWN: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// The object in a body, whatever it is of.
pub(super) fn object(asked: &HttpRequest) -> Result<Value, StatusError> {
    let unread =
        |why: &dyn std::fmt::Display| StatusError::bad_request(format!("the body cannot be read: {why}"));
    let value = match asked.content_type.as_str() {
        "" | "application/json" => serde_json::from_slice(&asked.body).map_err(|why| unread(&why))?,
        "application/yaml" => canonicalize::yaml_to_json(&asked.body).map_err(|why| unread(&why))?,
        "application/vnd.kubernetes.protobuf" => protobuf::decode(&asked.body).map_err(|why| unread(&why))?,
        _ => return Err(StatusError::media_type(&KNOWN)),
    };
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(json!({})),
        _ => Err(unread(&"it is no object")),
    }
}

/// `DeleteOptions` that were sent.
fn options(asked: &HttpRequest) -> Result<Value, StatusError> {
    if asked.body.is_empty() {
        return Ok(Value::Null);
    }
    let options = object(asked)?;
    if !matches!(options["kind"].as_str(), None | Some("" | "DeleteOptions")) {
        return Err(StatusError::bad_request(format!("{} are no DeleteOptions", options["kind"])));
    }
    let read = canonicalize::normal("v1", "DeleteOptions", options);
    read.map(|read| read.value).map_err(|fault| StatusError::bad_request(fault.to_string()))
}

/// How something is to be deleted: the query, and over it the body.
pub(super) fn deletion(asked: &HttpRequest) -> Result<(DeleteOptions, bool), StatusError> {
    of_options(asked, &options(asked)?)
}

/// How something is to be deleted, from `DeleteOptions`.
pub(super) fn of_options(asked: &HttpRequest, options: &Value) -> Result<(DeleteOptions, bool), StatusError> {
    let text = |value: &Value| value.as_str().map(String::from);
    let propagation = match (&options["propagationPolicy"], asked.query.get("propagationPolicy")) {
        (Value::String(said), _) => said.clone(),
        (_, said) => said.to_owned(),
    };
    let orphans = !options["orphanDependents"].is_null() || !asked.query.get("orphanDependents").is_empty();
    if orphans && !propagation.is_empty() {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        let why = format!("propagationPolicy: Invalid value: \"{propagation}\": {why}");
        return Err(invalid_options("DeleteOptions", "propagationPolicy", "FieldValueInvalid", &why));
    }
    let propagation = match propagation.as_str() {
        "" if options["orphanDependents"] == true || asked.query.is_true("orphanDependents") => {
            Some(Propagation::Orphan)
        }
        "" => None,
        "Background" => Some(Propagation::Background),
        "Foreground" => Some(Propagation::Foreground),
        "Orphan" => Some(Propagation::Orphan),
        other => {
            let known = r#""Foreground", "Background", "Orphan", "nil""#;
            let why = format!("propagationPolicy: Unsupported value: \"{other}\": supported values: {known}");
            let reason = "FieldValueNotSupported";
            return Err(invalid_options("DeleteOptions", "propagationPolicy", reason, &why));
        }
    };
    let said = options["dryRun"].as_array().into_iter().flatten();
    let said: Vec<&str> = said.filter_map(Value::as_str).collect();
    super::wished::dry_run("DeleteOptions", &said)?;
    let dry_run = !said.is_empty();
    let seconds = asked.query.get("gracePeriodSeconds");
    if !seconds.is_empty() && seconds.parse::<i64>().is_err() {
        return Err(StatusError::bad_request(format!("gracePeriodSeconds: {seconds:?} is no number")));
    }
    let how = DeleteOptions {
        uid: text(&options["preconditions"]["uid"]),
        version: text(&options["preconditions"]["resourceVersion"]),
        grace: options["gracePeriodSeconds"].as_i64().or_else(|| asked.query.number("gracePeriodSeconds")),
        propagation,
    };
    Ok((how, dry_run))
}

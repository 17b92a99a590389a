//! # Body: bytes that are objects
//! Room:     JSON, YAML and protobuf bodies, and options that may come as bodies.
//! Comes in: a request.
//! Goes out: values.
//! Not here: whether they make sense as what they are.

use super::asked::Asked;
use super::read::invalid_options;
use super::syntax;
use crate::api::{Deletion, Propagation, unregistered};
use crate::custom;
use crate::failure::Failure;
use crate::schema::Schema;
use crate::{normal, protobuf};
use serde_json::{Value, json};

const KNOWN: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// What a real server reads a body's kind into, when it is no object.
const KIND_OF: &str =
    r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// How much of a body that was not read is shown.
const SHOWN_MOST: usize = 30;

/// The object in a body, whatever it is of.
pub(super) fn object(asked: &Asked) -> Result<Value, Failure> {
    read(asked).map_err(|unread| match unread {
        Unread::Type(failure) => failure,
        Unread::Body(why) => Failure::bad_request(why),
    })
}

fn read(asked: &Asked) -> Result<Value, Unread> {
    let value = match asked.content_type.as_str() {
        "" | "application/json" => serde_json::from_slice(&asked.body).map_err(|why| {
            let why = syntax::words(&asked.body, &why);
            Unread::Body(format!("couldn't get version/kind; json parse error: {why}"))
        })?,
        "application/yaml" => {
            normal::yaml_to_json(&asked.body).map_err(|why| Unread::Body(why.to_string()))?
        }
        "application/vnd.kubernetes.protobuf" if !asked.body.starts_with(PROTOBUF) => {
            let why = format!(
                "provided data does not appear to be a protobuf message, expected prefix [{}]",
                PROTOBUF.iter().map(u8::to_string).collect::<Vec<_>>().join(" ")
            );
            return Err(Unread::Body(why));
        }
        "application/vnd.kubernetes.protobuf" => {
            protobuf::decode(&asked.body).map_err(|why| Unread::Body(why.to_string()))?
        }
        _ => return Err(Unread::Type(Failure::media_type(&KNOWN))),
    };
    let found = match &value {
        Value::Object(_) => return Ok(value),
        Value::Null => return Ok(json!({})),
        Value::Array(_) => "array",
        Value::String(_) => "string",
        Value::Number(_) => "number",
        Value::Bool(_) => "bool",
    };
    let why = format!("json: cannot unmarshal {found} into Go value of type {KIND_OF}");
    Err(Unread::Body(format!("couldn't get version/kind; json parse error: {why}")))
}

const PROTOBUF: &[u8] = b"k8s\0";

enum Unread {
    /// Nobody reads this content type.
    Type(Failure),
    /// This is wrong with the body.
    Body(String),
}

/// An object that was sent, of this kind for all its path says.
pub(super) fn sent(asked: &Asked, kind: &str) -> Result<Value, Failure> {
    let named = |object: Value| match object["kind"].as_str() {
        None | Some("") if custom::is_path(&asked.path) => {
            let whole = String::from_utf8_lossy(&asked.body);
            Err(Unread::Body(format!("Object 'Kind' is missing in '{whole}'")))
        }
        _ => Ok(object),
    };
    read(asked).and_then(named).map_err(|unread| match unread {
        Unread::Type(failure) => failure,
        Unread::Body(why) => Failure::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({})",
            shown(&asked.body)
        )),
    })
}

/// A body that was not read: as text if it may be JSON.
fn shown(body: &[u8]) -> String {
    let (start, more) = match body.len() > SHOWN_MOST {
        true => (&body[..SHOWN_MOST], " ..."),
        false => (body, ""),
    };
    let start = match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => String::from_utf8_lossy(start).into_owned(),
        Some(_) => start.iter().map(|byte| format!("{byte:02x}")).collect(),
    };
    start + more
}

/// `DeleteOptions` that were sent.
fn options(asked: &Asked) -> Result<Value, Failure> {
    if asked.body.is_empty() {
        return Ok(Value::Null);
    }
    let options = object(asked)?;
    let said = |field: &str, or: &str| match options[field].as_str() {
        None | Some("") => or.to_owned(),
        Some(text) => text.to_owned(),
    };
    let (version, kind) = (said("apiVersion", "v1"), said("kind", "DeleteOptions"));
    if kind != "DeleteOptions" && Schema::get().kind(&version, &kind).is_none() {
        return Err(Failure::bad_request(unregistered(&version, &kind)));
    }
    let read = normal::normal("v1", "DeleteOptions", options);
    read.map(|read| read.value).map_err(|fault| Failure::bad_request(fault.to_string()))
}

/// How something is to be deleted: the query, and over it the body.
pub(super) fn deletion(asked: &Asked) -> Result<(Deletion, bool), Failure> {
    of_options(asked, &options(asked)?)
}

/// How something is to be deleted, from `DeleteOptions`.
pub(super) fn of_options(asked: &Asked, options: &Value) -> Result<(Deletion, bool), Failure> {
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
        let why = format!("strconv.ParseInt: parsing \"{seconds}\": invalid syntax");
        return Err(Failure::bad_request(why));
    }
    let how = Deletion {
        uid: text(&options["preconditions"]["uid"]),
        version: text(&options["preconditions"]["resourceVersion"]),
        grace: options["gracePeriodSeconds"].as_i64().or_else(|| asked.query.number("gracePeriodSeconds")),
        propagation,
    };
    Ok((how, dry_run))
}

//! # Body: bytes that are objects
//! Room:     JSON, YAML and protobuf bodies, and options that may come as bodies.
//! Comes in: a request.
//! Goes out: values.
//! Not here: whether they make sense as what they are.

use super::asked::Asked;
use crate::api::{Deletion, Propagation};
use crate::failure::Failure;
use crate::{normal, protobuf};
use serde_json::Value;

const KNOWN: [&str; 4] =
    ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf", "application/cbor"];

/// The object in a body.
pub(super) fn object(asked: &Asked) -> Result<Value, Failure> {
    let unread = |why: &dyn std::fmt::Display| Failure::bad_request(why.to_string());
    match asked.content_type.as_str() {
        "" | "application/json" => serde_json::from_slice(&asked.body)
            .map_err(|why| unread(&format_args!("couldn't get version/kind; json parse error: {why}"))),
        "application/yaml" => normal::yaml_to_json(&asked.body).map_err(|why| unread(&why)),
        "application/vnd.kubernetes.protobuf" => protobuf::decode(&asked.body).map_err(|why| unread(&why)),
        _ => Err(Failure::media_type(&KNOWN)),
    }
}

/// How something is to be deleted: the query, and over it the body.
pub(super) fn deletion(asked: &Asked) -> Result<(Deletion, bool), Failure> {
    let options = match asked.body.is_empty() {
        true => Value::Null,
        false => object(asked)?,
    };
    of_options(asked, &options)
}

/// How something is to be deleted, from `DeleteOptions`.
pub(super) fn of_options(asked: &Asked, options: &Value) -> Result<(Deletion, bool), Failure> {
    let text = |value: &Value| value.as_str().map(String::from);
    let propagation = match (&options["propagationPolicy"], asked.query.get("propagationPolicy")) {
        (Value::String(said), _) => said.clone(),
        (_, said) => said.to_owned(),
    };
    let propagation = match propagation.as_str() {
        "" if options["orphanDependents"] == true || asked.query.is_true("orphanDependents") => {
            Some(Propagation::Orphan)
        }
        "" => None,
        "Background" => Some(Propagation::Background),
        "Foreground" => Some(Propagation::Foreground),
        "Orphan" => Some(Propagation::Orphan),
        other => {
            let message = format!(
                "propagationPolicy: Unsupported value: \"{other}\": supported values: \"Foreground\", \"Background\", \"Orphan\""
            );
            let cause = serde_json::json!({
                "reason": "FieldValueNotSupported", "field": "propagationPolicy",
                "message": message.trim_start_matches("propagationPolicy: "),
            });
            return Err(Failure::invalid("meta.k8s.io", "DeleteOptions", "", &[message], vec![cause]));
        }
    };
    let dry_run = options["dryRun"].as_array().is_some_and(|all| all.iter().any(|one| one == "All"));
    let how = Deletion {
        uid: text(&options["preconditions"]["uid"]),
        version: text(&options["preconditions"]["resourceVersion"]),
        grace: options["gracePeriodSeconds"].as_i64().or_else(|| asked.query.number("gracePeriodSeconds")),
        propagation,
    };
    Ok((how, dry_run))
}

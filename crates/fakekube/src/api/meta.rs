//! Sets the metadata that a server controls: names, UIDs, versions, times.

use super::{ApiServer, ResourcePath};
use crate::api_status::StatusError;
use crate::resource::ResourceType;
use serde_json::{Map, Value, json};

/// The longest start of a generated name.
const GENERATED_MOST: usize = 58;

/// Name and namespace of the path and of the body must not contradict each other.
pub(super) fn settle_place(
    resource: &ResourceType,
    on: &ResourcePath,
    body: &mut Value,
) -> Result<(), StatusError> {
    let metadata = metadata(body);
    let said = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
    let place = if resource.namespaced { on.namespace.as_str() } else { "" };
    if resource.namespaced && !said.is_empty() && said != place {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(StatusError::bad_request(why));
    }
    match place {
        "" => metadata.remove("namespace"),
        place => metadata.insert("namespace".into(), json!(place)),
    };
    let said = metadata.get("name").and_then(Value::as_str).unwrap_or_default();
    if !on.name.is_empty() && said != on.name {
        if said.is_empty() {
            let why = format!(
                "the name of the object ({} based on URL) was undeterminable: name must be provided",
                on.name
            );
            return Err(StatusError::bad_request(why));
        }
        let why = format!("the name of the object ({said}) does not match the name on the URL ({})", on.name);
        return Err(StatusError::bad_request(why));
    }
    Ok(())
}

/// A new object's identity.
pub(super) fn begin(resource: &ResourceType, body: &mut Value, server: &ApiServer) {
    let metadata = metadata(body);
    for field in ["selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "resourceVersion"] {
        metadata.remove(field);
    }
    let unnamed = metadata.get("name").and_then(Value::as_str).is_none_or(str::is_empty);
    let base = metadata.get("generateName").and_then(Value::as_str).unwrap_or_default();
    if unnamed && !base.is_empty() {
        let base: String = base.chars().take(GENERATED_MOST).collect();
        let namespace = metadata.get("namespace").and_then(Value::as_str).unwrap_or_default();
        let suffix = server.ids().suffix(&format!("{}/{namespace}", resource.plural), &base);
        metadata.insert("name".into(), json!(format!("{base}{suffix}")));
    }
    metadata.insert("uid".into(), json!(server.ids().uid()));
    metadata.insert("creationTimestamp".into(), json!(server.clock().stamp()));
    super::rules::generation(resource, None, body);
}

/// What an object keeps through all updates.
pub(super) fn carry_over(old: &Value, body: &mut Value) {
    let metadata = metadata(body);
    // What a body says of these is judged, and not passed over.
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if metadata.get(field).is_none_or(Value::is_null)
            && let Some(value) = old["metadata"].get(field)
        {
            metadata.insert(field.into(), value.clone());
        }
    }
    for field in ["creationTimestamp", "generation", "selfLink"] {
        match old["metadata"].get(field) {
            Some(value) => metadata.insert(field.into(), value.clone()),
            None => metadata.remove(field),
        };
    }
}

/// `metadata`, made an object if it is none.
pub(super) fn metadata(body: &mut Value) -> &mut Map<String, Value> {
    if !body.is_object() {
        *body = json!({});
    }
    let slot = &mut body["metadata"];
    if !slot.is_object() {
        *slot = json!({});
    }
    match slot {
        Value::Object(map) => map,
        _ => unreachable!("it was made an object just now"),
    }
}

/// Whether an object waits for its end.
pub fn is_ending(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

/// Whether somebody holds an object back from its end.
pub fn is_held(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|finalizers| !finalizers.is_empty())
}

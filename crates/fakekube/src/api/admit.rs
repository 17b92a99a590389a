//! Implements the default admission that needs other objects, such as a pod's PriorityClass.
//!
//! - See `defaults.rs` for what needs the object alone.

use crate::api_status::StatusError;
use crate::defaults;
use crate::resource::{ResourceType, known};
use crate::store::Transaction;
use serde_json::Value;

/// A new object, before it is given anything: what it asks for must be there.
pub(super) fn check(
    txn: &Transaction<'_>,
    resource: &ResourceType,
    body: &Value,
) -> Result<Option<Value>, StatusError> {
    let name = body["metadata"]["name"].as_str().unwrap_or_default();
    if resource.kind != "Pod" {
        return Ok(None);
    }
    let pod = name;
    let asked = body["spec"]["priorityClassName"].as_str().unwrap_or_default();
    let class = class(txn, asked);
    if class.is_none() && !asked.is_empty() {
        let why = format!("no PriorityClass with name {asked} was found");
        return Err(StatusError::forbidden(resource, pod, &why));
    }
    let computed = class.as_ref().and_then(|class| class["value"].as_i64()).unwrap_or(0);
    match body["spec"]["priority"].as_i64() {
        Some(said) if said != computed => {
            let why = format!(
                "the integer value of priority ({said}) must not be provided in pod spec; priority admission \
                 controller computed {computed} from the given PriorityClass name"
            );
            Err(StatusError::forbidden(resource, pod, &why))
        }
        _ => Ok(class),
    }
}

/// The class of this name, or the default one.
fn class(txn: &Transaction<'_>, name: &str) -> Option<Value> {
    let classes = known("scheduling.k8s.io", "priorityclasses");
    if !name.is_empty() {
        return txn.get(classes, name).map(|class| class.value());
    }
    let all = txn.all(classes, None).into_iter().map(|(_, class)| class.value());
    all.filter(|class| class["globalDefault"] == true).min_by_key(|class| class["value"].as_i64())
}

/// A new pod is given its class's priority.
pub(super) fn prioritise(class: Option<&Value>, body: &mut Value) {
    if class.is_some() {
        defaults::priority(body, class);
    }
}

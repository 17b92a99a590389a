//! Checks `apiVersion` and `kind` of a body against its path.

use crate::api_status::StatusError;
use crate::custom;
use crate::resource::ResourceType;
use serde_json::Value;

/// Refuses a body that is not of the resource's kind.
pub(crate) fn check_body(resource: &ResourceType, object: &Value) -> Result<(), StatusError> {
    let says_it = custom::of(resource.group, resource.plural).is_some();
    let said = |field: &str| object[field].as_str().unwrap_or_default();
    let fits = |said: &str, expected: &str| said == expected || said.is_empty() && !says_it;
    let (version, kind, expected) = (said("apiVersion"), said("kind"), resource.api_version());
    if !fits(version, &expected) {
        return Err(StatusError::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )));
    }
    if !fits(kind, resource.kind) {
        let why =
            format!("the kind in the data ({kind}) does not match the expected kind ({})", resource.kind);
        return Err(StatusError::bad_request(why));
    }
    Ok(())
}

//! Implements the subresource `scale`.

use super::by_kind;
use crate::api::{ApiServer, CreateResult, PatchBody, ResourcePath, WriteOptions};
use crate::api_status::StatusError;
use crate::schema::Schema;
use crate::select::format_selector;
use serde_json::{Value, json};

/// An object's Scale.
pub(crate) fn of(object: &Value) -> Value {
    let metadata = &object["metadata"];
    let selector = format_selector(&object["spec"]["selector"]).unwrap_or_default();
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"], "creationTimestamp": metadata["creationTimestamp"],
        },
        "spec": {},
        "status": {"replicas": object["status"]["replicas"].as_i64().unwrap_or(0), "selector": selector},
    });
    if let Some(replicas) = object["spec"]["replicas"].as_i64().filter(|replicas| *replicas != 0) {
        scale["spec"]["replicas"] = json!(replicas);
    }
    scale
}

/// Reads the Scale of a request.
fn read(scale: Value, name: &str) -> Result<Value, StatusError> {
    let read = crate::canonicalize::normal("autoscaling/v1", "Scale", scale).map_err(|error| {
        StatusError::bad_request(format!("Scale in version \"v1\" cannot be handled as a Scale: {error}"))
    })?;
    match read.value["metadata"]["name"].as_str().unwrap_or_default() {
        value if value == name => Ok(read.value),
        "" => Err(StatusError::bad_request(format!(
            "the name of the object ({name} based on URL) was undeterminable: name must be provided"
        ))),
        value => Err(StatusError::bad_request(format!(
            "the name of the object ({value}) does not match the name on the URL ({name})"
        ))),
    }
}

impl ApiServer {
    /// Replaces the Scale of an object and returns the new one.
    ///
    /// # Errors
    /// 400, 404, 409, and validation errors.
    pub(crate) fn update_scale(
        &self,
        on: &ResourcePath,
        scale: Value,
        options: &WriteOptions,
    ) -> Result<(Value, CreateResult), StatusError> {
        let scale = read(scale, &on.name)?;
        self.rescale(on, |_| Ok(scale), options)
    }

    /// Patches the Scale of an object and returns the new one.
    ///
    /// # Errors
    /// 400, 404, 409, and validation errors.
    pub(crate) fn patch_scale(
        &self,
        on: &ResourcePath,
        patch: &PatchBody,
        options: &WriteOptions,
    ) -> Result<(Value, CreateResult), StatusError> {
        let of = Schema::get().kind("autoscaling/v1", "Scale").ok_or_else(StatusError::no_such_path)?;
        self.rescale(on, |scale| by_kind(&scale, patch, of), options)
    }

    /// Changes the number of replicas.
    fn rescale(
        &self,
        on: &ResourcePath,
        change: impl FnOnce(Value) -> Result<Value, StatusError>,
        options: &WriteOptions,
    ) -> Result<(Value, CreateResult), StatusError> {
        let made = self.store().write(|txn| {
            let old = txn.get(on.number, &on.key());
            let old = old.ok_or_else(|| StatusError::not_found(on.number.get(), &on.name))?;
            let mut object = old.value();
            let scale = change(of(&object))?;
            let replicas = scale["spec"]["replicas"].as_i64().unwrap_or(0);
            if replicas < 0 {
                let why = "must be greater than or equal to 0";
                let message = format!("spec.replicas: Invalid value: {replicas}: {why}");
                let cause = format!("Invalid value: {replicas}: {why}");
                let cause =
                    json!({"reason": "FieldValueInvalid", "message": cause, "field": "spec.replicas"});
                return Err(StatusError::invalid("autoscaling", "Scale", &on.name, &[message], vec![cause]));
            }
            object["spec"]["replicas"] = json!(replicas);
            // A Scale without a version applies to any version.
            object["metadata"]["resourceVersion"] = scale["metadata"]["resourceVersion"].clone();
            self.replace(txn, on, (&old, old.value()), object, options, Vec::new())
        })?;
        Ok((of(&made.object.value()), made))
    }
}

//! Serves POST, PUT, PATCH and DELETE requests: bodies in JSON, YAML and protobuf, and the options of a write.

mod review;

use super::read::{invalid_options, selector};
use super::{HttpRequest, HttpResponse};
use crate::api::{
    ApiServer, CreateResult, DeleteOptions, PatchBody, Propagation, ResourcePath, WriteOptions, check_body,
};
use crate::api_status::StatusError;
use crate::resource::{ResourceType, Subresource};
use crate::store::ListRange;
use crate::{canonicalize, custom, protobuf};
use http::Method;
use serde_json::{Value, json};

impl ApiServer {
    pub(super) fn on_collection(
        &self,
        request: &HttpRequest,
        on: &ResourcePath,
    ) -> Result<HttpResponse, StatusError> {
        let resource = on.number.get();
        match request.method {
            Method::GET | Method::HEAD if !resource.kept => Err(StatusError::not_allowed()),

            Method::GET | Method::HEAD => self.list(request, on),
            Method::POST if !resource.kept => self.review(request, on),
            Method::POST if resource.namespaced && on.namespace.is_empty() => Err(StatusError::not_allowed()),
            Method::POST => self.post(request, on),
            Method::DELETE if resource.has_collections_deleted(&on.namespace) => {
                self.delete_many(request, on)
            }
            _ => Err(StatusError::not_allowed()),
        }
    }

    pub(super) fn on_object(
        &self,
        request: &HttpRequest,
        on: &ResourcePath,
    ) -> Result<HttpResponse, StatusError> {
        if !on.number.get().kept {
            return Err(StatusError::not_allowed());
        }
        match (&request.method, on.sub) {
            (&Method::GET | &Method::HEAD, _) => self.get_one(request, on),
            (&Method::POST, Some(Subresource::Binding)) => self.post_binding(request, on),
            (&Method::POST, Some(Subresource::Eviction)) => self.post_eviction(request, on),
            (&Method::POST, Some(Subresource::Token)) => self.token_request(request, on),
            (
                _,
                Some(Subresource::Binding | Subresource::Eviction | Subresource::Log | Subresource::Token),
            ) => Err(StatusError::not_allowed()),
            (&Method::PUT, Some(Subresource::Scale)) => {
                let (scale, options) = body_and_options(request, "UpdateOptions")?;
                self.scaled(request, self.update_scale(on, scale, &options)?)
            }
            (&Method::PATCH, Some(Subresource::Scale)) => {
                let (patch, options) = (patch(request)?, patch_options(request)?);
                self.scaled(request, self.patch_scale(on, &patch, &options)?)
            }
            (&Method::PUT, _) => {
                let (object, options) = body_and_options(request, "UpdateOptions")?;
                check_body(on.number.get(), &object)?;
                let made = self.update(on, object, &options)?;
                self.made(request, on, made)
            }
            (&Method::PATCH, _) => {
                let options = patch_options(request)?;
                let made = self.patch(on, &patch(request)?, &options)?;
                self.made(request, on, made)
            }
            (&Method::DELETE, None) => self.delete_one(request, on),
            _ => Err(StatusError::not_allowed()),
        }
    }

    fn post(&self, request: &HttpRequest, on: &ResourcePath) -> Result<HttpResponse, StatusError> {
        let (object, options) = body_and_options(request, "CreateOptions")?;
        // A binding may only be posted to a collection of its own kind; all other bodies must match the path.
        check_body(on.number.get(), &object)?;
        let made = self.create(on, object, &options)?;
        self.made(request, on, made)
    }

    fn made(
        &self,
        request: &HttpRequest,
        on: &ResourcePath,
        made: CreateResult,
    ) -> Result<HttpResponse, StatusError> {
        let form = self.form(request, on)?;
        let code = if made.new { 201 } else { 200 };
        Ok(form.single(code, &made.object).with_warnings(made.warnings))
    }

    fn post_binding(&self, request: &HttpRequest, on: &ResourcePath) -> Result<HttpResponse, StatusError> {
        let (binding, options) = body_and_options(request, "CreateOptions")?;
        if binding["metadata"]["name"].as_str().unwrap_or_default() != on.name {
            return Err(StatusError::bad_request("name in URL does not match name in Binding object"));
        }
        self.bind(on, &binding, &options)?;
        self.success(request, 201, None)
    }

    fn post_eviction(&self, request: &HttpRequest, on: &ResourcePath) -> Result<HttpResponse, StatusError> {
        let (eviction, mut options) = body_and_options(request, "CreateOptions")?;
        if eviction["metadata"]["name"].as_str().unwrap_or_default() != on.name {
            return Err(StatusError::bad_request("name in URL does not match name in Eviction object"));
        }
        let (how, dry_run) = of_options(request, &eviction["deleteOptions"])?;
        options.dry_run |= dry_run;
        self.evict(on, &how, &options)?;
        self.success(request, 201, None)
    }

    /// The response to a write of a Scale.
    fn scaled(
        &self,
        request: &HttpRequest,
        (scale, made): (Value, CreateResult),
    ) -> Result<HttpResponse, StatusError> {
        let encoding = request.accept.check()?.encoding;
        Ok(HttpResponse::encoded(200, &scale, encoding).with_warnings(made.warnings))
    }

    fn delete_one(&self, request: &HttpRequest, on: &ResourcePath) -> Result<HttpResponse, StatusError> {
        let resource = on.number.get();
        let mut options = write_options(request, "DeleteOptions")?;
        let (how, dry_run) = deletion(request)?;
        options.dry_run |= dry_run;
        let gone = self.delete(on, &how, &options)?;
        if gone.gone && !returns_deleted(resource) {
            let mut details = json!({"name": on.name, "kind": resource.plural, "uid": &*gone.object.uid});
            if gone.object.uid.is_empty() {
                details["uid"] = gone.object.value()["metadata"]["uid"].clone();
            }
            if !resource.group.is_empty() {
                details["group"] = json!(resource.group);
            }
            return self.success(request, 200, Some(details));
        }
        Ok(self.form(request, on)?.single(200, &gone.object))
    }

    fn delete_many(&self, request: &HttpRequest, on: &ResourcePath) -> Result<HttpResponse, StatusError> {
        let form = self.form(request, on)?;
        let mut options = write_options(request, "DeleteOptions")?;
        let (how, dry_run) = deletion(request)?;
        options.dry_run |= dry_run;
        let selector = selector(request, on)?;
        let namespace = Some(on.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let listed = self.store().list(on.number, ListRange { namespace, after: None }, None);
        let mut objects = Vec::new();
        for (key, object) in listed.map(|listed| listed.objects).unwrap_or_default() {
            if !selector.matches(&object) {
                continue;
            }
            let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
            let one = ResourcePath::object(on.number, namespace, name);
            match self.delete(&one, &how, &options) {
                // The object as it was listed, not as it was deleted.
                Ok(_) => objects.push(object),
                // Another writer deleted it first.
                Err(failure) if failure.code == 404 => {}
                Err(failure) => return Err(failure),
            }
        }
        let metadata = json!({"resourceVersion": self.store().version().to_string()});
        Ok(form.list(&metadata, objects))
    }

    fn success(
        &self,
        request: &HttpRequest,
        code: u16,
        details: Option<Value>,
    ) -> Result<HttpResponse, StatusError> {
        let encoding = request.accept.check()?.encoding;
        let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
        match details {
            Some(details) => status["details"] = details,
            None => status["code"] = json!(code),
        }
        Ok(HttpResponse::encoded(code, &status, encoding))
    }
}

/// The patch types that custom kinds support.
const CUSTOM_PATCHES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// Kinds whose deletion returns the object itself.
fn returns_deleted(resource: &ResourceType) -> bool {
    matches!(
        resource.kind,
        "Pod"
            | "PodTemplate"
            | "Service"
            | "ServiceAccount"
            | "ResourceQuota"
            | "PersistentVolume"
            | "PersistentVolumeClaim"
            | "CSINode"
            | "StorageClass"
            | "VolumeAttachment"
            | "CSIDriver"
            | "VolumeAttributesClass"
            | "ResourceClaim"
            | "ResourceClaimTemplate"
            | "DeviceClass"
            | "ResourceSlice"
    )
}

/// The body and the write options.
fn body_and_options(request: &HttpRequest, kind: &str) -> Result<(Value, WriteOptions), StatusError> {
    let options = write_options(request, kind)?;
    Ok((object(request)?, options))
}

fn patch(request: &HttpRequest) -> Result<PatchBody, StatusError> {
    let json = || {
        serde_json::from_slice(&request.body)
            .map_err(|why| StatusError::bad_request(format!("error decoding patch: {why}")))
    };
    match request.content_type.as_str() {
        "application/json-patch+json" => json().map(PatchBody::Json),
        "application/merge-patch+json" => json().map(PatchBody::Merge),
        _ if custom::is_path(&request.path) && !CUSTOM_PATCHES.contains(&request.content_type.as_str()) => {
            Err(StatusError::media_type(&CUSTOM_PATCHES))
        }
        "application/strategic-merge-patch+json" => json().map(PatchBody::Strategic),
        "application/apply-patch+yaml" => {
            if request.query.get("fieldManager").is_empty() {
                let message = "fieldManager: Required value: is required for apply patch";
                return Err(invalid_options("PatchOptions", "fieldManager", "FieldValueRequired", message));
            }
            let value = canonicalize::yaml_to_json(&request.body);
            let object = |value| if value == Value::Null { json!({}) } else { value };
            value.map(object).map(PatchBody::Apply).map_err(|why| {
                StatusError::bad_request(format!("error decoding YAML: error converting YAML to JSON: {why}"))
            })
        }
        _ => {
            let why = "415: Unsupported Media Type";
            Err(StatusError::new(415, "UnsupportedMediaType", why).with(json!({})))
        }
    }
}

fn patch_options(request: &HttpRequest) -> Result<WriteOptions, StatusError> {
    let options = write_options(request, "PatchOptions")?;
    if !request.query.get("force").is_empty() && request.content_type != "application/apply-patch+yaml" {
        let message = "force: Forbidden: may not be specified for non-apply patch";
        return Err(invalid_options("PatchOptions", "force", "FieldValueForbidden", message));
    }
    Ok(options)
}

const KNOWN: [&str; 3] = ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"];

/// The object in a body, whatever its kind.
fn object(request: &HttpRequest) -> Result<Value, StatusError> {
    let unread =
        |why: &dyn std::fmt::Display| StatusError::bad_request(format!("the body cannot be read: {why}"));
    let value = match request.content_type.as_str() {
        "" | "application/json" => serde_json::from_slice(&request.body).map_err(|why| unread(&why))?,
        "application/yaml" => canonicalize::yaml_to_json(&request.body).map_err(|why| unread(&why))?,
        "application/vnd.kubernetes.protobuf" => {
            protobuf::decode(&request.body).map_err(|why| unread(&why))?
        }
        _ => return Err(StatusError::media_type(&KNOWN)),
    };
    match value {
        Value::Object(_) => Ok(value),
        Value::Null => Ok(json!({})),
        _ => Err(unread(&"it is not an object")),
    }
}

/// The `DeleteOptions` of a request.
fn options(request: &HttpRequest) -> Result<Value, StatusError> {
    if request.body.is_empty() {
        return Ok(Value::Null);
    }
    let options = object(request)?;
    if !matches!(options["kind"].as_str(), None | Some("" | "DeleteOptions")) {
        return Err(StatusError::bad_request(format!("{} are not DeleteOptions", options["kind"])));
    }
    let read = canonicalize::normal("v1", "DeleteOptions", options);
    read.map(|read| read.value).map_err(|error| StatusError::bad_request(error.to_string()))
}

/// How to delete: the query parameters, overridden by the body.
fn deletion(request: &HttpRequest) -> Result<(DeleteOptions, bool), StatusError> {
    of_options(request, &options(request)?)
}

/// How to delete, from `DeleteOptions`.
fn of_options(request: &HttpRequest, options: &Value) -> Result<(DeleteOptions, bool), StatusError> {
    let text = |value: &Value| value.as_str().map(String::from);
    let propagation = match (&options["propagationPolicy"], request.query.get("propagationPolicy")) {
        (Value::String(value), _) => value.clone(),
        (_, value) => value.to_owned(),
    };
    let orphans = !options["orphanDependents"].is_null() || !request.query.get("orphanDependents").is_empty();
    if orphans && !propagation.is_empty() {
        let why = "orphanDependents and deletionPropagation cannot be both set";
        let why = format!("propagationPolicy: Invalid value: \"{propagation}\": {why}");
        return Err(invalid_options("DeleteOptions", "propagationPolicy", "FieldValueInvalid", &why));
    }
    let propagation = match propagation.as_str() {
        "" if options["orphanDependents"] == true || request.query.is_true("orphanDependents") => {
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
    let value = options["dryRun"].as_array().into_iter().flatten();
    let value: Vec<&str> = value.filter_map(Value::as_str).collect();
    dry_run("DeleteOptions", &value)?;
    let dry_run = !value.is_empty();
    let seconds = request.query.get("gracePeriodSeconds");
    if !seconds.is_empty() && seconds.parse::<i64>().is_err() {
        return Err(StatusError::bad_request(format!("gracePeriodSeconds: {seconds:?} is not a number")));
    }
    let how = DeleteOptions {
        uid: text(&options["preconditions"]["uid"]),
        version: text(&options["preconditions"]["resourceVersion"]),
        grace: options["gracePeriodSeconds"].as_i64().or_else(|| request.query.number("gracePeriodSeconds")),
        propagation,
    };
    Ok((how, dry_run))
}

/// The longest name of a field manager.
const MANAGER_MAX: usize = 128;

/// The write options of a request.
fn write_options(request: &HttpRequest, kind: &str) -> Result<WriteOptions, StatusError> {
    dry_run(kind, &request.query.all("dryRun").collect::<Vec<_>>())?;
    let manager = request.query.get("fieldManager");
    if manager.len() > MANAGER_MAX {
        let why = format!("fieldManager: Too long: may not be more than {MANAGER_MAX} bytes");
        return Err(invalid_options(kind, "fieldManager", "FieldValueTooLong", &why));
    }
    if let Some((at, wrong)) = manager.char_indices().find(|(_, char)| char.is_control()) {
        let (shown, wrong) = (json!(manager), u32::from(wrong));
        let why = format!(
            "fieldManager: Invalid value: {shown}: invalid character U+{wrong:04X} (at position {at})"
        );
        return Err(invalid_options(kind, "fieldManager", "FieldValueInvalid", &why));
    }
    let validation = request.query.get("fieldValidation");
    if !["", "Ignore", "Strict", "Warn"].contains(&validation) {
        let known = r#""", "Ignore", "Strict", "Warn""#;
        let why = format!("fieldValidation: Unsupported value: \"{validation}\": supported values: {known}");
        return Err(invalid_options(kind, "fieldValidation", "FieldValueNotSupported", &why));
    }
    Ok(request.write_options())
}

/// `All`, or it is not a dry run.
fn dry_run(kind: &str, value: &[&str]) -> Result<(), StatusError> {
    if value.iter().all(|one| *one == "All") {
        return Ok(());
    }
    let shown = json!(value);
    let why = format!("dryRun: Unsupported value: {shown}: supported values: \"All\"");
    Err(invalid_options(kind, "dryRun", "FieldValueNotSupported", &why))
}

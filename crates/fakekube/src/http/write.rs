//! Serves POST, PUT, PATCH and DELETE requests.

use super::request::HttpRequest;
use super::response::HttpAnswer;
use super::response_format::{content_type, encoded};
use super::{body, read, wished};
use crate::api::{ApiServer, CreateResult, PatchBody, ResourcePath, WriteOptions, check_body};
use crate::api_status::StatusError;
use crate::custom;
use crate::resource::{ResourceType, Subresource};
use crate::store::ListRange;
use http::Method;
use serde_json::{Value, json};

impl ApiServer {
    pub(super) fn on_collection(
        &self,
        asked: &HttpRequest,
        on: &ResourcePath,
    ) -> Result<HttpAnswer, StatusError> {
        let resource = on.number.get();
        match asked.method {
            Method::GET | Method::HEAD if !resource.kept => Err(StatusError::not_allowed()),
            Method::GET | Method::HEAD if asked.watches => self.watch(asked, on),
            Method::GET | Method::HEAD => self.list(asked, on),
            Method::POST if !resource.kept => self.review(asked, on),
            Method::POST if resource.namespaced && on.namespace.is_empty() => Err(StatusError::not_allowed()),
            Method::POST => self.post(asked, on),
            Method::DELETE if resource.has_collections_deleted(&on.namespace) => self.delete_many(asked, on),
            _ => Err(StatusError::not_allowed()),
        }
    }

    pub(super) fn on_object(
        &self,
        asked: &HttpRequest,
        on: &ResourcePath,
    ) -> Result<HttpAnswer, StatusError> {
        if !on.number.get().kept {
            return Err(StatusError::not_allowed());
        }
        match (&asked.method, on.sub) {
            (&Method::GET | &Method::HEAD, _) => self.get_one(asked, on),
            (&Method::POST, Some(Subresource::Binding)) => self.post_binding(asked, on),
            (&Method::POST, Some(Subresource::Eviction)) => self.post_eviction(asked, on),
            (&Method::POST, Some(Subresource::Token)) => self.token_request(asked, on),
            (
                _,
                Some(Subresource::Binding | Subresource::Eviction | Subresource::Log | Subresource::Token),
            ) => Err(StatusError::not_allowed()),
            (&Method::PUT, Some(Subresource::Scale)) => {
                let (scale, wish) = wished(asked, "UpdateOptions")?;
                self.scaled(asked, self.update_scale(on, scale, &wish)?)
            }
            (&Method::PATCH, Some(Subresource::Scale)) => {
                let (patch, wish) = (patch(asked)?, patch_wish(asked)?);
                self.scaled(asked, self.patch_scale(on, &patch, &wish)?)
            }
            (&Method::PUT, _) => {
                let (object, wish) = wished(asked, "UpdateOptions")?;
                check_body(on.number.get(), &object)?;
                let made = self.update(on, object, &wish)?;
                self.made(asked, on, made)
            }
            (&Method::PATCH, _) => {
                let wish = patch_wish(asked)?;
                let made = self.patch(on, &patch(asked)?, &wish)?;
                self.made(asked, on, made)
            }
            (&Method::DELETE, None) => self.delete_one(asked, on),
            _ => Err(StatusError::not_allowed()),
        }
    }

    fn post(&self, asked: &HttpRequest, on: &ResourcePath) -> Result<HttpAnswer, StatusError> {
        let (object, wish) = wished(asked, "CreateOptions")?;
        // A binding may be posted to a collection of its own kind only; everything else must be what the path says.
        check_body(on.number.get(), &object)?;
        let made = self.create(on, object, &wish)?;
        self.made(asked, on, made)
    }

    fn made(
        &self,
        asked: &HttpRequest,
        on: &ResourcePath,
        made: CreateResult,
    ) -> Result<HttpAnswer, StatusError> {
        let form = self.form(asked, on)?;
        let code = if made.new { 201 } else { 200 };
        let answer = HttpAnswer::new(code, content_type(form.accept.encoding), form.single(&made.object));
        Ok(answer.with_warnings(made.warnings))
    }

    fn post_binding(&self, asked: &HttpRequest, on: &ResourcePath) -> Result<HttpAnswer, StatusError> {
        let (binding, wish) = wished(asked, "CreateOptions")?;
        if binding["metadata"]["name"].as_str().unwrap_or_default() != on.name {
            return Err(StatusError::bad_request("name in URL does not match name in Binding object"));
        }
        self.bind(on, &binding, &wish)?;
        self.success(asked, 201, None)
    }

    fn post_eviction(&self, asked: &HttpRequest, on: &ResourcePath) -> Result<HttpAnswer, StatusError> {
        let (eviction, mut wish) = wished(asked, "CreateOptions")?;
        if eviction["metadata"]["name"].as_str().unwrap_or_default() != on.name {
            return Err(StatusError::bad_request("name in URL does not match name in Eviction object"));
        }
        let (how, dry_run) = body::of_options(asked, &eviction["deleteOptions"])?;
        wish.dry_run |= dry_run;
        self.evict(on, &how, &wish)?;
        self.success(asked, 201, None)
    }

    /// The Scale that a write made.
    fn scaled(
        &self,
        asked: &HttpRequest,
        (scale, made): (Value, CreateResult),
    ) -> Result<HttpAnswer, StatusError> {
        let encoding = asked.accept.check()?.encoding;
        let answer = HttpAnswer::new(200, content_type(encoding), encoded(&scale, encoding));
        Ok(answer.with_warnings(made.warnings))
    }

    fn delete_one(&self, asked: &HttpRequest, on: &ResourcePath) -> Result<HttpAnswer, StatusError> {
        let resource = on.number.get();
        let mut wish = wished::wish(asked, "DeleteOptions")?;
        let (how, dry_run) = body::deletion(asked)?;
        wish.dry_run |= dry_run;
        let gone = self.delete(on, &how, &wish)?;
        if gone.gone && !returns_deleted(resource) {
            let mut details = json!({"name": on.name, "kind": resource.plural, "uid": &*gone.object.uid});
            if gone.object.uid.is_empty() {
                details["uid"] = gone.object.value()["metadata"]["uid"].clone();
            }
            if !resource.group.is_empty() {
                details["group"] = json!(resource.group);
            }
            return self.success(asked, 200, Some(details));
        }
        let form = self.form(asked, on)?;
        Ok(HttpAnswer::new(200, content_type(form.accept.encoding), form.single(&gone.object)))
    }

    fn delete_many(&self, asked: &HttpRequest, on: &ResourcePath) -> Result<HttpAnswer, StatusError> {
        let form = self.form(asked, on)?;
        let mut wish = wished::wish(asked, "DeleteOptions")?;
        let (how, dry_run) = body::deletion(asked)?;
        wish.dry_run |= dry_run;
        let selector = read::selector(asked, on)?;
        let namespace = Some(on.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let listed = self.store().list(on.number, ListRange { namespace, after: None, limit: 0 }, None);
        let mut objects = Vec::new();
        for (key, object) in listed.map(|listed| listed.objects).unwrap_or_default() {
            if !selector.matches(&object) {
                continue;
            }
            let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
            let one = ResourcePath::object(on.number, namespace, name);
            match self.delete(&one, &how, &wish) {
                // As it was listed, and not as it went.
                Ok(_) => objects.push(object),
                // Somebody was faster.
                Err(failure) if failure.code == 404 => {}
                Err(failure) => return Err(failure),
            }
        }
        let metadata = json!({"resourceVersion": self.store().version().to_string()});
        Ok(HttpAnswer::of(content_type(form.accept.encoding), form.list(&metadata, objects)))
    }

    pub(super) fn success(
        &self,
        asked: &HttpRequest,
        code: u16,
        details: Option<Value>,
    ) -> Result<HttpAnswer, StatusError> {
        let encoding = asked.accept.check()?.encoding;
        let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
        match details {
            Some(details) => status["details"] = details,
            None => status["code"] = json!(code),
        }
        Ok(HttpAnswer::new(code, content_type(encoding), encoded(&status, encoding)))
    }
}

/// The patches there are of custom kinds.
const CUSTOM_PATCHES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// Kinds whose deletion answers with the object itself.
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

/// The body and how it is to be written.
fn wished(asked: &HttpRequest, options: &str) -> Result<(Value, WriteOptions), StatusError> {
    let wish = wished::wish(asked, options)?;
    Ok((body::object(asked)?, wish))
}

fn patch(asked: &HttpRequest) -> Result<PatchBody, StatusError> {
    let json = || {
        serde_json::from_slice(&asked.body)
            .map_err(|why| StatusError::bad_request(format!("error decoding patch: {why}")))
    };
    match asked.content_type.as_str() {
        "application/json-patch+json" => json().map(PatchBody::Json),
        "application/merge-patch+json" => json().map(PatchBody::Merge),
        _ if custom::is_path(&asked.path) && !CUSTOM_PATCHES.contains(&asked.content_type.as_str()) => {
            Err(StatusError::media_type(&CUSTOM_PATCHES))
        }
        "application/strategic-merge-patch+json" => json().map(PatchBody::Strategic),
        "application/apply-patch+yaml" => {
            if asked.query.get("fieldManager").is_empty() {
                let message = "fieldManager: Required value: is required for apply patch";
                return Err(read::invalid_options(
                    "PatchOptions",
                    "fieldManager",
                    "FieldValueRequired",
                    message,
                ));
            }
            let value = crate::canonicalize::yaml_to_json(&asked.body);
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

fn patch_wish(asked: &HttpRequest) -> Result<WriteOptions, StatusError> {
    let wish = wished::wish(asked, "PatchOptions")?;
    if !asked.query.get("force").is_empty() && asked.content_type != "application/apply-patch+yaml" {
        let message = "force: Forbidden: may not be specified for non-apply patch";
        return Err(read::invalid_options("PatchOptions", "force", "FieldValueForbidden", message));
    }
    Ok(wish)
}

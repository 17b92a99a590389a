//! # Write: POST, PUT, PATCH, DELETE
//! Room:     which verb of the API a method and a path mean.
//! Comes in: a request.
//! Goes out: an answer.
//! Not here: what the verbs do (`api`).

use super::answer::Answer;
use super::asked::Asked;
use super::form::{content_type, encoded};
use super::{body, read, wished};
use crate::api::{Made, On, Patch, Server, Wish, check_body};
use crate::custom;
use crate::failure::Failure;
use crate::resource::{Resource, Sub};
use crate::store::Range;
use http::Method;
use serde_json::{Value, json};

impl Server {
    pub(super) fn on_collection(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        let resource = on.number.get();
        match asked.method {
            Method::GET | Method::HEAD if !resource.kept => Err(Failure::not_allowed()),
            Method::GET | Method::HEAD if asked.watches => self.watch(asked, on),
            Method::GET | Method::HEAD => self.list(asked, on),
            Method::POST if !resource.kept => self.review(asked, on),
            Method::POST if resource.namespaced && on.namespace.is_empty() => Err(Failure::not_allowed()),
            Method::POST => self.post(asked, on),
            Method::DELETE if resource.has_collections_deleted(&on.namespace) => self.delete_many(asked, on),
            _ => Err(Failure::not_allowed()),
        }
    }

    pub(super) fn on_object(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        if !on.number.get().kept {
            return Err(Failure::not_allowed());
        }
        match (&asked.method, on.sub) {
            (&Method::GET | &Method::HEAD, _) => self.get_one(asked, on),
            (&Method::POST, Some(Sub::Binding)) => self.post_binding(asked, on),
            (&Method::POST, Some(Sub::Eviction)) => self.post_eviction(asked, on),
            (&Method::POST, Some(Sub::Token)) => self.token_request(asked, on),
            (_, Some(Sub::Binding | Sub::Eviction | Sub::Log | Sub::Token)) => Err(Failure::not_allowed()),
            (&Method::PUT, Some(Sub::Scale)) => self.put_scale(asked, on),
            (&Method::PATCH, Some(Sub::Scale)) => self.patch_scale(asked, on),
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
            _ => Err(Failure::not_allowed()),
        }
    }

    fn post(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        let (object, wish) = wished(asked, "CreateOptions")?;
        // A binding may be posted to a collection of its own kind only; everything else must be what the path says.
        check_body(on.number.get(), &object)?;
        let made = self.create(on, object, &wish)?;
        self.made(asked, on, made)
    }

    fn made(&self, asked: &Asked, on: &On, made: Made) -> Result<Answer, Failure> {
        let form = self.form(asked, on)?;
        let code = if made.new { 201 } else { 200 };
        let answer = Answer::new(code, content_type(form.accept.encoding), form.single(&made.object));
        Ok(answer.with_warnings(made.warnings))
    }

    fn post_binding(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        let (binding, wish) = wished(asked, "CreateOptions")?;
        if binding["metadata"]["name"].as_str().unwrap_or_default() != on.name {
            return Err(Failure::bad_request("name in URL does not match name in Binding object"));
        }
        self.bind(on, &binding, &wish)?;
        self.success(asked, 201, None)
    }

    fn post_eviction(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        let (eviction, mut wish) = wished(asked, "CreateOptions")?;
        if eviction["metadata"]["name"].as_str().unwrap_or_default() != on.name {
            return Err(Failure::bad_request("name in URL does not match name in Eviction object"));
        }
        let (how, dry_run) = body::of_options(asked, &eviction["deleteOptions"])?;
        wish.dry_run |= dry_run;
        self.evict(on, &how, &wish)?;
        self.success(asked, 201, None)
    }

    fn put_scale(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        let (scale, wish) = wished(asked, "UpdateOptions")?;
        let scale = crate::api::read_scale(scale, &on.name)?;
        self.scaled(asked, on, &wish, |_| Ok(scale))
    }

    fn patch_scale(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        let (patch, wish) = (patch(asked)?, patch_wish(asked)?);
        self.scaled(asked, on, &wish, |scale| crate::api::patched_scale(scale, &patch))
    }

    fn scaled(
        &self,
        asked: &Asked,
        on: &On,
        wish: &Wish,
        change: impl FnOnce(Value) -> Result<Value, Failure>,
    ) -> Result<Answer, Failure> {
        let encoding = asked.accept.check()?.encoding;
        let (scale, made) = self.rescale(on, change, wish)?;
        let answer = Answer::new(200, content_type(encoding), encoded(&scale, encoding));
        Ok(answer.with_warnings(made.warnings))
    }

    fn delete_one(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
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
        Ok(Answer::new(200, content_type(form.accept.encoding), form.single(&gone.object)))
    }

    fn delete_many(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        let form = self.form(asked, on)?;
        let mut wish = wished::wish(asked, "DeleteOptions")?;
        let (how, dry_run) = body::deletion(asked)?;
        wish.dry_run |= dry_run;
        let selector = read::selector(asked, on)?;
        let namespace = Some(on.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let listed = self.store().list(on.number, Range { namespace, after: None, limit: 0 }, None);
        let mut objects = Vec::new();
        for (key, object) in listed.map(|listed| listed.objects).unwrap_or_default() {
            if !selector.matches(&object) {
                continue;
            }
            let (namespace, name) = key.split_once('/').unwrap_or(("", &key));
            let one = On::object(on.number, namespace, name);
            match self.delete(&one, &how, &wish) {
                // As it was listed, and not as it went.
                Ok(_) => objects.push(object),
                // Somebody was faster.
                Err(failure) if failure.code == 404 => {}
                Err(failure) => return Err(failure),
            }
        }
        let metadata = json!({"resourceVersion": self.store().version().to_string()});
        Ok(Answer::of(content_type(form.accept.encoding), form.list(&metadata, objects)))
    }

    pub(super) fn success(
        &self,
        asked: &Asked,
        code: u16,
        details: Option<Value>,
    ) -> Result<Answer, Failure> {
        let encoding = asked.accept.check()?.encoding;
        let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
        match details {
            Some(details) => status["details"] = details,
            None => status["code"] = json!(code),
        }
        Ok(Answer::new(code, content_type(encoding), encoded(&status, encoding)))
    }
}

/// The patches there are of custom kinds.
const CUSTOM_PATCHES: [&str; 3] =
    ["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];

/// Kinds whose deletion answers with the object itself.
fn returns_deleted(resource: &Resource) -> bool {
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
fn wished(asked: &Asked, options: &str) -> Result<(Value, Wish), Failure> {
    let wish = wished::wish(asked, options)?;
    Ok((body::object(asked)?, wish))
}

fn patch(asked: &Asked) -> Result<Patch, Failure> {
    let json = || {
        serde_json::from_slice(&asked.body)
            .map_err(|why| Failure::bad_request(format!("error decoding patch: {why}")))
    };
    match asked.content_type.as_str() {
        "application/json-patch+json" => json().map(Patch::Json),
        "application/merge-patch+json" => json().map(Patch::Merge),
        _ if custom::is_path(&asked.path) && !CUSTOM_PATCHES.contains(&asked.content_type.as_str()) => {
            Err(Failure::media_type(&CUSTOM_PATCHES))
        }
        "application/strategic-merge-patch+json" => json().map(Patch::Strategic),
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
            let value = crate::normal::yaml_to_json(&asked.body);
            let object = |value| if value == Value::Null { json!({}) } else { value };
            value.map(object).map(Patch::Apply).map_err(|why| {
                Failure::bad_request(format!("error decoding YAML: error converting YAML to JSON: {why}"))
            })
        }
        _ => {
            let why = "415: Unsupported Media Type";
            Err(Failure::new(415, "UnsupportedMediaType", why).with(json!({})))
        }
    }
}

fn patch_wish(asked: &Asked) -> Result<Wish, Failure> {
    let wish = wished::wish(asked, "PatchOptions")?;
    if !asked.query.get("force").is_empty() && asked.content_type != "application/apply-patch+yaml" {
        let message = "force: Forbidden: may not be specified for non-apply patch";
        return Err(read::invalid_options("PatchOptions", "force", "FieldValueForbidden", message));
    }
    Ok(wish)
}

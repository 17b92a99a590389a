//! Creates objects (POST on a collection).

use super::admission_plugin::AdmissionAttributes;
use super::{ApiServer, ResourcePath, WriteOptions, admit, events, meta, rules};
use crate::api_status::StatusError;
use crate::resource::known;
use crate::store::{self, StoredObject, Transaction};
use serde_json::{Value, json};
use std::sync::Arc;

/// What is said of pods whose hosts could be taken for others.
const DOTTED: &str = "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; \
    a DNS label is recommended: [must not contain dots]";

/// A write that was done.
#[derive(Clone, Debug)]
pub struct CreateResult {
    /// The object as it is kept now.
    pub object: Arc<StoredObject>,
    /// Whether it is new.
    pub new: bool,
    /// Warnings for the answer's headers.
    pub warnings: Vec<String>,
}

impl ApiServer {
    /// Creates an object.
    ///
    /// # Errors
    /// Whatever a real server refuses.
    pub fn create(
        &self,
        on: &ResourcePath,
        body: Value,
        wish: &WriteOptions,
    ) -> Result<CreateResult, StatusError> {
        let (body, warnings) = rules::read(on.number.get(), body, wish)?;
        self.store().write(|txn| self.create_in(txn, on, body, wish, warnings))
    }

    /// Creates an object that was read already.
    pub(super) fn create_in(
        &self,
        txn: &mut Transaction<'_>,
        on: &ResourcePath,
        mut body: Value,
        wish: &WriteOptions,
        mut warnings: Vec<String>,
    ) -> Result<CreateResult, StatusError> {
        let resource = on.number.get();
        meta::settle_place(resource, on, &mut body)?;
        let version = body["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        if resource.namespaced {
            check_namespace(txn, on, &body)?;
        }
        meta::begin(resource, &mut body, self);
        body = rules::complete(rules::defaulted(resource, body))?;
        // Before admission: what it gives an object is nobody's.
        rules::track(resource, None, &mut body, wish, None, self.clock());
        let class = admit::check(txn, resource, &body)?;
        rules::begin(resource, &mut body, self.shared.admission);
        admit::prioritise(class.as_ref(), &mut body);
        events::to_home(resource, &mut body);
        let attributes = AdmissionAttributes { path: on, old: None, options: wish, objects: txn };
        self.run_admit(&attributes, &mut body, &mut warnings)?;
        rules::check_new(resource, &body)?;
        self.run_validate(&attributes, &body, &mut warnings)?;
        body = rules::complete(body)?;
        // What is no number counts as none.
        if version.parse::<u64>().is_ok_and(|version| version != 0) {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(StatusError::new(500, "", why));
        }
        let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let key = super::key(&on.namespace, &name);
        if let Some(there) = txn.get(on.number, &key) {
            let mut failure = StatusError::exists(resource, &name);
            if meta::is_ending(&there.value()) {
                failure.message.insert_str(0, "object is being deleted: ");
            }
            return Err(failure);
        }
        warnings.extend(rules::warnings(resource, &body));
        if resource.kind == "Pod" && name.contains('.') {
            warnings.push(DOTTED.to_owned());
        }
        let object = match wish.dry_run {
            true => {
                if !version.is_empty() {
                    body["metadata"]["resourceVersion"] = json!(version);
                }
                unkept(&body)
            }
            false => txn.put(on.number, &key, body),
        };
        Ok(CreateResult { object, new: true, warnings })
    }
}

/// The namespace must be there and not on its way out.
fn check_namespace(txn: &Transaction<'_>, on: &ResourcePath, body: &Value) -> Result<(), StatusError> {
    let namespaces = known("", "namespaces");
    let Some(namespace) = txn.get(namespaces, &on.namespace) else {
        return Err(StatusError::not_found(namespaces.get(), &on.namespace));
    };
    if namespace.value()["metadata"]["deletionTimestamp"].is_null() {
        return Ok(());
    }
    let name = body["metadata"]["name"].as_str().unwrap_or_default();
    let why =
        format!("unable to create new content in namespace {} because it is being terminated", on.namespace);
    let failure = StatusError::forbidden(on.number.get(), name, &why);
    let mut details = failure.details.as_deref().cloned().unwrap_or_default();
    details["causes"] = json!([{
        "reason": "NamespaceTerminating",
        "message": format!("namespace {} is being terminated", on.namespace),
        "field": "metadata.namespace",
    }]);
    Err(failure.with(details))
}

/// An object as it would be.
pub(super) fn unkept(value: &Value) -> Arc<StoredObject> {
    Arc::new(StoredObject { version: 0, uid: "".into(), json: store::bytes(value) })
}

//! Creates objects (POST on a collection).

use super::{begin, complete, is_ending, read, reject_invalid, settle_place, track, unkept, warnings};
use crate::api::{AdmissionAttributes, ApiServer, ResourcePath, WriteOptions, conversion, key};
use crate::api_status::StatusError;
use crate::resource::{ResourceType, known};
use crate::store::{StoredObject, Transaction};
use crate::{defaults, validate};
use serde_json::{Value, json};
use std::sync::Arc;

/// The warning about pods whose host names could be ambiguous.
const DOTTED: &str = "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; \
    a DNS label is recommended: [must not contain dots]";

/// The result of a write.
#[derive(Clone, Debug)]
pub struct CreateResult {
    /// The object as it is stored now.
    pub object: Arc<StoredObject>,
    /// Whether the write created it.
    pub new: bool,
    /// Warnings for the response headers.
    pub warnings: Vec<String>,
}

impl ApiServer {
    /// Creates an object.
    ///
    /// # Errors
    /// Whatever a real server rejects.
    pub fn create(
        &self,
        on: &ResourcePath,
        body: Value,
        options: &WriteOptions,
    ) -> Result<CreateResult, StatusError> {
        let (body, warned) = read(on.number.get(), body, options)?;
        self.store().write(|txn| self.create_in(txn, on, body, options, warned))
    }

    /// Creates an object that has been read already.
    pub(super) fn create_in(
        &self,
        txn: &mut Transaction<'_>,
        on: &ResourcePath,
        mut body: Value,
        options: &WriteOptions,
        mut warned: Vec<String>,
    ) -> Result<CreateResult, StatusError> {
        let resource = on.number.get();
        settle_place(resource, on, &mut body)?;
        let version = body["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned();
        if resource.namespaced {
            check_namespace(txn, on, &body)?;
        }
        begin(resource, &mut body, self);
        defaults::apply_defaults(resource, &mut body);
        body = complete(body)?;
        // Before admission: its changes have no field manager.
        track(resource, None, &mut body, options, None, self.clock());
        let class = priority_class(txn, resource, &body)?;
        defaults::on_create(resource, &mut body, self.shared.admission);
        if class.is_some() {
            defaults::priority(&mut body, class.as_ref());
        }
        merge_runtime_class(txn, resource, &mut body)?;
        conversion::to_home(resource, &mut body);
        let attributes = AdmissionAttributes { path: on, old: None, options, objects: txn };
        self.run_admit(&attributes, &mut body, &mut warned)?;
        reject_invalid(resource, &body, &validate::on_create(resource, &body))?;
        self.run_validate(&attributes, &body, &mut warned)?;
        body = complete(body)?;
        // A version that is not a number counts as none.
        if version.parse::<u64>().is_ok_and(|version| version != 0) {
            let why = "resourceVersion should not be set on objects to be created";
            return Err(StatusError::new(500, "", why));
        }
        let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let key = key(&on.namespace, &name);
        if let Some(there) = txn.get(on.number, &key) {
            let mut failure = StatusError::exists(resource, &name);
            if is_ending(&there.value()) {
                failure.message.insert_str(0, "object is being deleted: ");
            }
            return Err(failure);
        }
        warned.extend(warnings(resource, &body));
        if resource.kind == "Pod" && name.contains('.') {
            warned.push(DOTTED.to_owned());
        }
        let object = match options.dry_run {
            true => {
                if !version.is_empty() {
                    body["metadata"]["resourceVersion"] = json!(version);
                }
                unkept(&body)
            }
            false => txn.put(on.number, &key, body),
        };
        Ok(CreateResult { object, new: true, warnings: warned })
    }
}

/// Rejects a namespace that is missing or terminating.
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

/// The PriorityClass of a new pod. It must exist if the pod names one.
fn priority_class(
    txn: &Transaction<'_>,
    resource: &ResourceType,
    body: &Value,
) -> Result<Option<Value>, StatusError> {
    if resource.kind != "Pod" {
        return Ok(None);
    }
    let pod = body["metadata"]["name"].as_str().unwrap_or_default();
    let class_name = body["spec"]["priorityClassName"].as_str().unwrap_or_default();
    let class = class(txn, class_name);
    if class.is_none() && !class_name.is_empty() {
        let why = format!("no PriorityClass with name {class_name} was found");
        return Err(StatusError::forbidden(resource, pod, &why));
    }
    let computed = class.as_ref().and_then(|class| class["value"].as_i64()).unwrap_or(0);
    match body["spec"]["priority"].as_i64() {
        Some(value) if value != computed => {
            let why = format!(
                "the integer value of priority ({value}) must not be provided in pod spec; priority admission \
                 controller computed {computed} from the given PriorityClass name"
            );
            Err(StatusError::forbidden(resource, pod, &why))
        }
        _ => Ok(class),
    }
}

/// Merges the RuntimeClass that a new pod names, which must exist.
fn merge_runtime_class(
    txn: &Transaction<'_>,
    resource: &ResourceType,
    body: &mut Value,
) -> Result<(), StatusError> {
    let class_name = body["spec"]["runtimeClassName"].as_str().unwrap_or_default().to_owned();
    if resource.kind != "Pod" || class_name.is_empty() {
        return Ok(());
    }
    let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let rejected = |why: &str| StatusError::forbidden(resource, &name, &format!("pod rejected: {why}"));
    match txn.get(known("node.k8s.io", "runtimeclasses"), &class_name) {
        Some(class) => defaults::runtime_class(body, &class.value()).map_err(|why| rejected(&why)),
        None => Err(rejected(&format!("RuntimeClass \"{class_name}\" not found"))),
    }
}

/// The class of this name, or the default class.
fn class(txn: &Transaction<'_>, name: &str) -> Option<Value> {
    let classes = known("scheduling.k8s.io", "priorityclasses");
    if !name.is_empty() {
        return txn.get(classes, name).map(|class| class.value());
    }
    let all = txn.all(classes, None).into_iter().map(|(_, class)| class.value());
    all.filter(|class| class["globalDefault"] == true).min_by_key(|class| class["value"].as_i64())
}

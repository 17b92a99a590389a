//! Updates objects and subresources (PUT and PATCH).
//!
//! - Invariant: a request that changes nothing writes nothing.

use super::{
    check_uid, complete, is_ending, is_held, made_by_update, metadata, patched, read, read_patched,
    reject_invalid, settle_place, track, unkept, warnings,
};
use crate::api::{
    AdmissionAttributes, ApiServer, CreateResult, PatchBody, ResourcePath, WriteOptions, conversion,
};
use crate::api_status::StatusError;
use crate::json_ext::same_but;
use crate::resource::{ResourceType, Subresource};
use crate::store::{StoredObject, Transaction};
use crate::{defaults, validate};
use serde_json::Value;
use std::sync::Arc;

impl ApiServer {
    /// Replaces an object or a subresource.
    ///
    /// # Errors
    /// Whatever a real server rejects.
    pub fn update(
        &self,
        on: &ResourcePath,
        body: Value,
        options: &WriteOptions,
    ) -> Result<CreateResult, StatusError> {
        let resource = on.number.get();
        let (mut body, warnings) = read(resource, body, options)?;
        settle_place(resource, on, &mut body)?;
        self.store().write(|txn| match txn.get(on.number, &on.key()) {
            Some(old) => {
                check_uid(resource, on, &old, &body)?;
                self.replace(txn, on, (&old, old.value()), body, options, warnings)
            }
            None if on.sub.is_none() && made_by_update(resource) => {
                self.create_in(txn, on, body, options, warnings)
            }
            None => Err(StatusError::not_found(resource, &on.name)),
        })
    }

    /// Patches an object or a subresource. Server-side apply creates a missing object.
    ///
    /// # Errors
    /// Whatever a real server rejects.
    pub fn patch(
        &self,
        on: &ResourcePath,
        patch: &PatchBody,
        options: &WriteOptions,
    ) -> Result<CreateResult, StatusError> {
        let resource = on.number.get();
        self.store().write(|txn| {
            let old = txn.get(on.number, &on.key());
            let (live, old) = match (old, patch) {
                (Some(old), _) => (Some(conversion::from_home(resource, old.value())), Some(old)),
                (None, PatchBody::Apply(_)) if on.sub.is_none() => (None, None),
                (None, _) => return Err(StatusError::not_found(resource, &on.name)),
            };
            let patched = patched(resource, on, live.as_ref(), patch, options, self.clock())?;
            if let Some(uid) = patched["metadata"]["uid"].as_str()
                && live.is_none()
                && !uid.is_empty()
            {
                return Err(StatusError::conflict(resource, &on.name, &no_such_uid(uid)));
            }
            let (mut body, warnings) = read_patched(resource, patched, patch, options)?;
            settle_place(resource, on, &mut body)?;
            let options = match patch {
                // Server-side apply has set the owners already.
                PatchBody::Apply(_) => &WriteOptions { manager: String::new(), ..options.clone() },
                _ => options,
            };
            match old {
                Some(old) => {
                    let before = live.filter(|_| !conversion::is_shown_otherwise(resource));
                    let before = before.unwrap_or_else(|| old.value());
                    self.replace(txn, on, (&old, before), body, options, warnings)
                }
                None => {
                    metadata(&mut body).remove("resourceVersion");
                    self.create_in(txn, on, body, options, warnings)
                }
            }
        })
    }

    /// Changes an object within the process. Ignores unknown fields and never loses a concurrent update.
    ///
    /// # Errors
    /// 404, and validation errors.
    pub fn change(
        &self,
        on: &ResourcePath,
        by: &str,
        change: impl FnOnce(&mut Value),
    ) -> Result<CreateResult, StatusError> {
        self.store().write(|txn| {
            let old = txn.get(on.number, &on.key());
            let old = old.ok_or_else(|| StatusError::not_found(on.number.get(), &on.name))?;
            let before = old.value();
            let mut body = before.clone();
            change(&mut body);
            self.replace(txn, on, (&old, before), body, &WriteOptions::by(by), Vec::new())
        })
    }

    /// Replaces an existing object with a body that has been read.
    pub(super) fn replace(
        &self,
        txn: &mut Transaction<'_>,
        on: &ResourcePath,
        (old, before): (&Arc<StoredObject>, Value),
        mut body: Value,
        options: &WriteOptions,
        mut warned: Vec<String>,
    ) -> Result<CreateResult, StatusError> {
        let resource = on.number.get();
        check_preconditions(resource, on, &before, &body)?;
        defaults::carry_over(&before, &mut body);
        defaults::apply_defaults(resource, &mut body);
        let mut body = complete(body)?;
        let shown = match conversion::is_shown_otherwise(resource) {
            true => &conversion::from_home(resource, before.clone()),
            false => &before,
        };
        // Before admission: its changes have no field manager.
        track(resource, Some(shown), &mut body, options, on.sub, self.clock());
        conversion::to_home(resource, &mut body);
        defaults::on_update(resource, on.sub, &before, &mut body, self.shared.admission);
        let attributes = AdmissionAttributes { path: on, old: Some(&before), options, objects: txn };
        self.run_admit(&attributes, &mut body, &mut warned)?;
        reject_invalid(resource, &body, &validate::on_update(resource, on.sub, &before, &body))?;
        self.run_validate(&attributes, &body, &mut warned)?;
        if matches!(on.sub, None | Some(Subresource::Scale)) {
            defaults::generation(resource, Some(&before), &mut body);
        }
        let mut body = complete(body)?;
        warned.extend(warnings(resource, &body));
        if is_same(&before, &body) {
            return Ok(CreateResult { object: Arc::clone(old), new: false, warnings: warned });
        }
        let over = is_ending(&body) && !is_held(&body) && !is_graceful(&body);
        let object = match (options.dry_run, over) {
            (true, _) => unkept(&body),
            (false, true) => {
                // This change is never stored. The object is removed as it was before, and the response carries that
                // version.
                body["metadata"]["resourceVersion"] = before["metadata"]["resourceVersion"].clone();
                txn.remove(on.number, &on.key(), before);
                unkept(&body)
            }
            (false, false) => txn.put(on.number, &on.key(), body),
        };
        Ok(CreateResult { object, new: false, warnings: warned })
    }
}

fn no_such_uid(uid: &str) -> String {
    format!("uid mismatch: the provided object specified uid {uid}, and no existing object was found")
}

/// Whether the object stays: its grace period, or a namespace's own finalizers, have not ended yet.
fn is_graceful(body: &Value) -> bool {
    body["metadata"]["deletionGracePeriodSeconds"].as_i64().is_some_and(|seconds| seconds > 0)
        || body["kind"] == "Namespace"
            && body["spec"]["finalizers"].as_array().is_some_and(|all| !all.is_empty())
}

/// The version that a body was made from, if it names one.
fn check_preconditions(
    resource: &ResourceType,
    on: &ResourcePath,
    old: &Value,
    body: &Value,
) -> Result<(), StatusError> {
    let of = |object: &Value, field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    let (expected, is) = (of(body, "resourceVersion"), of(old, "resourceVersion"));
    match expected.as_str() {
        "" | "0" => validate::without_version(resource, body).map_or(Ok(()), Err),
        expected if expected == is => Ok(()),
        expected if expected.parse::<u64>().is_err() => {
            let why = format!("strconv.ParseUint: parsing \"{expected}\": invalid syntax");
            Err(StatusError::new(500, "", why))
        }
        _ => Err(StatusError::modified(resource, &on.name)),
    }
}

/// Whether nothing differs except the version, which a body may omit.
fn is_same(old: &Value, new: &Value) -> bool {
    same_but(old, new, "metadata") && same_but(&old["metadata"], &new["metadata"], "resourceVersion")
}

//! Deletes dependents of deleted owners, and handles foreground deletion and orphaning.

use super::informer_cache::OwnerKey;
use super::pods::{on, uid};
use super::{Controller, ReconcileContext};
use crate::core_types;
use fakekube::api::{self, DeleteOptions, Propagation, ResourcePath, WriteOptions};
use fakekube::resource::{ResourceId, ResourceType};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

const NAME: &str = "garbage-collector";

#[derive(Default)]
pub(super) struct GarbageCollector;

impl Controller for GarbageCollector {
    fn step(&mut self, view: &ReconcileContext<'_>) -> Option<Timestamp> {
        // All objects that are being deleted, changed or not, because they may wait for each other.
        for (number, key) in view.mirror.ending() {
            if let Some(object) = view.mirror.get(number, key) {
                settle(view, number, &object);
            }
        }
        self.orphans(view);
        None
    }
}

impl GarbageCollector {
    /// Deletes objects all of whose owners are gone.
    fn orphans(&self, view: &ReconcileContext<'_>) {
        let gone: BTreeMap<&OwnerKey, _> =
            view.mirror.owners().filter(|(owner, _)| is_gone(view, owner)).collect();
        let left: BTreeSet<_> = gone.values().copied().flatten().collect();
        for (number, key) in left {
            let mut owners = view.mirror.owners_of(*number, key).iter();
            let Some(object) = view.mirror.get(*number, key) else { continue };
            if !api::is_ending(&object) && owners.all(|owner| gone.contains_key(&**owner)) {
                let how = DeleteOptions {
                    uid: Some(uid(&object).to_owned()),
                    propagation: Some(Propagation::Background),
                    ..DeleteOptions::default()
                };
                let _ = view.server.delete(&on(*number, &object), &how, &WriteOptions::by(NAME));
            }
        }
    }
}

/// Whether an owner is gone, or another object has its name now. Owners of kinds that this server does not have are
/// unknown and count as present.
fn is_gone(view: &ReconcileContext<'_>, owner: &OwnerKey) -> bool {
    let Some(number) = ResourceType::of_kind(&owner.api_version, &owner.kind) else { return false };
    let namespace = if number.get().namespaced { &*owner.namespace } else { "" };
    match view.server.store().get(number, &api::key(namespace, &owner.name)) {
        Some(found) => found.uid != owner.uid,
        None => true,
    }
}

/// Handles an owner that is being deleted and waits for its dependents, or must orphan them.
fn settle(view: &ReconcileContext<'_>, number: ResourceId, object: &Value) {
    if !api::is_ending(object) {
        return;
    }
    let has =
        |finalizer: &str| core_types::list(&object["metadata"]["finalizers"]).any(|one| one == finalizer);
    let dependents: Vec<(ResourceId, String)> =
        view.mirror.dependents(uid(object)).map(|(number, key)| (number, key.to_owned())).collect();
    if has("orphan") {
        for (number, key) in &dependents {
            let Some(dependent) = view.mirror.get(*number, key) else { continue };
            let _ = view.server.change(&on(*number, &dependent), NAME, |dependent| {
                let owners = &mut dependent["metadata"]["ownerReferences"];
                if let Some(owners) = owners.as_array_mut() {
                    owners.retain(|owner| owner["uid"] != object["metadata"]["uid"]);
                }
            });
        }
        release(view, number, object, "orphan");
    }
    if has("foregroundDeletion") {
        let blocking = dependents.iter().filter(|(number, key)| {
            let owners = view.mirror.get(*number, key).map(|one| one["metadata"]["ownerReferences"].clone());
            owners.is_some_and(|owners| {
                core_types::list(&owners)
                    .any(|one| one["uid"] == uid(object) && one["blockOwnerDeletion"] == true)
            })
        });
        let blocked = blocking.count() > 0;
        for (number, key) in &dependents {
            let (namespace, name) = key.split_once('/').unwrap_or(("", key));
            let how =
                DeleteOptions { propagation: Some(Propagation::Foreground), ..DeleteOptions::default() };
            let ending = view.mirror.get(*number, key).is_some_and(|one| api::is_ending(&one));
            if !ending {
                let _ = view.server.delete(
                    &ResourcePath::object(*number, namespace, name),
                    &how,
                    &WriteOptions::by(NAME),
                );
            }
        }
        if !blocked {
            release(view, number, object, "foregroundDeletion");
        }
    }
}

fn release(view: &ReconcileContext<'_>, number: ResourceId, object: &Value, finalizer: &str) {
    let _ = view.server.change(&on(number, object), NAME, |object| {
        if let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut() {
            finalizers.retain(|one| one != finalizer);
        }
    });
}

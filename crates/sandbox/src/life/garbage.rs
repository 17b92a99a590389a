//! # Garbage: what nobody owns any more
//! Room:     dependents of owners that are gone; owners that wait for their dependents, or let go of them.
//! Comes in: objects with owners.
//! Goes out: deletions; finalizers taken off.
//! Not here: namespaces (`namespaces.rs`).

use super::pods::{namespace, on, uid};
use super::{Part, View};
use crate::api::{self, Deletion, On, Propagation, Wish};
use crate::facts;
use crate::resource::{Number, Resource};
use jiff::Timestamp;
use serde_json::Value;
use std::sync::Arc;

const NAME: &str = "garbage-collector";

#[derive(Default)]
pub(super) struct Garbage;

impl Part for Garbage {
    fn step(&mut self, view: &View<'_>) -> Option<Timestamp> {
        // All that are on their way out, changed or not: what one of them waits for is another's end.
        for number in Number::all() {
            view.mirror.all(number).for_each(|(_, object)| settle(view, number, object));
        }
        self.orphans(view);
        None
    }
}

impl Garbage {
    /// Objects all of whose owners are gone.
    fn orphans(&self, view: &View<'_>) {
        for number in Number::all() {
            for (_, object) in view.mirror.all(number) {
                let owners = &object["metadata"]["ownerReferences"];
                let mut owners = facts::list(owners).peekable();
                if owners.peek().is_none() || api::is_ending(object) {
                    continue;
                }
                if owners.all(|owner| is_gone(view, namespace(object), owner)) {
                    let how = Deletion {
                        uid: Some(uid(object).to_owned()),
                        propagation: Some(Propagation::Background),
                        ..Deletion::default()
                    };
                    let _ = view.server.delete(&on(number, object), &how, &Wish::by(NAME));
                }
            }
        }
    }
}

/// Whether an owner is gone, or another object has its name now. Of kinds this server does not have nothing is known.
fn is_gone(view: &View<'_>, namespace: &str, owner: &Value) -> bool {
    let text = |field: &str| owner[field].as_str().unwrap_or_default();
    let Some(number) = Resource::of_kind(text("apiVersion"), text("kind")) else { return false };
    let namespace = if number.get().namespaced { namespace } else { "" };
    match view.server.store().get(number, &api::key(namespace, text("name"))) {
        Some(found) => *found.uid != *text("uid"),
        None => true,
    }
}

/// An owner on its way out that waits for its dependents, or is to leave them alone.
fn settle(view: &View<'_>, number: Number, object: &Arc<Value>) {
    if !api::is_ending(object) {
        return;
    }
    let has = |finalizer: &str| facts::list(&object["metadata"]["finalizers"]).any(|one| one == finalizer);
    let dependents: Vec<(Number, String)> =
        view.mirror.dependents(uid(object)).map(|(number, key)| (number, key.to_owned())).collect();
    if has("orphan") {
        for (number, key) in &dependents {
            let Some(dependent) = view.mirror.get(*number, key) else { continue };
            let _ = view.server.change(&on(*number, dependent), NAME, |dependent| {
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
                facts::list(&owners).any(|one| one["uid"] == uid(object) && one["blockOwnerDeletion"] == true)
            })
        });
        let blocked = blocking.count() > 0;
        for (number, key) in &dependents {
            let (namespace, name) = key.split_once('/').unwrap_or(("", key));
            let how = Deletion { propagation: Some(Propagation::Foreground), ..Deletion::default() };
            let ending = view.mirror.get(*number, key).is_some_and(|one| api::is_ending(one));
            if !ending {
                let _ = view.server.delete(&On::object(*number, namespace, name), &how, &Wish::by(NAME));
            }
        }
        if !blocked {
            release(view, number, object, "foregroundDeletion");
        }
    }
}

fn release(view: &View<'_>, number: Number, object: &Value, finalizer: &str) {
    let _ = view.server.change(&on(number, object), NAME, |object| {
        if let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut() {
            finalizers.retain(|one| one != finalizer);
        }
    });
}

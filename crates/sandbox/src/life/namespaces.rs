//! # Namespaces: their beginning and their end
//! Room:     what each has from its beginning: a service account, the CA's ConfigMap; what is in one that is to go.
//! Comes in: namespaces.
//! Goes out: deletions; the namespace's own end.
//! Not here: refusing new objects in it (`api/create.rs`).

use super::pods::{name, on};
use super::{Part, View};
use crate::api::{self, Deletion, On, Wish};
use crate::resource::{Number, Sub, known};
use crate::store::Range;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

const NAME: &str = "namespace-controller";

/// How soon a namespace with something left in it is looked at again.
const AGAIN: SignedDuration = SignedDuration::from_millis(500);

pub(super) struct Namespaces;

impl Part for Namespaces {
    fn step(&mut self, view: &View<'_>) -> Option<Timestamp> {
        let namespaces = known("", "namespaces");
        let mut wake = None;
        for (_, namespace) in view.mirror.all(namespaces) {
            if !api::is_ending(namespace) {
                begin(view, name(namespace));
                continue;
            }
            match empty(view, name(namespace)) {
                true => {
                    let on = on(namespaces, namespace).part(Sub::Finalize);
                    let _ = view.server.change(&on, NAME, |namespace| {
                        namespace["spec"]["finalizers"] = json!([]);
                    });
                }
                false => wake = Some(view.now + AGAIN),
            }
        }
        wake
    }
}

fn begin(view: &View<'_>, namespace: &str) {
    let accounts = known("", "serviceaccounts");
    if view.mirror.one(accounts, &api::key(namespace, "default")).is_none() {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        let _ = view.server.create(&On::object(accounts, namespace, ""), account, &Wish::by(NAME));
    }
    let (maps, name) = (known("", "configmaps"), "kube-root-ca.crt");
    if view.mirror.one(maps, &api::key(namespace, name)).is_none() {
        // Pods wait for it. There is no certificate: this server speaks plain HTTP.
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"ca.crt": ""},
        });
        let _ = view.server.create(&On::object(maps, namespace, ""), map, &Wish::by(NAME));
    }
}

/// Deletes what is in a namespace; whether nothing is left.
fn empty(view: &View<'_>, namespace: &str) -> bool {
    let mut left = 0;
    for number in Number::all().filter(|number| number.get().namespaced && number.home() == *number) {
        let range = Range { namespace: Some(namespace), after: None, limit: 0 };
        let listed = view.server.store().list(number, range, None);
        for (key, object) in listed.map(|listed| listed.objects).unwrap_or_default() {
            let object = object.value();
            if !api::is_ending(&object) {
                let name = key.split_once('/').map_or("", |(_, name)| name);
                let on = On::object(number, namespace, name);
                let _ = view.server.delete(&on, &Deletion::default(), &Wish::by(NAME));
            }
            left += usize::from(view.server.store().get(number, &key).is_some());
        }
    }
    left == 0
}

//! Creates the standard objects of each namespace, and empties namespaces that are deleted.

use super::pods::{name, on};
use super::{Controller, ReconcileContext};
use fakekube::api::{self, DeleteOptions, ResourcePath, WriteOptions};
use fakekube::resource::{ResourceId, Subresource, known};
use fakekube::store::ListRange;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

const NAME: &str = "namespace-controller";

/// When a namespace that is not empty yet is handled again.
const AGAIN: SignedDuration = SignedDuration::from_millis(500);

pub(super) struct NamespaceController;

impl Controller for NamespaceController {
    fn step(&mut self, view: &ReconcileContext<'_>) -> Option<Timestamp> {
        let namespaces = known("", "namespaces");
        let mut wake = None;
        for (_, namespace) in view.mirror.all(namespaces) {
            if !api::is_ending(namespace) {
                begin(view, name(namespace));
                continue;
            }
            match empty(view, name(namespace)) {
                true => {
                    let on = on(namespaces, namespace).part(Subresource::Finalize);
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

fn begin(view: &ReconcileContext<'_>, namespace: &str) {
    let accounts = known("", "serviceaccounts");
    if view.mirror.one(accounts, &api::key(namespace, "default")).is_none() {
        let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}});
        let _ = view.server.create(
            &ResourcePath::object(accounts, namespace, ""),
            account,
            &WriteOptions::by(NAME),
        );
    }
    let (maps, name) = (known("", "configmaps"), "kube-root-ca.crt");
    if view.mirror.one(maps, &api::key(namespace, name)).is_none() {
        // Pods wait for this ConfigMap. There is no certificate: this server speaks plain HTTP.
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {"ca.crt": ""},
        });
        let _ = view.server.create(&ResourcePath::object(maps, namespace, ""), map, &WriteOptions::by(NAME));
    }
}

/// Deletes the objects in a namespace. Returns whether it is empty.
fn empty(view: &ReconcileContext<'_>, namespace: &str) -> bool {
    let mut left = 0;
    for number in ResourceId::all().filter(|number| number.get().namespaced && number.home() == *number) {
        let range = ListRange { namespace: Some(namespace), after: None };
        let listed = view.server.store().list(number, range, None);
        for (key, object) in listed.map(|listed| listed.objects).unwrap_or_default() {
            let object = object.value();
            if !api::is_ending(&object) {
                let name = key.split_once('/').map_or("", |(_, name)| name);
                let on = ResourcePath::object(number, namespace, name);
                let _ = view.server.delete(&on, &DeleteOptions::default(), &WriteOptions::by(NAME));
            }
            left += usize::from(view.server.store().get(number, &key).is_some());
        }
    }
    left == 0
}

//! Builds the JSON of Kubernetes objects for tests, `pod("web").on("n1").tolerates([toleration("gpu", Some(60))])`, and
//! waits for what they do ([`wait`]). Captures what is logged ([`log`]).
//!
//! - An object is a `serde_json::Value` as a client sends it; a test names only the fields that matter to it.

#![forbid(unsafe_code)]

pub mod log;
pub mod wait;

use serde_json::{Value, json};

/// A pod with one container.
pub fn pod(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": name },
        "spec": { "containers": [{ "name": "main", "image": "registry.invalid/main" }] },
    })
}

/// A node without taints.
pub fn node(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name }, "spec": {} })
}

/// A taint as kubectl writes it: `key=value:Effect` or `key:Effect`; `key` alone has the effect that evicts, `NoExecute`.
pub fn taint(text: &str) -> Value {
    let (identity, effect) = text.split_once(':').unwrap_or((text, "NoExecute"));
    match identity.split_once('=') {
        Some((key, value)) => json!({ "key": key, "value": value, "effect": effect }),
        None => json!({ "key": identity, "effect": effect }),
    }
}

/// Tolerates any value of a `NoExecute` taint with this key for so many seconds; `None`: indefinitely.
pub fn toleration(key: &str, seconds: Option<i64>) -> Value {
    let endless = json!({ "key": key, "operator": "Exists", "effect": "NoExecute" });
    seconds.into_iter().fold(endless, |timed, seconds| timed.with("tolerationSeconds", seconds))
}

/// A toleration from a row `key operator value effect seconds`: `-` is left out, and so are missing fields at the end.
pub fn toleration_row(row: &str) -> Value {
    let names = ["key", "operator", "value", "effect", "tolerationSeconds"];
    let fields = names.into_iter().zip(row.split_whitespace()).filter(|(_, text)| *text != "-");
    fields.fold(json!({}), |toleration, (name, text)| match name {
        "tolerationSeconds" => toleration.with(name, text.parse::<i64>().expect("a whole number")),
        _ => toleration.with(name, text),
    })
}

/// Sets fields of an object. Each method returns the object, so that calls can be chained.
pub trait ObjectExt: Sized {
    /// Sets the field at this path, such as `status.phase`; objects on the way that are missing are added.
    fn with(self, path: &str, value: impl Into<Value>) -> Self;

    /// Sets these fields of the object at this path. Their names may contain dots, as those of labels do.
    fn with_all(self, path: &str, fields: &Value) -> Self;

    /// Sets `metadata.namespace`.
    fn namespace(self, namespace: &str) -> Self {
        self.with("metadata.namespace", namespace)
    }

    /// Sets `metadata.uid`.
    fn uid(self, uid: &str) -> Self {
        self.with("metadata.uid", uid)
    }

    /// Sets `metadata.resourceVersion`.
    fn version(self, version: &str) -> Self {
        self.with("metadata.resourceVersion", version)
    }

    /// Sets the node of a pod.
    fn on(self, node: &str) -> Self {
        self.with("spec.nodeName", node)
    }

    /// Sets the tolerations of a pod.
    fn tolerates(self, tolerations: impl IntoIterator<Item = Value>) -> Self {
        self.with("spec.tolerations", Value::from_iter(tolerations))
    }

    /// Sets the taints of a node.
    fn tainted(self, taints: impl IntoIterator<Item = Value>) -> Self {
        self.with("spec.taints", Value::from_iter(taints))
    }
}

impl ObjectExt for Value {
    fn with(mut self, path: &str, value: impl Into<Self>) -> Self {
        *field_mut(&mut self, path) = value.into();
        self
    }

    fn with_all(mut self, path: &str, fields: &Self) -> Self {
        let object = field_mut(&mut self, path);
        for (field, value) in fields.as_object().into_iter().flatten() {
            object[field] = value.clone();
        }
        self
    }
}

fn field_mut<'v>(object: &'v mut Value, path: &str) -> &'v mut Value {
    path.split('.').fold(object, |object, field| &mut object[field])
}

#[cfg(test)]
mod tests {
    use super::{ObjectExt, node, pod, taint, toleration, toleration_row};
    use serde_json::json;

    #[test]
    fn a_taint_is_written_as_kubectl_writes_it() {
        assert_eq!(taint("k=v:NoSchedule"), json!({ "key": "k", "value": "v", "effect": "NoSchedule" }));
        assert_eq!(taint("k"), json!({ "key": "k", "effect": "NoExecute" }));
    }

    #[test]
    fn a_row_may_leave_fields_out() {
        assert_eq!(toleration_row("k Exists - NoExecute 60"), toleration("k", Some(60)));
        assert_eq!(toleration_row("- Exists"), json!({ "operator": "Exists" }));
    }

    #[test]
    fn a_test_names_only_what_matters_to_it() {
        let web = pod("web").on("n1").tolerates([toleration("gpu", Some(60)), toleration("disk", None)]);
        assert_eq!(web["spec"]["nodeName"], "n1");
        assert_eq!(
            web["spec"]["tolerations"],
            json!([
                { "key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60 },
                { "key": "disk", "operator": "Exists", "effect": "NoExecute" },
            ])
        );
        assert_eq!(web["metadata"], json!({ "name": "web" }));
    }

    #[test]
    fn missing_objects_on_the_way_to_a_field_are_added() {
        let silent = node("n1").with("status.conditions", json!([])).with("spec.unschedulable", true);
        assert_eq!(silent["status"], json!({ "conditions": [] }));
        assert_eq!(silent["spec"], json!({ "unschedulable": true }));
    }
}

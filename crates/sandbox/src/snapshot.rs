//! # Snapshot: a cluster in a file
//! Room:     writing all objects out; beginning with those of a file.
//! Comes in: what `kubectl get nodes,pods,deploy,rs,ds,pdb -A -o yaml` (or `json`) printed, or what was written here.
//! Goes out: objects as they were: identities, owners and status included.
//! Keeps:    what cannot be read is left out and named; what can be read is there.
//! Not here: files (the command line opens them).

use crate::api::{Server, key};
use crate::normal::{long_yaml_to_json, normal};
use crate::resource::{Number, Resource, known};
use crate::store::Range;
use serde_json::{Value, json};

/// Objects that could not be taken are named up to this many.
const NAMED_MOST: usize = 20;

/// Why nothing was loaded.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// Neither JSON nor YAML.
    #[error("it is neither JSON nor YAML: {0}")]
    Unreadable(String),
    /// No list and no object.
    #[error(
        "it holds no Kubernetes objects: expected what `kubectl get ... -A -o yaml` prints, a List with items"
    )]
    NoObjects,
}

/// What was loaded.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Objects that are there now.
    pub objects: usize,
    /// Objects that are not, each with the reason; the first ones.
    pub left_out: Vec<String>,
    /// How many are not.
    pub left_out_count: usize,
}

/// Puts the objects of a file in.
///
/// # Errors
/// If there is nothing in it that could be an object.
pub fn load(server: &Server, bytes: &[u8]) -> Result<Loaded, SnapshotError> {
    let document: Value = match serde_json::from_slice(bytes) {
        Ok(document) => document,
        Err(_) => long_yaml_to_json(bytes).map_err(|why| SnapshotError::Unreadable(why.to_string()))?,
    };
    let items = match document {
        Value::Object(mut object) if object.get("items").is_some_and(Value::is_array) => {
            match object.remove("items") {
                Some(Value::Array(items)) => items,
                _ => Vec::new(),
            }
        }
        object if object["kind"].is_string() => vec![object],
        _ => return Err(SnapshotError::NoObjects),
    };
    let mut loaded = Loaded::default();
    for item in items {
        match take(server, item) {
            Ok(()) => loaded.objects += 1,
            Err(why) => {
                loaded.left_out_count += 1;
                if loaded.left_out.len() < NAMED_MOST {
                    loaded.left_out.push(why);
                }
            }
        }
    }
    Ok(loaded)
}

/// One object, as it was.
fn take(server: &Server, item: Value) -> Result<(), String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (version, kind) = (text(&item["apiVersion"]), text(&item["kind"]));
    let (name, namespace) = (text(&item["metadata"]["name"]), text(&item["metadata"]["namespace"]));
    let called = format!("{kind} {}", key(&namespace, &name));
    let Some(number) = Resource::of_kind(&version, &kind).filter(|number| number.get().kept) else {
        return Err(format!("{called}: kind {kind} of {version} is not known here"));
    };
    if name.is_empty() || number.get().namespaced == namespace.is_empty() {
        return Err(format!("{called}: its name or namespace is missing"));
    }
    let mut object = normal(&version, &kind, item).map_err(|why| format!("{called}: {why}"))?.value;
    if text(&object["metadata"]["uid"]).is_empty() {
        object["metadata"]["uid"] = json!(server.ids().uid());
    }
    if object["metadata"]["creationTimestamp"].is_null() {
        object["metadata"]["creationTimestamp"] = json!(server.clock().stamp());
    }
    if number.get().namespaced {
        ensure_namespace(server, &namespace);
    }
    let put = server.store().write(|txn| {
        txn.put(number, &key(&namespace, &name), object);
        Ok(())
    });
    put.map_err(|failure| format!("{called}: {}", failure.message))
}

/// A namespace that was not part of the file.
fn ensure_namespace(server: &Server, name: &str) {
    let namespaces = known("", "namespaces");
    if server.store().get(namespaces, name).is_none() {
        let on = crate::api::On::object(namespaces, "", "");
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        // It was not there a moment ago; if it is now, all the better.
        let _ = server.create(&on, object, &crate::api::Wish::by("sandbox"));
    }
}

/// All objects but events, as one List in JSON, an object a line.
pub fn save(server: &Server) -> Vec<u8> {
    let mut text = b"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[".to_vec();
    let all = Range { namespace: None, after: None, limit: 0 };
    let mut first = true;
    for number in Number::all().filter(|number| number.home() == *number && number.get().kind != "Event") {
        for (_, object) in server.store().list(number, all, None).map(|list| list.objects).unwrap_or_default()
        {
            text.extend_from_slice(if first { b"\n" } else { b",\n" });
            text.extend_from_slice(&object.json);
            first = false;
        }
    }
    text.extend_from_slice(b"\n]}\n");
    text
}

#[cfg(test)]
mod tests {
    use super::{SnapshotError, load, save};
    use crate::resource::known;
    use crate::world::{Settings, World};

    fn empty() -> World {
        World::new(&Settings { nodes: 0, ..Settings::default() })
    }

    #[tokio::test]
    async fn what_is_saved_comes_back_as_it_was() {
        let world = World::new(&Settings::default());
        crate::sample::furnish(&world);
        let file = save(world.server());
        let other = empty();
        let loaded = load(other.server(), &file).unwrap();
        assert_eq!(loaded.left_out_count, 0, "{:?}", loaded.left_out);
        let strip = |bytes: Vec<u8>| {
            let mut list: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            for item in list["items"].as_array_mut().unwrap() {
                item["metadata"]["resourceVersion"] = serde_json::Value::Null;
            }
            list
        };
        assert_eq!(strip(save(other.server())), strip(file));
    }

    #[tokio::test]
    async fn what_kubectl_printed_is_read_and_what_is_not_known_is_named() {
        let yaml = b"apiVersion: v1\nkind: List\nitems:\n\
            - {apiVersion: v1, kind: Node, metadata: {name: a, uid: u1}}\n\
            - {apiVersion: v1, kind: Pod, metadata: {name: p, namespace: far}, spec: {nodeName: a, tolerance: x}}\n\
            - {apiVersion: example.com/v1, kind: Odd, metadata: {name: o}}\n\
            - {apiVersion: v1, kind: Pod, metadata: {name: q}}\n";
        let world = empty();
        let loaded = load(world.server(), yaml).unwrap();
        assert_eq!((loaded.objects, loaded.left_out_count), (2, 2), "{:?}", loaded.left_out);
        assert!(loaded.left_out[0].contains("Odd"), "{:?}", loaded.left_out);
        assert_eq!(world.server().get(known("", "nodes"), "", "a").unwrap()["metadata"]["uid"], "u1");
        assert!(world.server().get(known("", "namespaces"), "", "far").is_some());
    }

    #[tokio::test]
    async fn nonsense_is_refused_in_a_sentence() {
        let world = empty();
        assert!(matches!(load(world.server(), b"{\"a\": ["), Err(SnapshotError::Unreadable(_))));
        assert_eq!(load(world.server(), b"hello"), Err(SnapshotError::NoObjects));
        assert_eq!(load(world.server(), b""), Err(SnapshotError::NoObjects));
        assert_eq!(load(world.server(), b"{}"), Err(SnapshotError::NoObjects));
    }
}

//! Creates nodes from a file of Node objects, complete or abbreviated.
//!
//! - Invariant: fields that a Node sets are kept; the others are as in `world::node`.

use crate::world::{self, World};
use fakekube::api::{FieldValidation, ResourcePath, WriteOptions};
use fakekube::object_file::{self, DocumentPosition, FileReadError};
use fakekube::resource::known;
use serde_json::{Value, json};

/// The largest number of nodes that one process should simulate.
pub const NODES_MAX: usize = 10_000;

/// The field manager.
const NAME: &str = "sandbox";

/// Fields that a node gets here, whatever they were elsewhere.
const GIVEN: [&str; 8] = [
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
];

/// Why nodes could not be created.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum NodeFileError {
    /// The file cannot be read.
    #[error(transparent)]
    Unread(#[from] FileReadError),
    /// The object is not a Node.
    #[error(
        "{place}: {what} is not a Node; only Nodes of apiVersion v1 are allowed here, --load takes other \
         objects"
    )]
    NoNode {
        /// Its position.
        place: DocumentPosition,
        /// Its kind.
        what: String,
    },
    /// The API server rejected the Node.
    #[error("{place}: {why}; correct it there")]
    Rejected {
        /// Its position.
        place: DocumentPosition,
        /// The server's message.
        why: String,
    },
    /// Too many nodes.
    #[error("it has more than {NODES_MAX} nodes, the maximum; leave some out")]
    TooMany,
}

/// Creates the nodes of a text. Returns their number.
///
/// # Errors
/// [`NodeFileError`]; the world is unusable then.
pub fn register(world: &World, text: &[u8]) -> Result<usize, NodeFileError> {
    let mut count = 0;
    let mut wrong = None;
    object_file::each(text, |place, object| {
        if wrong.is_some() {
            return;
        }
        match one(world, place, count, object) {
            Ok(()) => count += 1,
            Err(why) => wrong = Some(why),
        }
    })?;
    wrong.map_or(Ok(count), Err)
}

fn one(world: &World, place: DocumentPosition, index: usize, node: Value) -> Result<(), NodeFileError> {
    if index >= NODES_MAX {
        return Err(NodeFileError::TooMany);
    }
    if (&node["apiVersion"], &node["kind"]) != (&json!("v1"), &json!("Node")) {
        return Err(NodeFileError::NoNode { place, what: what(&node) });
    }
    let on = ResourcePath::object(known("", "nodes"), "", "");
    let options = WriteOptions { strictness: FieldValidation::Strict, ..WriteOptions::by(NAME) };
    let made = world.server().create(&on, complete(index, node), &options);
    made.map(drop).map_err(|failure| NodeFileError::Rejected { place, why: failure.message })
}

/// The kind of an object that is not a Node.
fn what(object: &Value) -> String {
    let text = |field: &str| object[field].as_str().unwrap_or_default().chars().take(80).collect::<String>();
    match (text("kind"), text("apiVersion")) {
        (kind, _) if kind.is_empty() => "what has no kind".to_owned(),
        (kind, version) => format!("kind {kind} of apiVersion {version:?}"),
    }
}

/// Completes a node with everything that a kubelet would report.
fn complete(index: usize, mut node: Value) -> Value {
    if let Some(metadata) = node["metadata"].as_object_mut() {
        GIVEN.iter().for_each(|field| _ = metadata.remove(*field));
    }
    let name = node["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let mut usual = world::named_node(&name, index);
    if let Some(allocatable) = usual["status"].as_object_mut().and_then(|status| status.remove("allocatable"))
    {
        fill(&mut node, usual);
        // The allocatable resources are the capacity, unless the node has its own.
        let capacity = node["status"]["capacity"].clone();
        for usual in [capacity, allocatable] {
            fill(&mut node, json!({"status": {"allocatable": usual}}));
        }
    }
    node
}

/// Sets missing fields.
fn fill(object: &mut Value, usual: Value) {
    match (object, usual) {
        (Value::Object(object), Value::Object(usual)) => {
            for (field, usual) in usual {
                match object.get_mut(&field) {
                    Some(there) => fill(there, usual),
                    None => _ = object.insert(field, usual),
                }
            }
        }
        (object @ Value::Null, usual) => *object = usual,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::{NodeFileError, register};
    use crate::world::{World, WorldSettings};
    use fakekube::object_file::FileReadError;
    use fakekube::resource::known;
    use serde_json::{Value, json};

    fn empty() -> World {
        World::new(&WorldSettings { nodes: 0, roles: Vec::new(), ..WorldSettings::default() })
    }

    fn stored_node(world: &World, name: &str) -> Value {
        world.server().get(known("", "nodes"), "", name).unwrap_or_else(|| panic!("{name} is not there"))
    }

    #[tokio::test]
    async fn a_name_is_enough_and_given_fields_are_kept() {
        let yaml = b"# two documents and a list\n\
            apiVersion: v1\nkind: Node\nmetadata: {name: short}\n---\n\
            apiVersion: v1\nkind: Node\nmetadata:\n  name: gpu-1\n  uid: elsewhere\n  resourceVersion: '77'\n\
            \x20 labels: {zone: east, kubernetes.io/arch: arm64}\n  annotations: {a: b}\n\
            spec:\n  taints: [{key: gpu, value: 'yes', effect: NoSchedule}]\n\
            status:\n  capacity: {cpu: 2, example.com/gpu: 4}\n---\n\
            apiVersion: v1\nkind: NodeList\nitems:\n- metadata: {name: listed}\n";
        let world = empty();
        assert_eq!(register(&world, yaml), Ok(3));
        let short = stored_node(&world, "short");
        assert_eq!(short["status"]["capacity"]["cpu"], "8");
        assert_eq!(short["metadata"]["labels"]["kubernetes.io/hostname"], "short");
        assert_eq!(short["metadata"]["labels"].get("topology.kubernetes.io/zone"), None);
        let gpu = stored_node(&world, "gpu-1");
        assert_ne!(gpu["metadata"]["uid"], "elsewhere");
        assert_eq!(gpu["metadata"]["labels"]["kubernetes.io/arch"], "arm64");
        assert_eq!(gpu["metadata"]["annotations"], json!({"a": "b"}));
        assert_eq!(gpu["spec"]["taints"][0]["key"], "gpu");
        for of in ["capacity", "allocatable"] {
            let of = &gpu["status"][of];
            assert_eq!(
                (&of["cpu"], &of["example.com/gpu"], &of["pods"]),
                (&json!("2"), &json!("4"), &json!("110"))
            );
        }
        stored_node(&world, "listed");
    }

    #[tokio::test]
    async fn an_error_names_its_place() {
        let node = "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n";
        for (text, words) in [
            (format!("{node}---\n{node}"), "document 2 (line 5): nodes \"a\" already exists"),
            (
                format!("{node}---\napiVersion: v1\nkind: Pod\n"),
                "document 2 (line 5): kind Pod of apiVersion \"v1\" is not a Node",
            ),
            (format!("{node}spec: {{tains: []}}\n"), "unknown field \"spec.tains\""),
            (format!("{node}spec: {{taints: [{{key: k, effect: Never}}]}}\n"), "Never"),
            ("apiVersion: v1\nkind: Node\nmetadata: {name: A_b}\n".to_owned(), "A_b"),
            ("apiVersion: v1\nkind: Node\n".to_owned(), "name"),
            (
                "apiVersion: v1\nkind: List\nitems:\n- 7\n".to_owned(),
                "document 1 (line 1), item 1: what has no kind",
            ),
            (format!("{node}---\n{node}: ["), "begins in line 5"),
        ] {
            let why = register(&empty(), text.as_bytes()).expect_err(&text).to_string();
            assert!(why.contains(words), "{text}: {why}");
        }
        assert_eq!(register(&empty(), b""), Err(NodeFileError::Unread(FileReadError::NoObjects)));
    }
}

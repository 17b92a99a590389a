//! Saves all objects of a cluster to a file and loads them, with identities, owners and status.
//!
//! - Invariant: objects that cannot be loaded are reported, and the rest is loaded.

use fakekube::api::{ApiServer, key};
use fakekube::object_file::{self, FileReadError};
use fakekube::resource::{ResourceId, ResourceType};
use fakekube::store::ListRange;
use serde_json::Value;
use std::collections::HashSet;
use taintward_core::text::harmless;

/// The largest number of objects whose errors are listed.
const NAMED_MAX: usize = 20;

/// How much of an arbitrary name is shown.
const SHOWN_MAX: usize = 80;

/// Why nothing was loaded.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The file cannot be read.
    #[error(transparent)]
    Unread(#[from] FileReadError),
    /// None of its objects can be used.
    #[error(
        "none of its {count} objects can be used; the first: {first}; correct them, or load another file"
    )]
    NothingUsable {
        /// The number of objects.
        count: usize,
        /// The error of the first one.
        first: String,
    },
}

/// The result of loading.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct LoadResult {
    /// Objects that were loaded.
    pub objects: usize,
    /// The first errors of objects that were not loaded.
    pub left_out: Vec<String>,
    /// The number of objects that were not loaded.
    pub left_out_count: usize,
}

/// Loads the objects of a file.
///
/// # Errors
/// If it cannot be read to its end, or contains nothing that could be an object.
pub fn load(server: &ApiServer, bytes: &[u8]) -> Result<LoadResult, SnapshotError> {
    let mut loaded = LoadResult::default();
    let mut seen = HashSet::new();
    object_file::each(bytes, |place, item| match take(server, item, &mut seen) {
        Ok(()) => loaded.objects += 1,
        Err(why) => {
            loaded.left_out_count += 1;
            if loaded.left_out.len() < NAMED_MAX {
                loaded.left_out.push(format!("{place}: {why}"));
            }
        }
    })?;
    match loaded.left_out.first() {
        Some(first) if loaded.objects == 0 => {
            Err(SnapshotError::NothingUsable { count: loaded.left_out_count, first: first.clone() })
        }
        _ => Ok(loaded),
    }
}

/// Loads one object as it was.
fn take(server: &ApiServer, item: Value, seen: &mut HashSet<(ResourceId, String)>) -> Result<(), String> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    if !item.is_object() {
        return Err("it is not an object".to_owned());
    }
    let (version, kind) = (text(&item["apiVersion"]), text(&item["kind"]));
    let (name, namespace) = (text(&item["metadata"]["name"]), text(&item["metadata"]["namespace"]));
    let called = shortened(&format!("{kind} {}", key(&namespace, &name)));
    let kind_shown = shortened(&kind);
    let Some(number) = ResourceType::of_kind(&version, &kind).filter(|number| number.get().kept) else {
        let version = shortened(&version);
        return Err(format!("{called}: kind {kind_shown} of {version} is not known here"));
    };
    if name.is_empty() || number.get().namespaced == namespace.is_empty() {
        return Err(format!(
            "{called}: it has no name, lacks the namespace that its kind needs, or has one that its kind does not allow"
        ));
    }
    let place = (number.home(), key(&namespace, &name));
    if seen.contains(&place) {
        return Err(format!("{called}: it is a duplicate; the sandbox uses the first one"));
    }
    server.restore(number, item).map_err(|why| format!("{called}: {why}"))?;
    seen.insert(place);
    Ok(())
}

/// Text of a file, shortened and made safe for a line of a terminal.
fn shortened(text: &str) -> String {
    let plain = harmless(text);
    let short: String = plain.chars().take(SHOWN_MAX).collect();
    if plain.chars().count() > SHOWN_MAX { short + "..." } else { short }
}

/// All objects but events, as one List in JSON, one object per line.
pub fn save(server: &ApiServer) -> Vec<u8> {
    let mut text = b"{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[".to_vec();
    let all = ListRange { namespace: None, after: None };
    let mut first = true;
    for number in ResourceId::all().filter(|number| number.home() == *number && number.get().kind != "Event")
    {
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
    use crate::world::{World, WorldSettings};
    use fakekube::object_file::FileReadError;
    use fakekube::resource::known;

    fn empty() -> World {
        World::new(&WorldSettings { nodes: 0, ..WorldSettings::default() })
    }

    #[tokio::test]
    async fn what_is_saved_comes_back_as_it_was() {
        let world = World::new(&WorldSettings::default());
        crate::demo_workloads::furnish(&world);
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
    async fn pools_come_back_and_what_is_none_is_named() {
        let yaml = b"apiVersion: taintward.io/v1alpha1\nkind: DedicatedPool\nmetadata: {name: good}\n\
            spec: {taint: {key: a}, nodes: {names: [n1]}, users: {users: [x]}}\nstatus: {nodes: 3}\n---\n\
            apiVersion: taintward.io/v1alpha1\nkind: DedicatedPool\nmetadata: {name: bad}\n\
            spec: {taint: {key: a b}, nodes: {names: [n1]}, users: {users: [x]}}\n";
        let world = empty();
        let loaded = load(world.server(), yaml).unwrap();
        assert_eq!((loaded.objects, loaded.left_out_count), (1, 1), "{:?}", loaded.left_out);
        assert!(
            loaded.left_out[0].contains("DedicatedPool bad: spec.taint.key: Invalid value: \"a b\""),
            "{loaded:?}"
        );
        let pool = world.server().get(known("taintward.io", "dedicatedpools"), "", "good").unwrap();
        assert_eq!((&pool["spec"]["placement"], &pool["status"]["nodes"]), (&"Exclusive".into(), &3.into()));
        let other = empty();
        assert_eq!(load(other.server(), &save(world.server())).unwrap().left_out_count, 0);
    }

    #[tokio::test]
    async fn invalid_objects_are_refused_in_a_sentence() {
        let world = empty();
        assert!(matches!(
            load(world.server(), b"{\"a\": ["),
            Err(SnapshotError::Unread(FileReadError::Syntax { line: 1, .. }))
        ));
        for nothing in [&b"hello"[..], b"", b"{}", b"---\n# nothing\n---\n"] {
            assert_eq!(load(world.server(), nothing), Err(SnapshotError::Unread(FileReadError::NoObjects)));
        }
    }
}

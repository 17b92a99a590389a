//! Tests with random nodes that managed taints are written as requested and others never touched (NL-20, S8).

mod patch;

use crate::fake::{ClientReply, server};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{ManagedTaint, ManagedTaints, NodeRef};
use taintward_core::time::Wall;
use taintward_kube::api::{ApiClient, RequestError};

const NOW: Wall = Wall::from_secs(1_800_000_000);
const SECOND: &str = "2027-01-15T08:00:00Z";

/// The node on the server.
type NodeStore = Arc<Mutex<Value>>;

/// A taint: managed ones, managed keys with other effects, other keys; with or without value, time, and an unknown
/// field.
fn any_taint() -> impl Strategy<Value = Value> {
    let own = proptest::sample::select(&ManagedTaint::ALL[..])
        .prop_map(|own| (own.key().to_owned(), own.effect().as_str().to_owned()));
    let other = (
        proptest::sample::select(vec![
            "node.kubernetes.io/not-ready",
            "node.kubernetes.io/unschedulable",
            "dedicated",
            "node.kubernetes.io/not-ready/",
        ]),
        proptest::sample::select(vec!["PreferNoSchedule", "NoExecute", "NoSchedule", "noexecute", ""]),
    )
        .prop_map(|(key, effect)| (key.to_owned(), effect.to_owned()));
    let who = prop_oneof![2 => own, 1 => other];
    let time = option::of(proptest::sample::select(vec!["2020-01-01T00:00:00Z", SECOND]));
    let value = option::of(proptest::sample::select(vec!["", "v", "~1/\"é"]));
    (who, value, time, any::<bool>()).prop_map(|((key, effect), value, time, strange)| {
        let mut taint = json!({ "key": key, "effect": effect });
        for (field, given) in [("value", value), ("timeAdded", time), ("since136", strange.then_some("x"))] {
            if let Some(given) = given {
                taint[field] = json!(given);
            }
        }
        taint
    })
}

fn spec() -> impl Strategy<Value = Value> {
    prop_oneof![
        8 => vec(any_taint(), 0..8).prop_map(|taints| json!({ "podCIDR": "10.0.0.0/24", "taints": taints })),
        1 => Just(json!({ "taints": null })),
        1 => Just(json!({ "unschedulable": true })),
        1 => Just(Value::Null),
    ]
}

fn owns() -> impl Strategy<Value = ManagedTaints> {
    proptest::sample::subsequence(ManagedTaint::ALL.to_vec(), 0..=9)
        .prop_map(|owns| owns.into_iter().collect())
}

fn stored(spec: &Value, version: u64) -> NodeStore {
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": { "name": "n1", "uid": "u1", "resourceVersion": version.to_string() },
    });
    if !spec.is_null() {
        node["spec"] = spec.clone();
    }
    Arc::new(Mutex::new(node))
}

/// A server that stores a node, applies patches as a whole or not at all, and does `meanwhile` after each read.
fn keeper(store: &NodeStore, meanwhile: impl Fn(&mut Value) + Send + 'static) -> ApiClient {
    let store = Arc::clone(store);
    let (client, _) = server(move |seen| {
        let mut node = store.lock().unwrap();
        if seen.method == http::Method::GET {
            let reply = ClientReply::json(200, &node);
            meanwhile(&mut node);
            return reply;
        }
        match patch::apply(&node, &seen.body) {
            Some(mut patched) => {
                let version: u64 = node["metadata"]["resourceVersion"].as_str().unwrap().parse().unwrap();
                patched["metadata"]["resourceVersion"] = json!((version + 1).to_string());
                *node = patched;
                ClientReply::json(200, &node)
            }
            None => ClientReply::status(
                422,
                "Invalid",
                "the server rejected our request due to an error in our request",
            ),
        }
    });
    ApiClient::new(client, "x")
}

/// One write, to a server of its own.
fn write(
    store: &NodeStore,
    meanwhile: impl Fn(&mut Value) + Send + 'static,
    version: Option<ResourceVersion>,
    (add, remove): (ManagedTaints, ManagedTaints),
) -> Result<Option<ResourceVersion>, RequestError> {
    let node = NodeRef { name: NodeName::new("n1"), uid: Uid::new("u1") };
    let write = async { keeper(store, meanwhile).write_taints(&node, version, add, remove, NOW).await };
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().start_paused(true).build().unwrap().block_on(write)
}

fn taints(node: &Value) -> Vec<Value> {
    node["spec"]["taints"].as_array().cloned().unwrap_or_default()
}

/// Whether a taint is in the set, by its text and not by the code under test.
fn has(set: ManagedTaints, taint: &Value) -> bool {
    set.iter().any(|own| {
        let words = own.to_string();
        words == format!("{}:{}", taint["key"].as_str().unwrap(), taint["effect"].as_str().unwrap())
    })
}

/// The expected result: removed taints are gone, the rest stays unchanged and in place, new ones come last.
fn model(before: &[Value], add: ManagedTaints, remove: ManagedTaints) -> Vec<Value> {
    let stays = |taint: &&Value| !has(remove, taint) || has(add, taint);
    let mut after: Vec<Value> = before.iter().filter(stays).cloned().collect();
    for own in add.iter() {
        let one = ManagedTaints::NONE.with(own);
        if !before.iter().any(|taint| has(one, taint)) {
            after.push(json!({ "key": own.key(), "effect": own.effect().as_str(), "timeAdded": SECOND }));
        }
    }
    after
}

/// The node without its taints and its version.
fn rest(node: &Value) -> Value {
    let mut node = node.clone();
    node["metadata"]["resourceVersion"] = Value::Null;
    node["spec"]["taints"] = Value::Null;
    node
}

fn config() -> ProptestConfig {
    ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn managed_taints_are_as_requested_and_others_unchanged(
        spec in spec(), start in 1..1000_u64, add in owns(), remove in owns(), named in any::<bool>(),
    ) {
        let store = stored(&spec, start);
        let before = store.lock().unwrap().clone();
        let version = write(&store, |_| {}, named.then_some(ResourceVersion(start)), (add, remove));
        let after = store.lock().unwrap().clone();
        let expected = model(&taints(&before), add, remove);
        prop_assert_eq!(taints(&after), expected.clone());
        prop_assert_eq!(rest(&after), rest(&before));
        let changed = expected != taints(&before);
        prop_assert_eq!(version, Ok(Some(ResourceVersion(if changed { start + 1 } else { start }))), "nothing to write");
        let version = write(&store, |_| {}, None, (add, remove));
        prop_assert_eq!(&*store.lock().unwrap(), &after, "a repeated request changes nothing");
        prop_assert_eq!(version, Ok(Some(ResourceVersion(if changed { start + 1 } else { start }))));
    }

    #[test]
    fn nothing_is_written_onto_another_state_than_was_read(
        spec in spec(), other in spec(), add in owns(), remove in owns(), uid in any::<bool>(), version in any::<bool>(),
    ) {
        let change = move |node: &mut Value| {
            node["spec"] = other.clone();
            if uid {
                node["metadata"]["uid"] = json!("u2");
            }
            if version {
                node["metadata"]["resourceVersion"] = json!("9");
            }
        };
        let store = stored(&spec, 7);
        let before = taints(&store.lock().unwrap());
        let mut changed = store.lock().unwrap().clone();
        change(&mut changed);
        let result = write(&store, change, Some(ResourceVersion(7)), (add, remove));
        let after = store.lock().unwrap().clone();
        if before == model(&before, add, remove) {
            prop_assert_eq!((result, after), (Ok(Some(ResourceVersion(7))), changed));
        } else if uid || version || result.is_err() {
            prop_assert_eq!(result.unwrap_err().failure, ApiFailure::Conflict);
            prop_assert_eq!(after, changed);
        } else if spec["taints"].is_array() {
            // A server that does not increment versions: the tests of each position still protect other clients'
            // taints.
            let foreign = |node: &Value| {
                taints(node).into_iter().filter(|taint| !has(add.and(remove), taint)).collect::<Vec<_>>()
            };
            prop_assert_eq!(foreign(&after), foreign(&changed));
        }
    }
}

//! Tests that every consumer gets its part of each event.

use super::*;
use crate::eviction::tests::decoded;
use crate::metrics::{BuildInfo, ControllerMetrics};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;
use taintward_core::time::{Mono, Wall};
use taintward_kube::decode::UndecodableObject;
use testkit::{ObjectExt as _, node, taint};

/// A ready node with a taint.
fn decoded_node(name: &str) -> NodeForAllControllers {
    let ready = json!([{ "type": "Ready", "status": "True" }]);
    decoded(&node(name).uid("u").version("7").tainted([taint("k")]).with("status.conditions", ready))
}

fn meter() -> EventMeter {
    let about = BuildInfo {
        version: "",
        mode: "",
        lease: String::new(),
        started: Wall::from_secs(0),
        host: String::new(),
    };
    let metrics = ControllerMetrics::new(Arc::new(|| Mono::from_secs(0)), &about);
    let clock = Clock::of_runtime(Wall::from_secs(0));
    EventMeter { watches: metrics.watches, clock, resource: Resource::Nodes }
}

fn batch() -> Vec<WatchEvent<NodeForAllControllers>> {
    let undecodable = UndecodableObject { identity: None, why: "odd".into() };
    vec![
        WatchEvent::ListStarted { silent_for: Some(Duration::from_secs(3)) },
        WatchEvent::Applied { fact: decoded_node("n1"), listed: true },
        WatchEvent::Undecodable(undecodable),
        WatchEvent::ListCompleted,
        WatchEvent::Applied { fact: decoded_node("n2"), listed: false },
        WatchEvent::Bookmark,
    ]
}

/// The events that consumers receive from a batch.
fn received(batch: Vec<WatchEvent<NodeForAllControllers>>) -> Vec<ObjectEvent<NodeForAllControllers>> {
    batch.into_iter().filter_map(|event| event.into_object_event(Mono::from_secs(0))).collect()
}

#[tokio::test]
async fn both_consumers_receive_their_part_of_every_event_in_order() {
    let (out, from) = mpsc::channel(1);
    let ((eviction, mut taints), (health, mut conditions)) = (mpsc::channel(1), mpsc::channel(1));
    let meter = meter();
    let undecodable = meter.watches.undecodable.of(Resource::Nodes);
    tokio::spawn(run(
        from,
        Consumers {
            eviction: Some(eviction),
            eviction_scope: EvictionScope::AllPods,
            health: Some(health),
            pools: None,
            holds: None,
        },
        meter,
    ));
    out.send(batch()).await.unwrap();
    let (taints, conditions) = (taints.recv().await.unwrap(), conditions.recv().await.unwrap());
    let expected: (Vec<_>, Vec<_>) =
        received(batch()).into_iter().map(|event| event.split(NodeForAllControllers::split)).unzip();
    assert_eq!(
        (taints.len(), conditions.len()),
        (4, 4),
        "all but the bookmark and the object without a name"
    );
    assert_eq!((&taints[1..], &conditions[1..]), (&expected.0[1..], &expected.1[1..]));
    let [ObjectEvent::ListStarted { .. }, ObjectEvent::Applied { fact, listed: true }, ..] = &taints[..]
    else {
        panic!("{taints:?}")
    };
    assert_eq!(fact.taints.len(), 1);
    let [.., ObjectEvent::Applied { fact, listed: false }] = &conditions[..] else {
        panic!("{conditions:?}")
    };
    assert_eq!((fact.name.as_str(), fact.conditions.len()), ("n2", 1));
    assert_eq!(undecodable.get(), 1, "counted once, though two consumers receive it");
}

#[tokio::test]
async fn one_that_has_ended_does_not_stop_the_other() {
    let (out, from) = mpsc::channel(1);
    let ((eviction, taints), (health, mut conditions)) = (mpsc::channel(1), mpsc::channel(1));
    let task = tokio::spawn(run(
        from,
        Consumers {
            eviction: Some(eviction),
            eviction_scope: EvictionScope::AllPods,
            health: Some(health),
            pools: None,
            holds: None,
        },
        meter(),
    ));
    drop(taints);
    for _ in 0..3 {
        out.send(batch()).await.unwrap();
        assert_eq!(conditions.recv().await.unwrap().len(), received(batch()).len());
    }
    drop(conditions);
    out.send(batch()).await.unwrap();
    task.await.unwrap();
    assert!(out.is_closed(), "no consumer is left");
}

#[tokio::test]
async fn pools_receive_whole_lists_and_only_while_they_need_any() {
    let (out, from) = mpsc::channel(1);
    let ((eviction, mut taints), (to_pools, mut pools)) = (mpsc::channel(1), mpsc::channel(1));
    let (needed, is_needed) = watch::channel(false);
    let for_pools = Some(OnDemandConsumer::new(to_pools, is_needed));
    tokio::spawn(run(
        from,
        Consumers {
            eviction: Some(eviction),
            eviction_scope: EvictionScope::AllPods,
            health: None,
            pools: for_pools,
            holds: None,
        },
        meter(),
    ));
    let mut receive = async |batch: Vec<WatchEvent<NodeForAllControllers>>| {
        let all = received(batch.clone()).len();
        out.send(batch).await.unwrap();
        assert_eq!(taints.recv().await.unwrap().len(), all);
        // The next batch is received only after this one has been sent to every consumer.
        tokio::task::yield_now().await;
        pools.try_recv().ok()
    };
    assert_eq!(receive(batch()).await, None);
    needed.send_replace(true);
    let applied = WatchEvent::Applied { fact: decoded_node("n3"), listed: false };
    assert_eq!(receive(vec![applied.clone(), WatchEvent::ListCompleted]).await, None, "the rest of a list");
    let started = WatchEvent::ListStarted { silent_for: None };
    let delivered =
        receive(vec![applied.clone(), started, applied.clone(), WatchEvent::ListCompleted]).await.unwrap();
    let [
        ObjectEvent::ListStarted { .. },
        ObjectEvent::Applied { fact, listed: false },
        ObjectEvent::ListCompleted,
    ] = &delivered[..]
    else {
        panic!("{delivered:?}")
    };
    assert_eq!(&*fact.node.name, "n3");
    assert!(receive(vec![applied.clone()]).await.is_some());
    needed.send_replace(false);
    assert_eq!(receive(vec![applied.clone()]).await, None);
    needed.send_replace(true);
    assert_eq!(receive(vec![applied]).await, None, "not from the middle");
}

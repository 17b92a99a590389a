//! Tests that every subscriber receives its part of each event.

use super::*;
use crate::eviction::tests::decoded;
use serde_json::json;
use taintward_core::fact::NodeFact;
use taintward_core::node_lifecycle::NodeHealthFact;
use taintward_core::time::Mono;
use taintward_kube::decode::{NodeForAllControllers, WatchedObject as _};
use testkit::{ObjectExt as _, node, taint};

/// A ready node with a taint.
fn decoded_node(name: &str) -> NodeForAllControllers {
    let ready = json!([{ "type": "Ready", "status": "True" }]);
    decoded(&node(name).uid("u").version("7").tainted([taint("k")]).with("status.conditions", ready))
}

fn taints_of(node: &NodeForAllControllers, listed: bool) -> ObjectEvent<NodeFact> {
    ObjectEvent::Applied { fact: node.node.taints.clone(), listed }
}

fn health_of(node: &NodeForAllControllers, listed: bool) -> ObjectEvent<NodeHealthFact> {
    ObjectEvent::Applied { fact: node.node.health.clone(), listed }
}

fn batch() -> Vec<ObjectEvent<NodeForAllControllers>> {
    vec![
        ObjectEvent::ListStarted { silent_since: Some(Mono::from_secs(3)) },
        ObjectEvent::Applied { fact: decoded_node("n1"), listed: true },
        ObjectEvent::Undecodable(decoded_node("odd").identity().into()),
        ObjectEvent::ListCompleted,
        ObjectEvent::Applied { fact: decoded_node("n2"), listed: false },
    ]
}

#[tokio::test]
async fn each_subscriber_receives_its_part_of_every_event_in_order() {
    let (out, from) = mpsc::channel(1);
    let undecodable = Counter::default();
    let mut fan_out = FanOut::new(undecodable.clone());
    let (mut taints, mut conditions) = (fan_out.subscribe(taints_of), fan_out.subscribe(health_of));
    tokio::spawn(fan_out.run(from));
    out.send(batch()).await.unwrap();
    let (taints, conditions) = (taints.recv().await.unwrap(), conditions.recv().await.unwrap());
    let form = |event: ObjectEvent<NodeForAllControllers>| {
        event.split(|node| (node.node.taints.clone(), node.node.health.clone()))
    };
    let expected: (Vec<_>, Vec<_>) = batch().into_iter().map(form).unzip();
    assert_eq!((&taints, &conditions), (&expected.0, &expected.1));
    let ObjectEvent::Applied { fact, listed: true } = &taints[1] else { panic!("{taints:?}") };
    assert_eq!(fact.taints.len(), 1);
    let [.., ObjectEvent::Applied { fact, listed: false }] = &conditions[..] else {
        panic!("{conditions:?}")
    };
    assert_eq!((fact.name.as_str(), fact.conditions.len()), ("n2", 1));
    assert_eq!(undecodable.get(), 0, "the watcher counts what no subscriber can decode");
}

#[tokio::test]
async fn what_one_subscriber_cannot_decode_is_counted() {
    let (out, from) = mpsc::channel(1);
    let undecodable = Counter::default();
    let mut fan_out = FanOut::new(undecodable.clone());
    let mut taints = fan_out.subscribe(taints_of);
    let mut nothing = fan_out.subscribe::<()>(|node, _| ObjectEvent::Undecodable(node.identity().into()));
    tokio::spawn(fan_out.run(from));
    out.send(vec![ObjectEvent::Applied { fact: decoded_node("n1"), listed: true }]).await.unwrap();
    assert!(matches!(taints.recv().await.unwrap()[..], [ObjectEvent::Applied { .. }]));
    assert!(matches!(nothing.recv().await.unwrap()[..], [ObjectEvent::Undecodable(_)]));
    assert_eq!(undecodable.get(), 1);
}

#[tokio::test]
async fn one_that_has_ended_does_not_stop_the_other() {
    let (out, from) = mpsc::channel(1);
    let mut fan_out = FanOut::new(Counter::default());
    let (taints, mut conditions) = (fan_out.subscribe(taints_of), fan_out.subscribe(health_of));
    let task = tokio::spawn(fan_out.run(from));
    drop(taints);
    for _ in 0..3 {
        out.send(batch()).await.unwrap();
        assert_eq!(conditions.recv().await.unwrap().len(), batch().len());
    }
    drop(conditions);
    out.send(batch()).await.unwrap();
    task.await.unwrap();
    assert!(out.is_closed(), "no subscriber is left");
}

#[tokio::test]
async fn a_subscriber_on_demand_receives_whole_lists_while_they_are_demanded() {
    let (out, from) = mpsc::channel(1);
    let (needed, is_needed) = watch::channel(false);
    let mut fan_out = FanOut::new(Counter::default());
    let mut taints = fan_out.subscribe(taints_of);
    let mut health = fan_out.subscribe_while(is_needed, health_of);
    tokio::spawn(fan_out.run(from));
    let mut receive = async |batch: Vec<ObjectEvent<NodeForAllControllers>>| {
        let all = batch.len();
        out.send(batch).await.unwrap();
        assert_eq!(taints.recv().await.unwrap().len(), all);
        // The next batch is received only after this one has been sent to every subscriber.
        tokio::task::yield_now().await;
        health.try_recv().ok()
    };
    assert_eq!(receive(batch()).await, None);
    needed.send_replace(true);
    let applied = ObjectEvent::Applied { fact: decoded_node("n3"), listed: false };
    assert_eq!(receive(vec![applied.clone(), ObjectEvent::ListCompleted]).await, None, "the rest of a list");
    let started = ObjectEvent::ListStarted { silent_since: None };
    let delivered =
        receive(vec![applied.clone(), started, applied.clone(), ObjectEvent::ListCompleted]).await.unwrap();
    let [
        ObjectEvent::ListStarted { .. },
        ObjectEvent::Applied { fact, listed: false },
        ObjectEvent::ListCompleted,
    ] = &delivered[..]
    else {
        panic!("{delivered:?}")
    };
    assert_eq!(fact.name.as_str(), "n3");
    assert!(receive(vec![applied.clone()]).await.is_some());
    needed.send_replace(false);
    assert_eq!(receive(vec![applied.clone()]).await, None);
    needed.send_replace(true);
    assert_eq!(receive(vec![applied]).await, None, "not from the middle");
}

//! Evicts a pod in virtual time: gives the engine facts and the time, and answers its effects as an API server would.

use serde_json::{Value, json};
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::identity::ResourceVersion;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_kube::decode::{Decoded, WatchedObject};

/// The core reads no clock: the example gives it the time.
fn clock(mono: Mono) -> Now {
    let began = Wall::from_secs(1_800_000_000);
    Now::exact(mono, began.plus(mono.since(Mono::from_secs(0))))
}

fn at(seconds: i64) -> Now {
    clock(Mono::from_secs(seconds))
}

/// The fields of an object that a decision needs.
fn fact<F: WatchedObject>(object: &Value) -> F {
    match F::from_json(object.to_string().as_bytes()) {
        Decoded::Object(fact) => fact,
        Decoded::Unbound(_) | Decoded::Undecodable(_) => panic!("{object} is a node, or a pod on a node"),
    }
}

fn node(taints: &Value) -> NodeFact {
    fact(&json!({"metadata": {"name": "n1", "uid": "node-uid"}, "spec": {"taints": taints}}))
}

fn watched(node: NodeFact) -> EvictionInput {
    EvictionInput::Nodes(ObjectEvent::Applied { fact: node, listed: false })
}

/// What the API server answers to an effect, while the node is as given.
fn review(effect: EvictionEffect, node: &NodeFact, now: Mono) -> EvictionInput {
    match effect {
        EvictionEffect::ReadNode { node: name } => {
            EvictionInput::NodeConfirmed { node: name, sent: now, result: Ok(LiveRead::Found(node.clone())) }
        }
        EvictionEffect::SetDisruptionTarget { pod, .. } => {
            EvictionInput::Marked { pod, result: Ok(Some(ResourceVersion(8))) }
        }
        EvictionEffect::DeletePod { pod, .. } => EvictionInput::Deleted { pod, result: Ok(()) },
        other => panic!("{other:?}: no request of this example fails"),
    }
}

fn main() {
    let (healthy, tainted) = (json!([]), json!([{"key": "maintenance", "effect": "NoExecute"}]));
    let pod: PodFact = fact(&json!({
        "metadata": {"name": "cart", "namespace": "shop", "uid": "pod-uid", "resourceVersion": "7"},
        "spec": {"nodeName": "n1", "tolerations": [
            {"key": "maintenance", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60},
        ]},
    }));

    let mut engine = EvictionEngine::new(EvictionConfig::default());
    for input in [
        EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }),
        EvictionInput::Nodes(ObjectEvent::Applied { fact: node(&healthy), listed: true }),
        EvictionInput::Nodes(ObjectEvent::ListCompleted),
        EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }),
        EvictionInput::Pods(ObjectEvent::Applied { fact: pod, listed: true }),
        EvictionInput::Pods(ObjectEvent::ListCompleted),
    ] {
        engine.handle(input, at(0));
    }

    // A taint that is removed in time evicts no pod.
    engine.handle(watched(node(&tainted)), at(0));
    engine.handle(watched(node(&healthy)), at(59));
    engine.tick(Mono::from_secs(60));
    assert_eq!(engine.next_effect(Lane::All, at(60)), None);

    // If the taint is added again, the pod gets its whole time again.
    engine.handle(watched(node(&tainted)), at(100));
    let mut effects = Vec::new();
    while !effects.iter().any(|(_, effect)| matches!(effect, EvictionEffect::DeletePod { .. })) {
        let now = clock(engine.next_wakeup().expect("a pod counts down, or a request is due"));
        engine.tick(now.mono);
        while let Some(effect) = engine.next_effect(Lane::All, now) {
            println!("{:>4.0} s  {effect:?}", now.mono.since(Mono::from_secs(0)).as_secs_f64());
            effects.push((now.mono, effect.clone()));
            engine.handle(review(effect, &node(&tainted), now.mono), now);
        }
    }
    let (first, last) = (&effects[0], &effects[effects.len() - 1]);
    assert!(matches!(first.1, EvictionEffect::ReadNode { .. }), "a live read confirms the taint");
    assert_eq!(last.0.since(Mono::from_secs(100)), Span::from_secs(60), "the DELETE comes after 60 s");
}

#[test]
fn the_example_runs() {
    main();
}

//! Tests that equal facts make equal engines, whatever their order and number.

use crate::common::storm::{Storm, WINDOW};
use crate::properties::commands::{EvictionCommand, calm, perform};
use crate::properties::runs;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionConfig, EvictionEngine, EvictionInput};
use taintward_core::identity::{NodeName, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::Now;

/// The object of an input: order matters only among inputs about the same object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Object {
    Node(NodeName),
    Pod(Uid),
}

fn object(input: &EvictionInput) -> Object {
    match input {
        EvictionInput::Nodes(ObjectEvent::Applied { fact, .. }) => Object::Node(fact.name.clone()),
        EvictionInput::Nodes(ObjectEvent::Deleted(node) | ObjectEvent::Undecodable(node)) => {
            Object::Node(node.node_name())
        }
        EvictionInput::Pods(ObjectEvent::Applied { fact, .. }) => Object::Pod(fact.id.uid().clone()),
        EvictionInput::Pods(ObjectEvent::Deleted(pod) | ObjectEvent::Undecodable(pod)) => {
            Object::Pod(pod.uid.clone().expect("each pod has one"))
        }
        other => panic!("no fact about one object: {other:?}"),
    }
}

/// Returns what happens at one instant, as its watch events.
fn events(commands: Vec<EvictionCommand>) -> (Vec<EvictionInput>, Now) {
    let mut storm = Storm::new(EvictionConfig::default(), WINDOW);
    storm.deaf = true;
    for command in commands {
        match command {
            // A planned withdrawal is an attempt in progress.
            EvictionCommand::Pass(_) | EvictionCommand::Mark { .. } => {}
            command => perform(&mut storm, command),
        }
    }
    (storm.unheard(), storm.cluster.clock())
}

fn engine(inputs: &[EvictionInput], now: Now) -> EvictionEngine {
    let mut engine = EvictionEngine::new(EvictionConfig::default());
    for input in inputs {
        engine.handle(input.clone(), now);
    }
    engine.take_notices();
    engine
}

/// Another order that keeps each object's own; some facts twice; some intermediate states left out.
fn retold(inputs: &[EvictionInput], choices: &[u8]) -> Vec<EvictionInput> {
    let mut histories: BTreeMap<Object, Vec<EvictionInput>> = BTreeMap::new();
    for input in inputs {
        histories.entry(object(input)).or_default().push(input.clone());
    }
    let mut choices = choices.iter().copied().cycle();
    let mut choose = || choices.next().expect("a cycle does not end");
    let mut retold = Vec::new();
    while !histories.is_empty() {
        let which = usize::from(choose()) % histories.len();
        let object = histories.keys().nth(which).expect("it is within").clone();
        let history = histories.get_mut(&object).expect("it was just found");
        let next = history.remove(0);
        let last = history.is_empty();
        if last {
            histories.remove(&object);
        }
        let choice = choose();
        let is_state = matches!(
            next,
            EvictionInput::Nodes(ObjectEvent::Applied { .. })
                | EvictionInput::Pods(ObjectEvent::Applied { .. })
        );
        if is_state && !last && choice % 3 == 0 {
            continue;
        }
        retold.push(next.clone());
        if choice % 3 == 1 {
            retold.push(next);
        }
    }
    retold
}

/// Whether facts can be left out without a loss: of an undecodable object only the earlier state counts, and a pod or
/// node that was never decodable is unknown.
fn is_lossless(inputs: &[EvictionInput]) -> bool {
    !inputs.iter().any(|input| {
        matches!(
            input,
            EvictionInput::Nodes(ObjectEvent::Undecodable(_))
                | EvictionInput::Pods(ObjectEvent::Undecodable(_))
        )
    })
}

proptest! {
    #![proptest_config(runs())]

    #[test]
    fn order_number_and_gaps_do_not_matter(
        commands in calm(),
        choices in prop::collection::vec(any::<u8>(), 1..200),
    ) {
        let (inputs, now) = events(commands);
        prop_assume!(is_lossless(&inputs));
        let straight = engine(&inputs, now);
        let other = engine(&retold(&inputs, &choices), now);
        prop_assert_eq!(&straight, &other);
        // Delivered twice, as by a resync.
        let known: BTreeSet<_> = inputs.iter().map(object).collect();
        let last = |object: &Object| inputs.iter().rfind(|input| self::object(input) == *object).cloned();
        let mut again = straight.clone();
        for input in known.iter().filter_map(last) {
            again.handle(input, now);
        }
        again.take_notices();
        prop_assert_eq!(&straight, &again);
    }

    /// The comparison is meaningful: another fact makes another engine.
    #[test]
    fn another_fact_makes_another_engine(commands in calm()) {
        let (inputs, now) = events(commands);
        let storm = Storm::new(EvictionConfig::default(), WINDOW);
        let mut more = inputs.clone();
        let mut cluster = storm.cluster.clone();
        cluster.put_node(200);
        more.extend(cluster.changes.drain(..));
        prop_assert_ne!(engine(&inputs, now), engine(&more, now));
    }
}

//! What is told late, again, or not at all: facts and answers as a script hands them in, true or not.

use crate::common::{EPOCH, bears, seconds};
use taintward_core::effect::Failure;
use taintward_core::engine::{ConditionPolicy, Config, Effect, Engine, Input, Lane, PodRef, Reading};
use taintward_core::fact::{ArrivalFacts, NodeFact, Owner, PodFact, Standing};
use taintward_core::names::{NodeName, PodName, Uid, Version};
use taintward_core::taint::{Effect as TaintEffect, Taint};
use taintward_core::time::{Mono, Now, Wall};

fn at(s: f64) -> Now {
    let micros = seconds(s);
    Now::exact(Mono::from_micros(micros), Wall::from_micros(EPOCH * 1_000_000 + micros))
}

fn name() -> NodeName {
    NodeName::new("n")
}

/// The node with these taints, each with the second of its `timeAdded`.
fn node(version: u64, taints: &[(&str, Option<i64>)]) -> NodeFact {
    let taint = |&(key, added): &(&str, Option<i64>)| Taint {
        key: key.into(),
        value: "".into(),
        effect: TaintEffect::NoExecute,
        time_added: added.map(|second| Wall::from_secs(EPOCH + second)),
    };
    NodeFact {
        name: name(),
        uid: Uid::new("node-uid"),
        version: Some(Version(version)),
        created: Some(Wall::from_secs(1_700_000_000)),
        taints: taints.iter().map(taint).collect(),
        taints_changed: None,
    }
}

/// A pod that bears the taint `k` for so long; `None`: not at all.
fn pod(version: u64, patience: Option<i64>) -> PodFact {
    PodFact {
        uid: Uid::new("p"),
        name: PodName::new("default", "p"),
        node: name(),
        version: Some(Version(version)),
        generation: 1,
        tolerations: patience.map(|patience| bears("k", Some(patience))).into_iter().collect(),
        priority: 0,
        node_critical: false,
        owner: Owner::Other,
        standing: Standing::Live,
        mirror: false,
        marked: false,
        arrival: ArrivalFacts::default(),
    }
}

fn reference() -> PodRef {
    PodRef { node: name(), uid: Uid::new("p") }
}

fn listed(engine: &mut Engine, now: Now, nodes: Vec<Input>, pods: Vec<Input>) {
    let silent_since = engine.is_synced().then_some(now.mono);
    let begin = [Input::NodesBegin { silent_since }].into_iter();
    let pods = [Input::NodesEnd, Input::PodsBegin { silent_since }].into_iter().chain(pods);
    begin.chain(nodes).chain(pods).chain([Input::PodsEnd]).for_each(|input| engine.handle(input, now));
}

fn live(fact: PodFact) -> Input {
    Input::Pod { fact, listed: false }
}

fn synced(condition: ConditionPolicy) -> Engine {
    let mut engine = Engine::new(Config { condition, ..Config::default() });
    listed(&mut engine, at(0.0), Vec::new(), Vec::new());
    engine
}

/// An engine that knows of the tainted node and the pod, and what it asked for.
fn tainted(patience: Option<i64>) -> Engine {
    let mut engine = synced(ConditionPolicy::Never);
    engine.handle(Input::Node { fact: node(1, &[("k", None)]), listed: false }, at(1.0));
    engine.handle(live(pod(10, patience)), at(1.0));
    engine
}

fn confirmed(now: Now, result: Result<Reading<NodeFact>, Failure>) -> Input {
    Input::Confirmed { node: name(), sent: now.mono, result }
}

/// Lets everything succeed at this moment; says how many pods were deleted.
fn evict(engine: &mut Engine, now: Now) -> usize {
    engine.tick(now.mono);
    let mut deleted = 0;
    while let Some(effect) = engine.next(Lane::All, now) {
        let answer = match effect {
            Effect::Confirm { .. } => confirmed(now, Ok(Reading::Is(node(1, &[("k", None)])))),
            Effect::Delete { pod, .. } => {
                deleted += 1;
                Input::Deleted { pod, result: Ok(()) }
            }
            effect => panic!("{effect:?}"),
        };
        engine.handle(answer, now);
    }
    deleted
}

/// A pod that vanishes while its node is being read, and is told of again in another place of the queue: the place that it
/// had before is worth nothing, neither to the counts nor to a second DELETE.
#[test]
fn a_place_in_the_queue_ends_with_what_was_known_of_the_pod() {
    for stays in [true, false] {
        let mut engine = tainted(None);
        assert!(matches!(engine.next(Lane::All, at(1.0)), Some(Effect::Confirm { .. })));
        assert!(engine.next(Lane::All, at(1.0)).is_none());
        engine.handle(Input::PodGone { pod: reference() }, at(1.1));
        let again = PodFact { priority: if stays { 7 } else { -7 }, ..pod(11, None) };
        engine.handle(live(again), at(1.2));
        assert!(engine.next(Lane::All, at(1.2)).is_none());
        engine.handle(confirmed(at(1.0), Err(Failure::Unavailable)), at(1.3));
        if stays {
            engine.handle(live(PodFact { priority: 7, ..pod(12, Some(100)) }), at(1.31));
        }
        let deleted: usize = (2..60).map(|s| evict(&mut engine, at(f64::from(s)))).sum();
        assert_eq!((engine.census().counting, deleted), if stays { (1, 0) } else { (0, 1) });
    }
}

/// D11, D1: what can't be decoded when it is found, and can be later, did not begin then.
#[test]
fn what_could_not_be_decoded_before_did_not_begin_when_it_could() {
    let node_unreadable = || Input::NodeUnreadable { name: name() };
    let pod_unreadable = |node| Input::PodUnreadable { uid: Uid::new("p"), node };
    let added = node(5, &[("k", Some(100))]);
    let old = |seconds| Some(Wall::from_secs(EPOCH + seconds));
    let arrived = PodFact {
        arrival: ArrivalFacts { scheduled: old(200), started: None, created: old(199) },
        ..pod(10, Some(3_000))
    };
    let begun = |engine: &Engine| {
        let (_, verdict, taints) = engine.explain(&reference(), at(1_500.0)).expect("the pod is known");
        let seconds = |at: Mono| at.as_micros() / 1_000_000;
        (seconds(taints[0].start.at), seconds(verdict.reasons[0].counts_from))
    };
    for pods_node in [Some(name()), None] {
        // Both are there at the start.
        let mut engine = Engine::new(Config::default());
        listed(&mut engine, at(1_000.0), vec![node_unreadable()], vec![pod_unreadable(pods_node.clone())]);
        engine.handle(Input::Node { fact: added.clone(), listed: false }, at(1_500.0));
        engine.handle(live(arrived.clone()), at(1_500.0));
        assert_eq!(begun(&engine), (101, 201));
        assert!(engine.notices().iter().all(|notice| !format!("{notice:?}").starts_with("Unstamped")));
        // Both come while everything is watched: not before they came, whatever they say.
        let mut engine = synced(ConditionPolicy::Never);
        engine.handle(node_unreadable(), at(1_000.0));
        engine.handle(pod_unreadable(pods_node.clone()), at(1_200.0));
        engine.handle(Input::Node { fact: added.clone(), listed: false }, at(1_500.0));
        engine.handle(live(arrived.clone()), at(1_500.0));
        assert_eq!(begun(&engine), (1_000, 1_200));
        // They go, unreadable to the last, and others come.
        for lost in [false, true] {
            let mut engine = Engine::new(Config::default());
            let pod_gone = Input::PodGone { pod: reference() };
            listed(
                &mut engine,
                at(1_000.0),
                vec![node_unreadable()],
                vec![pod_unreadable(pods_node.clone())],
            );
            if lost {
                listed(&mut engine, at(1_100.0), Vec::new(), Vec::new());
            } else {
                engine.handle(Input::NodeGone { name: name(), uid: None }, at(1_100.0));
                engine.handle(pod_gone, at(1_100.0));
            }
            engine.handle(Input::Node { fact: added.clone(), listed: false }, at(1_500.0));
            engine.handle(live(arrived.clone()), at(1_500.0));
            assert_eq!(begun(&engine), (1_500, 1_500));
        }
    }
    // A taint that was put on while its node could not be decoded.
    let mut engine = synced(ConditionPolicy::Never);
    engine.handle(Input::Node { fact: node(1, &[]), listed: false }, at(1.0));
    engine.handle(live(arrived), at(1.0));
    engine.handle(node_unreadable(), at(50.0));
    engine.handle(Input::Node { fact: added, listed: false }, at(1_500.0));
    assert_eq!(begun(&engine), (101, 101));
}

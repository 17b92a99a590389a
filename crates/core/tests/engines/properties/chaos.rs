//! Tests that no input panics, whatever its order, times and content, and that the engine comes to rest (S12).

use crate::properties::runs;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::eviction::{EvictionConfig, EvictionEngine, EvictionInput};
use taintward_core::fact::{BindingTimes, NodeFact, PodFact, PodLifePhase, PodOwnerKind};
use taintward_core::identity::PodRef;
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_core::toleration::{Toleration, TolerationOperator};
use taintward_core::toleration_matching::NumericOperators;

/// Ordinary numbers, and those at which arithmetic breaks.
fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        3 => -5i64..1_000,
        3 => (-5i64..1_000).prop_map(|seconds| seconds * 1_000_000),
        1 => any::<i64>(),
        1 => prop::sample::select(vec![i64::MIN, i64::MIN + 1, i64::MAX - 1, i64::MAX]),
    ]
}

fn mono() -> impl Strategy<Value = Mono> {
    number().prop_map(Mono::from_micros)
}

fn wall() -> impl Strategy<Value = Wall> {
    number().prop_map(Wall::from_micros)
}

fn uid() -> impl Strategy<Value = Uid> {
    prop::sample::select(vec!["", "a", "b", "00000000-0000-4000-8000-000000000001"]).prop_map(Uid::new)
}

fn node_name() -> impl Strategy<Value = NodeName> {
    prop::sample::select(vec!["", "n", "m"]).prop_map(NodeName::new)
}

fn text() -> impl Strategy<Value = Box<str>> {
    let own = "node.kubernetes.io/not-ready";
    prop::sample::select(vec!["", "k", own, own, "7", "-9223372036854775808", "\u{0}\n"]).prop_map(Into::into)
}

fn effect() -> impl Strategy<Value = TaintEffect> {
    prop::sample::select(vec!["NoExecute", "NoExecute", "NoSchedule", "", "x"]).prop_map(TaintEffect::new)
}

fn any_taint() -> impl Strategy<Value = Taint> {
    (text(), text(), effect(), option::of(wall())).prop_map(|(key, value, effect, time_added)| Taint {
        key,
        value,
        effect,
        time_added,
    })
}

fn any_toleration() -> impl Strategy<Value = Toleration> {
    let operator =
        prop::sample::select(vec!["", "Equal", "Exists", "Lt", "Gt", "x"]).prop_map(TolerationOperator::new);
    (text(), operator, text(), option::of(effect()), option::of(number())).prop_map(
        |(key, operator, value, effect, seconds)| Toleration { key, operator, value, effect, seconds },
    )
}

fn version() -> impl Strategy<Value = Option<ResourceVersion>> {
    option::of(prop_oneof![0u64..5, Just(u64::MAX)].prop_map(ResourceVersion))
}

fn any_node() -> impl Strategy<Value = NodeFact> {
    (node_name(), uid(), version(), option::of(wall()), vec(any_taint(), 0..30), option::of(wall())).prop_map(
        |(name, uid, version, created, taints, taints_changed)| NodeFact {
            name,
            uid,
            version,
            created,
            taints,
            taints_changed,
            ready_out_of_service: false,
            labels: None,
            allow_no_execute: None,
            respect_budgets: None,
            holds: None,
        },
    )
}

fn any_pod() -> impl Strategy<Value = PodFact> {
    let life_phase =
        prop::sample::select(vec![PodLifePhase::Live, PodLifePhase::Finished, PodLifePhase::Terminating]);
    let owner = prop::sample::select(vec![PodOwnerKind::Other, PodOwnerKind::DaemonSet, PodOwnerKind::Job]);
    let arrival = (option::of(wall()), option::of(wall()), option::of(wall()));
    let numbers = (any::<i32>(), any::<u32>(), version());
    let identity = (uid(), node_name());
    let yes_or_no = (any::<bool>(), any::<bool>(), any::<bool>());
    (identity, numbers, vec(any_toleration(), 0..30), life_phase, owner, yes_or_no, arrival).prop_map(
        |((uid, node), (priority, generation, version), tolerations, life_phase, owner, flags, arrival)| {
            let (scheduled, started, created) = arrival;
            let (mirror, marked, node_critical) = flags;
            PodFact {
                id: PodId::new(uid, PodName::new("", "p")),
                node,
                version,
                generation,
                tolerations,
                priority,
                node_critical,
                owner,
                life_phase,
                mirror,
                marked,
                marked_by_another: marked && mirror,
                arrival: BindingTimes { scheduled, started, created },
                ready: None,
                template: None,
                holds: None,
                ignores_holds: false,
            }
        },
    )
}

fn failure() -> impl Strategy<Value = ApiFailure> {
    prop_oneof![
        Just(ApiFailure::NotFound),
        Just(ApiFailure::Conflict),
        Just(ApiFailure::Forbidden),
        option::of(number().prop_map(Span::from_micros)).prop_map(ApiFailure::Throttled),
        Just(ApiFailure::Rejected),
        Just(ApiFailure::Unavailable),
    ]
}

fn reading<T: Clone + std::fmt::Debug>(
    fact: impl Strategy<Value = T>,
) -> impl Strategy<Value = Result<LiveRead<T>, ApiFailure>> {
    prop_oneof![
        3 => fact.prop_map(|fact| Ok(LiveRead::Found(fact))),
        1 => Just(Ok(LiveRead::NotFound)),
        1 => Just(Ok(LiveRead::Undecodable)),
        2 => failure().prop_map(Err),
    ]
}

fn reference() -> impl Strategy<Value = PodRef> {
    (node_name(), uid()).prop_map(|(node, uid)| PodRef { node, uid })
}

fn done() -> impl Strategy<Value = Result<(), ApiFailure>> {
    prop_oneof![Just(Ok(())), failure().prop_map(Err)]
}

fn input() -> impl Strategy<Value = EvictionInput> {
    let marked = prop_oneof![version().prop_map(Ok), failure().prop_map(Err)];
    prop_oneof![
        1 => option::of(mono()).prop_map(|silent_since| EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since })),
        6 => (any_node(), any::<bool>()).prop_map(|(fact, listed)| EvictionInput::Nodes(ObjectEvent::Applied { fact, listed })),
        1 => (node_name(), option::of(uid())).prop_map(|(name, uid)| EvictionInput::Nodes(ObjectEvent::Deleted(ObjectRef::node(&name, uid)))),
        1 => node_name().prop_map(|name| EvictionInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(&name, None)))),
        2 => Just(EvictionInput::Nodes(ObjectEvent::ListCompleted)),
        1 => option::of(mono()).prop_map(|silent_since| EvictionInput::Pods(ObjectEvent::ListStarted { silent_since })),
        6 => (any_pod(), any::<bool>()).prop_map(|(fact, listed)| EvictionInput::Pods(ObjectEvent::Applied { fact, listed })),
        1 => reference().prop_map(|pod| EvictionInput::Pods(ObjectEvent::Deleted(pod.into()))),
        1 => (uid(), option::of(node_name())).prop_map(|(uid, node)| EvictionInput::Pods(ObjectEvent::Undecodable(ObjectRef::pod(uid, node)))),
        2 => Just(EvictionInput::Pods(ObjectEvent::ListCompleted)),
        2 => any::<bool>().prop_map(EvictionInput::CountdownHold),
        2 => (node_name(), mono(), reading(any_node()))
            .prop_map(|(node, sent, result)| EvictionInput::NodeConfirmed { node, sent, result }),
        1 => (reference(), marked).prop_map(|(pod, result)| EvictionInput::Marked { pod, result }),
        1 => (reference(), done()).prop_map(|(pod, result)| EvictionInput::Deleted { pod, result }),
        1 => (reference(), reading(any_pod()), any::<bool>())
            .prop_map(|(pod, result, half_deleted)| EvictionInput::PodRead { pod, result, half_deleted }),
        1 => (reference(), done()).prop_map(|(pod, result)| EvictionInput::Unmarked { pod, result }),
    ]
}

/// Calls every query, and pulls some effects.
fn use_all(engine: &mut EvictionEngine, now: Now, pulls: usize) {
    engine.tick(now.mono);
    for at in 0..pulls {
        engine.has_work(Lane::All, now.mono);
        let lane = if at % 2 == 0 { Lane::Fresh } else { Lane::All };
        engine.next_effect(lane, now);
    }
    engine.next_wakeup();
    engine.stats();
    assert_eq!(engine.pending().count(), engine.stats().counting);
    engine.failing_evictions().for_each(|_| ());
    for name in ["", "n", "m"] {
        for uid in ["", "a", "b"] {
            engine.explain(&PodRef { node: NodeName::new(name), uid: Uid::new(uid) }, now);
        }
    }
    engine.take_notices();
}

proptest! {
    #![proptest_config(runs())]

    #[test]
    fn nothing_panics(
        inputs in vec((input(), number(), number(), option::of(number()), 0usize..4), 0..60),
        numeric in any::<bool>(),
    ) {
        let numeric = if numeric { NumericOperators::On } else { NumericOperators::Off };
        let mut engine = EvictionEngine::new(EvictionConfig { numeric, ..EvictionConfig::default() });
        for (input, mono, wall, skew_max, pulls) in inputs {
            let skew_max = skew_max.map(Span::from_micros);
            let now = Now::new(Mono::from_micros(mono), Wall::from_micros(wall), skew_max);
            engine.handle(input, now);
            use_all(&mut engine, now, pulls);
        }
        // Nothing is left when all objects are gone.
        let now = Now::exact(Mono::NEVER, Wall::from_secs(0));
        for input in [
            EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }),
            EvictionInput::Nodes(ObjectEvent::ListCompleted),
            EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }),
            EvictionInput::Pods(ObjectEvent::ListCompleted),
        ] {
            engine.handle(input, now);
        }
        let census = engine.stats();
        prop_assert_eq!((census.nodes, census.pods, census.counting, census.due, census.held), (0, 0, 0, 0, 0));
    }
}

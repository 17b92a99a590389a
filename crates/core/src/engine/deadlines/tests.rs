//! The index held against looking through all pods.

use super::*;
use crate::engine::census::Counts;
use crate::engine::roster::TolerationLists;
use crate::fact::{ArrivalFacts, Owner, PodFact, Standing};
use crate::names::{NodeName, PodName};
use crate::start::{Arrival, ArrivalSource};
use alloc::format;
use proptest::prelude::*;

fn pod(at: u8) -> Box<Pod> {
    let fact = PodFact {
        uid: Uid::new(&format!("{at:03}")),
        name: PodName::new("d", "p"),
        node: NodeName::new("n"),
        version: None,
        generation: 0,
        tolerations: Vec::new(),
        priority: 0,
        node_critical: false,
        owner: Owner::Other,
        standing: Standing::Live,
        mirror: false,
        marked: false,
        marked_by_another: false,
        arrival: ArrivalFacts::default(),
    };
    let arrival = Arrival { at: Mono::from_secs(0), source: ArrivalSource::SeenLive };
    Box::new(Pod::new(fact, arrival, &mut TolerationLists::default()))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn the_earliest_is_the_earliest_and_nobody_is_left_out(
        steps in prop::collection::vec((0u8..60, prop::option::weighted(0.8, 0i64..40), any::<bool>()), 1..300),
        ties in any::<bool>(),
    ) {
        let (mut deadlines, mut counts) = (Deadlines::default(), Counts::default());
        let mut pods: Vec<_> = (0u8..60).map(pod).collect();
        let mut now = 0;
        for (at, deadline, asked) in steps {
            let pod = &mut pods[usize::from(at)];
            let before = pod.stage();
            let own = if ties { 0 } else { i64::from(at) };
            let after = deadline.map_or(Stage::Quiet, |deadline| {
                Stage::Counting(Mono::from_micros((now + deadline) * 100 + own + 1))
            });
            pod.set_stage(after, &mut counts);
            let uid = pod.uid.clone();
            deadlines.change(&uid, before, after, pods.len());
            if !asked {
                continue;
            }
            let plain = pods.iter().filter_map(|pod| super::deadline(pod.stage())).min();
            prop_assert_eq!(deadlines.earliest(&pods), plain.unwrap_or(Mono::NEVER));
            now += 1;
            let moment = Mono::from_micros(now * 100);
            let is_due = |pod: &&mut Box<Pod>| super::deadline(pod.stage()).is_some_and(|at| at <= moment);
            let taken = deadlines.take_due(moment);
            let mut due: Vec<_> = pods.iter_mut().filter(is_due).collect();
            if let Some(mut taken) = taken {
                taken.sort();
                prop_assert_eq!(due.iter().map(|pod| pod.uid.clone()).collect::<Vec<_>>(), taken);
            } else {
                deadlines.forget();
            }
            due.iter_mut().for_each(|pod| pod.set_stage(Stage::Due(moment), &mut counts));
        }
    }
}

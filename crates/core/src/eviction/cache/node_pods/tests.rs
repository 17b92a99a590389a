//! Tests the index of deadlines against a scan of all pods.

use super::*;
use crate::eviction::CountdownCounts;
use crate::eviction::cache::TemplateInterner;
use crate::ordered_hold::HoldWindows;
use crate::taint_start::{BindingSource, PodBinding};
use crate::testkit::pod;
use alloc::format;
use proptest::prelude::*;

fn pod_entry(at: u8) -> Box<PodEntry> {
    let arrival = PodBinding { at: Mono::from_secs(0), source: BindingSource::SeenLive };
    Box::new(PodEntry::new(
        pod(&format!("{at:03}")),
        arrival,
        HoldWindows::default(),
        &mut TemplateInterner::default(),
    ))
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn the_earliest_deadline_is_right_and_no_pod_is_left_out(
        steps in prop::collection::vec((0u8..60, prop::option::weighted(0.8, 0i64..40), any::<bool>()), 1..300),
        ties in any::<bool>(),
        // All deadlines are close together, so that many pods are due at once, and with ties at the very moment.
        are_close in any::<bool>(),
    ) {
        let (mut deadlines, mut counts) = (NodeDeadlines::default(), CountdownCounts::default());
        let mut pods: Vec<_> = (0u8..60).map(pod_entry).collect();
        let mut now = 0;
        for (at, deadline, requested) in steps {
            let pod = &mut pods[usize::from(at)];
            let before = pod.phase();
            let own = if ties { 0 } else { i64::from(at) };
            let after = deadline.map_or(EvictionPhase::Idle, |deadline| {
                let deadline = if are_close { deadline % 3 } else { deadline };
                EvictionPhase::CountingDown(Mono::from_micros((now + deadline) * 100 + own))
            });
            pod.set_phase(after, &mut counts);
            let uid = pod.uid().clone();
            deadlines.change(&uid, before, after, pods.len());
            if !requested {
                continue;
            }
            let plain = pods.iter().filter_map(|pod| super::deadline(pod.phase())).min();
            prop_assert_eq!(deadlines.earliest(&pods), plain.unwrap_or(Mono::NEVER));
            now += 1;
            let moment = Mono::from_micros(now * 100);
            let is_due = |pod: &&mut Box<PodEntry>| super::deadline(pod.phase()).is_some_and(|at| at <= moment);
            let taken = deadlines.take_due(moment);
            let mut due: Vec<_> = pods.iter_mut().filter(is_due).collect();
            if let Some(mut taken) = taken {
                taken.sort();
                prop_assert_eq!(due.iter().map(|pod| pod.uid().clone()).collect::<Vec<_>>(), taken);
            } else {
                deadlines.forget();
            }
            due.iter_mut().for_each(|pod| pod.set_phase(EvictionPhase::Due(moment), &mut counts));
        }
    }
}

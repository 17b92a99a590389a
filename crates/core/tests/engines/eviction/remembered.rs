//! Tests what the engine remembers of slow and lost requests, and for how long.

use crate::common::script::{Script, at, failed, tainted_node, well};
use crate::eviction::never;
use taintward_core::api_error::ApiFailure;
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionInput};
use taintward_core::identity::NodeName;
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::pod;

fn slow_deletes(script: &Script) -> Vec<(String, bool)> {
    let row = |effect: &EvictionEffect| match effect {
        EvictionEffect::DeletePod { name, slow, .. } => Some((name.name().to_owned(), *slow)),
        _ => None,
    };
    script.requested.iter().filter_map(|(_, effect)| row(effect)).collect()
}

/// A namespace whose deletions took long is no longer slow once one has a response soon; one without a response shows
/// nothing.
#[test]
fn d3_only_a_response_shows_that_deletions_take_long_no_more() {
    for (lost, expected) in [(false, [false, true, false]), (true, [false, true, true])] {
        let mut script = Script::tainted(never(), pod("a").at_version(40));
        let mut serve = |when: f64, effect: &EvictionEffect| match effect {
            EvictionEffect::DeletePod { name, .. } if name.name() == "a" => {
                (well(effect, at(when).mono), 2.0)
            }
            EvictionEffect::DeletePod { name, .. } if name.name() == "b" && lost => {
                (failed(effect, at(when).mono, ApiFailure::Unavailable), 0.1)
            }
            EvictionEffect::ReadPod { .. } => (failed(effect, at(when).mono, ApiFailure::NotFound), 0.0),
            other => (well(other, at(when).mono), 0.0),
        };
        for (name, from) in [("b", 5.0), ("c", 10.0), ("end", 15.0)] {
            script.run(from, &mut serve);
            let fact = pod(name).at_version(50);
            script.send(from, EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
        }
        let deletes = slow_deletes(&script);
        let slow: Vec<bool> = deletes.iter().map(|(_, slow)| *slow).collect();
        assert_eq!(slow, expected, "{deletes:?}");
    }
}

/// Once a request got no response, later ones for the same pod have more time.
#[test]
fn d3_after_a_lost_request_the_next_ones_have_more_time() {
    for lost in
        [is_mark as fn(&EvictionEffect) -> bool, |effect| matches!(effect, EvictionEffect::DeletePod { .. })]
    {
        let mut script = Script::tainted(EvictionConfig::default(), pod("p").at_version(40));
        let mut first = true;
        script.run(30.0, |when, effect| match effect {
            effect if lost(effect) && std::mem::take(&mut first) => {
                (failed(effect, at(when).mono, ApiFailure::Unavailable), 0.1)
            }
            other => (well(other, at(when).mono), 0.0),
        });
        let slow = script.requested.iter().filter_map(|(_, effect)| match effect {
            EvictionEffect::DeletePod { slow, .. } | EvictionEffect::SetDisruptionTarget { slow, .. } => {
                Some(*slow)
            }
            _ => None,
        });
        let slow: Vec<bool> = slow.collect();
        assert_eq!((slow.first(), slow.last()), (Some(&false), Some(&true)), "{slow:?}");
    }
}

fn is_mark(effect: &EvictionEffect) -> bool {
    matches!(effect, EvictionEffect::SetDisruptionTarget { .. })
}

/// The failures of a node's reads are forgotten when it was not read for longer than 75 s: its pauses begin again.
#[test]
fn d3_failed_reads_of_long_ago_make_no_pause_longer() {
    for (gap, is_forgotten) in [(75.0, false), (75.01, true)] {
        let mut script = Script::tainted(never(), pod("p").at_version(40));
        let serve = |when: f64, effect: &EvictionEffect| {
            (failed(effect, at(when).mono, ApiFailure::Unavailable), 0.0)
        };
        let reads =
            |script: &Script| script.times(|effect| matches!(effect, EvictionEffect::ReadNode { .. }));
        while reads(&script).len() < 7 {
            let until = script.now + 0.01;
            script.run(until, serve);
        }
        let last = script.now;
        let node = |version, taints| {
            let fact = tainted_node(version, taints);
            EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false })
        };
        script.send(last, node(101, &[]));
        script.run(last + gap - 0.01, serve);
        assert_eq!(reads(&script).len(), 7);
        script.send(last + gap, node(102, &[("k", None)]));
        assert!(matches!(script.next(), Some(EvictionEffect::ReadNode { .. })));
        let effect = EvictionEffect::ReadNode { node: NodeName::new("n1") };
        script.send(last + gap, failed(&effect, at(last + gap).mono, ApiFailure::Unavailable));
        script.run(last + gap + 0.6, serve);
        let soon = reads(&script).len() - 8;
        assert_eq!(soon > 0, is_forgotten, "{gap}: {soon} more reads within half a second");
    }
}

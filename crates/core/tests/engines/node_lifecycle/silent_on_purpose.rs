//! Tests a zone whose kubelets are hostile: they become silent, recover, or report not ready, in any order.
//!
//! - Their own zone's rate holds and no live node is tainted as silent (S6); other zones behave as without them, to the
//!   microsecond.

use crate::node_lifecycle::harness::{LifecycleCommit, NodeLifecycleHarness};

/// A hostile zone larger than all others together, and a small one; so that the hostile zone has the most influence.
const ZONES: [(&str, usize); 3] = [("hostile", 30), ("b", 6), ("c", 4)];
const HOSTILE: usize = ZONES[0].1;
/// Two honest nodes die meanwhile, each in its own zone.
const DEATHS: [(i64, &str); 2] = [(40, "b2"), (400, "c0")];
/// In seconds.
const LASTS: i64 = 1200;
const SEEDS: u64 = if cfg!(debug_assertions) { 30 } else { 300 };

/// The next action of a hostile kubelet.
#[derive(Clone, Copy, Debug)]
enum SilentAct {
    Silence,
    Speak,
    NotReady,
    Ready,
}

fn act(harness: &mut NodeLifecycleHarness, number: usize, act: SilentAct) {
    let name = format!("hostile{number}");
    match act {
        SilentAct::Silence => harness.kill(&[&name]),
        SilentAct::Speak => harness.revive(&[&name]),
        SilentAct::NotReady => harness.set_ready(&name, false),
        SilentAct::Ready => harness.set_ready(&name, true),
    }
}

/// Lets time pass while others act. Returns what was written to the other nodes.
fn history(
    mut acts: impl FnMut(i64, &mut NodeLifecycleHarness),
) -> (NodeLifecycleHarness, Vec<LifecycleCommit>) {
    let mut harness = NodeLifecycleHarness::new(&ZONES);
    for second in 0..LASTS {
        for (at, name) in DEATHS {
            if at == second {
                harness.kill(&[name]);
            }
        }
        acts(second, &mut harness);
        harness.pass(1);
    }
    let honest = harness.commits.iter().filter(|it| !it.node.starts_with("hostile")).cloned().collect();
    (harness, honest)
}

fn assert_no_other_node_pays(
    what: &str,
    acts: impl FnMut(i64, &mut NodeLifecycleHarness),
) -> NodeLifecycleHarness {
    let (calm, expected) = history(|_, _| ());
    assert_eq!(calm.tainted(), ["b2", "c0"], "pods are evicted from the dead nodes only");
    let (harness, found) = history(acts);
    assert_eq!(found, expected, "{what}");
    let honest: Vec<_> = harness.tainted().into_iter().filter(|name| !name.starts_with("hostile")).collect();
    assert_eq!(honest, ["b2", "c0"], "{what}");
    harness
}

fn all(harness: &mut NodeLifecycleHarness, what: SilentAct) {
    (0..HOSTILE).for_each(|number| act(harness, number, what));
}

/// The moments that are best for them: when the first of the others dies, before, when it is declared silent, when it
/// is its turn.
#[test]
fn a_zone_that_becomes_silent_at_the_same_time_hastens_and_stops_nothing_elsewhere() {
    for moment in [0, 39, 40, 41, 80, 89, 90, 91, 100, 399, 450] {
        for what in [SilentAct::Silence, SilentAct::NotReady] {
            let harness = assert_no_other_node_pays(&format!("{what:?} at {moment}"), |second, harness| {
                if second == moment {
                    all(harness, what);
                }
            });
            // The checker counted: one in ten seconds. That is the result of their own silence.
            let gone = harness.tainted().iter().filter(|name| name.starts_with("hostile")).count();
            assert!((1..=HOSTILE).contains(&gone), "{what:?} at {moment}: {gone}");
        }
    }
}

/// Into and out of every state of a zone, at the fastest possible pace.
#[test]
fn a_zone_that_comes_and_goes_hastens_and_stops_nothing_elsewhere() {
    for period in [11, 41, 45, 51, 60, 97] {
        assert_no_other_node_pays(&format!("every {period} s"), |second, harness| {
            if second % period == 0 {
                all(harness, if second / period % 2 == 0 { SilentAct::Silence } else { SilentAct::Speak });
            }
        });
    }
}

#[test]
fn whatever_hostile_kubelets_do_nothing_elsewhere_is_hastened_or_stopped() {
    for seed in 1..=SEEDS {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut random = move |below: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        // From one in each second to one in each minute.
        let rate = 1 + random(60);
        assert_no_other_node_pays(&format!("seed {seed}"), |_, harness| {
            if random(rate) > 0 {
                return;
            }
            let what = [
                SilentAct::Silence,
                SilentAct::Silence,
                SilentAct::Speak,
                SilentAct::NotReady,
                SilentAct::Ready,
            ][random(5) as usize];
            match random(4) {
                0 => all(harness, what),
                _ => (0..=random(8)).for_each(|_| act(harness, random(HOSTILE as u64) as usize, what)),
            }
        });
    }
}

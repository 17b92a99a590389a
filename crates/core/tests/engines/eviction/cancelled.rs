//! Tests which countdowns end without an eviction, and what the notices say about them.

use crate::common::{EvictionHarness, seconds};
use crate::eviction::one_node;
use taintward_core::eviction::EvictionNotice;
use taintward_core::fact::PodLifePhase;
use taintward_core::taint::TaintEffect;
use taintward_core::testkit::toleration;
use taintward_core::toleration::{Toleration, TolerationOperator};

/// The countdowns that were cancelled: the pod, the reason, and the taint's key.
pub(crate) fn cancelled(harness: &EvictionHarness) -> Vec<String> {
    let text = |notice: &EvictionNotice| match notice {
        EvictionNotice::CountdownCancelled { name, reason, taint, .. } => {
            let key = taint.as_ref().map_or("", |taint| &taint.key);
            Some(format!("{}: {reason:?} {key}", name.name()))
        }
        _ => None,
    };
    harness.notices.iter().filter_map(text).collect()
}

/// Two taints; `k` would evict first. The pod stays each time, for another reason.
#[test]
fn te_34_a_cancelled_countdown_names_its_reason_and_the_taint_that_would_have_evicted_first() {
    type Cancellation = fn(&mut EvictionHarness);
    let changes: [(&str, Cancellation); 8] = [
        ("p: TaintRemoved k", |harness| {
            harness.untaint("n1", "l");
            harness.untaint("n1", "k");
        }),
        ("p: NodeDeleted k", |harness| harness.remove_node("n1")),
        ("p: TolerationsChanged k", |harness| {
            harness.edit_pod("p", |pod| pod.tolerations = vec![toleration("k", None), toleration("l", None)]);
        }),
        ("p: UnsupportedToleration k", |harness| {
            harness.edit_pod("p", |pod| {
                let operator = TolerationOperator::Unknown("Resembles".into());
                pod.tolerations =
                    vec![Toleration { operator, ..toleration("k", None) }, toleration("l", None)];
            });
        }),
        ("p: PodFinished k", |harness| harness.edit_pod("p", |pod| pod.life_phase = PodLifePhase::Finished)),
        ("p: PodDeleted k", |harness| {
            harness.edit_pod("p", |pod| pod.life_phase = PodLifePhase::Terminating)
        }),
        ("p: PodDeleted k", |harness| harness.remove_pod("p")),
        // The other taint still evicts the pod.
        ("", |harness| harness.untaint("n1", "k")),
    ];
    for (reported, change) in changes {
        let mut harness = one_node();
        harness.add_pod("p", "n1", &[toleration("k", Some(60)), toleration("l", Some(90))]);
        harness.add_taint("n1", "k");
        harness.add_taint("n1", "l");
        harness.pass(seconds(30.0));
        assert!(cancelled(&harness).is_empty());
        change(&mut harness);
        harness.pass(seconds(1.0));
        assert_eq!(cancelled(&harness).join(", "), reported);
    }
}

/// An eviction is not a cancelled countdown.
#[test]
fn a_pod_that_was_evicted_or_was_never_counting_cancels_nothing() {
    let mut harness = one_node();
    harness.add_pod("due", "n1", &[toleration("k", Some(60))]);
    harness.add_pod("now", "n1", &[]);
    harness.add_pod("lasting", "n1", &[toleration("k", None)]);
    harness.add_taint("n1", "k");
    harness.pass(seconds(100.0));
    assert_eq!(harness.left(), ["now", "due"]);
    harness.remove_pod("lasting");
    harness.untaint("n1", "k");
    harness.pass(seconds(1.0));
    assert!(cancelled(&harness).is_empty());
}

/// The numbers of pods that each change of the taints left due, counting, held and staying, with the deadlines.
fn impacts(harness: &EvictionHarness) -> Vec<String> {
    let text = |notice: &EvictionNotice| match notice {
        EvictionNotice::NodeTaintsChanged { impact, .. } => {
            let taints: Vec<String> = impact.taints.iter().map(ToString::to_string).collect();
            let deadlines = impact.deadlines.map(|(first, last)| (first.as_micros(), last.as_micros()));
            let counts = [impact.due, impact.counting, impact.held, impact.staying];
            Some(format!("{} {counts:?} {deadlines:?}", taints.join(",")))
        }
        _ => None,
    };
    harness.notices.iter().filter_map(text).collect()
}

#[test]
fn a_change_of_taints_that_evicts_pods_is_one_notice_with_their_numbers() {
    let mut harness = one_node();
    harness.add_pod("now", "n1", &[]);
    harness.add_pod("soon", "n1", &[toleration("k", Some(60)), toleration("l", None)]);
    harness.add_pod("later", "n1", &[toleration("k", Some(300)), toleration("l", None)]);
    harness.add_pod("never", "n1", &[toleration("k", None), toleration("l", None), toleration("m", None)]);
    harness.add_taint_as("n1", "s", TaintEffect::NoSchedule);
    assert_eq!(impacts(&harness), [""; 0], "no pod is evicted");
    let (first, last) = (harness.now + seconds(60.0), harness.now + seconds(300.0));
    harness.add_taint("n1", "k");
    let mut expected = vec![format!("k:NoExecute [1, 2, 0, 1] {:?}", Some((first, last)))];
    assert_eq!(impacts(&harness), expected);
    harness.pass(seconds(10.0));
    assert_eq!(harness.left(), ["now"]);
    // A new pod, another effect, and the time that a client adds to a taint change nothing.
    harness.add_pod("new", "n1", &[toleration("k", Some(600)), toleration("l", None)]);
    harness.add_taint_as("n1", "t", TaintEffect::NoSchedule);
    harness.nodes.get_mut("n1").expect("the node").taints[1].taint.time_added = None;
    harness.add_taint_as("n1", "u", TaintEffect::NoSchedule);
    assert_eq!(impacts(&harness), expected);
    harness.add_taint("n1", "l");
    let last = harness.now + seconds(600.0);
    expected.push(format!("k:NoExecute,l:NoExecute [0, 3, 0, 1] {:?}", Some((first, last))));
    harness.untaint("n1", "k");
    assert_eq!(impacts(&harness), expected, "every pod tolerates the other taint");
}

//! Tests which countdowns end without an eviction, and what the notices say about them.

use crate::common::{World, bears, seconds};
use crate::eviction::one_node;
use taintward_core::eviction::EvictionNotice;
use taintward_core::fact::PodLifePhase;
use taintward_core::taint::TaintEffect;
use taintward_core::toleration::{Toleration, TolerationOperator};

/// The countdowns that were cancelled: the pod, the reason, and the taint's key.
pub(crate) fn cancelled(world: &World) -> Vec<String> {
    let text = |notice: &EvictionNotice| match notice {
        EvictionNotice::CountdownCancelled { name, reason, taint, .. } => {
            let key = taint.as_ref().map_or("", |taint| &taint.key);
            Some(format!("{}: {reason:?} {key}", name.name()))
        }
        _ => None,
    };
    world.notices.iter().filter_map(text).collect()
}

/// Two taints; `k` would evict first. The pod stays each time, for another reason.
#[test]
fn te_34_a_cancelled_countdown_names_its_reason_and_the_taint_that_would_have_evicted_first() {
    type Change = fn(&mut World);
    let changes: [(&str, Change); 8] = [
        ("p: TaintRemoved k", |world| {
            world.untaint("n1", "l");
            world.untaint("n1", "k");
        }),
        ("p: NodeDeleted k", |world| world.remove_node("n1")),
        ("p: TolerationsChanged k", |world| {
            world.edit_pod("p", |pod| pod.tolerations = vec![bears("k", None), bears("l", None)]);
        }),
        ("p: UnsupportedToleration k", |world| {
            world.edit_pod("p", |pod| {
                let operator = TolerationOperator::Unknown("Resembles".into());
                pod.tolerations = vec![Toleration { operator, ..bears("k", None) }, bears("l", None)];
            });
        }),
        ("p: PodFinished k", |world| world.edit_pod("p", |pod| pod.life_phase = PodLifePhase::Finished)),
        ("p: PodDeleted k", |world| world.edit_pod("p", |pod| pod.life_phase = PodLifePhase::Terminating)),
        ("p: PodDeleted k", |world| world.remove_pod("p")),
        // The other taint still evicts the pod.
        ("", |world| world.untaint("n1", "k")),
    ];
    for (reported, change) in changes {
        let mut world = one_node();
        world.add_pod("p", "n1", &[bears("k", Some(60)), bears("l", Some(90))]);
        world.taint("n1", "k");
        world.taint("n1", "l");
        world.pass(seconds(30.0));
        assert!(cancelled(&world).is_empty());
        change(&mut world);
        world.pass(seconds(1.0));
        assert_eq!(cancelled(&world).join(", "), reported);
    }
}

/// An eviction is not a cancelled countdown.
#[test]
fn a_pod_that_was_evicted_or_was_never_counting_cancels_nothing() {
    let mut world = one_node();
    world.add_pod("due", "n1", &[bears("k", Some(60))]);
    world.add_pod("now", "n1", &[]);
    world.add_pod("lasting", "n1", &[bears("k", None)]);
    world.taint("n1", "k");
    world.pass(seconds(100.0));
    assert_eq!(world.left(), ["now", "due"]);
    world.remove_pod("lasting");
    world.untaint("n1", "k");
    world.pass(seconds(1.0));
    assert!(cancelled(&world).is_empty());
}

/// The numbers of pods that each change of the taints left due, counting, held and staying, with the deadlines.
fn impacts(world: &World) -> Vec<String> {
    let text = |notice: &EvictionNotice| match notice {
        EvictionNotice::NodeTaintsChanged { impact, .. } => {
            let taints: Vec<String> = impact.taints.iter().map(ToString::to_string).collect();
            let deadlines = impact.deadlines.map(|(first, last)| (first.as_micros(), last.as_micros()));
            let counts = [impact.due, impact.counting, impact.held, impact.staying];
            Some(format!("{} {counts:?} {deadlines:?}", taints.join(",")))
        }
        _ => None,
    };
    world.notices.iter().filter_map(text).collect()
}

#[test]
fn a_change_of_taints_that_evicts_pods_is_one_notice_with_their_numbers() {
    let mut world = one_node();
    world.add_pod("now", "n1", &[]);
    world.add_pod("soon", "n1", &[bears("k", Some(60)), bears("l", None)]);
    world.add_pod("later", "n1", &[bears("k", Some(300)), bears("l", None)]);
    world.add_pod("never", "n1", &[bears("k", None), bears("l", None), bears("m", None)]);
    world.taint_as("n1", "s", TaintEffect::NoSchedule);
    assert_eq!(impacts(&world), [""; 0], "no pod is evicted");
    let (first, last) = (world.now + seconds(60.0), world.now + seconds(300.0));
    world.taint("n1", "k");
    let mut expected = vec![format!("k:NoExecute [1, 2, 0, 1] {:?}", Some((first, last)))];
    assert_eq!(impacts(&world), expected);
    world.pass(seconds(10.0));
    assert_eq!(world.left(), ["now"]);
    // A new pod, another effect, and the time that a client adds to a taint change nothing.
    world.add_pod("new", "n1", &[bears("k", Some(600)), bears("l", None)]);
    world.taint_as("n1", "t", TaintEffect::NoSchedule);
    world.nodes.get_mut("n1").expect("the node").taints[1].taint.time_added = None;
    world.taint_as("n1", "u", TaintEffect::NoSchedule);
    assert_eq!(impacts(&world), expected);
    world.taint("n1", "l");
    let last = world.now + seconds(600.0);
    expected.push(format!("k:NoExecute,l:NoExecute [0, 3, 0, 1] {:?}", Some((first, last))));
    world.untaint("n1", "k");
    assert_eq!(impacts(&world), expected, "every pod tolerates the other taint");
}

//! Tests which countdowns end without an eviction, and what the notices say about them.

use crate::common::{World, bears, seconds};
use crate::one_node;
use taintward_core::eviction::EvictionNotice;
use taintward_core::fact::PodLifePhase;
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
        ("p: PodFinished k", |world| world.edit_pod("p", |pod| pod.standing = PodLifePhase::Finished)),
        ("p: PodDeleted k", |world| world.edit_pod("p", |pod| pod.standing = PodLifePhase::Terminating)),
        ("p: PodDeleted k", |world| world.remove_pod("p")),
        // The other taint still evicts the pod.
        ("", |world| world.untaint("n1", "k")),
    ];
    for (told, change) in changes {
        let mut world = one_node();
        world.add_pod("p", "n1", &[bears("k", Some(60)), bears("l", Some(90))]);
        world.taint("n1", "k");
        world.taint("n1", "l");
        world.pass(seconds(30.0));
        assert!(cancelled(&world).is_empty());
        change(&mut world);
        world.pass(seconds(1.0));
        assert_eq!(cancelled(&world).join(", "), told);
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

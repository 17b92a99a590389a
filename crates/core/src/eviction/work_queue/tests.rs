//! Tests the places of the work queue and what moves a pod between them.

use super::*;
use crate::eviction::order::PriorityClass;
use crate::testkit::pod_ref;

const RANK: EvictionOrder = EvictionOrder { class: PriorityClass::Ordinary, priority: 0 };

fn at(seconds: i64) -> Mono {
    Mono::from_secs(seconds)
}

#[test]
fn a_withdrawal_ends_when_its_pod_becomes_due() {
    let mut queue = WorkQueue::default();
    queue.withdraw_at(at(30), pod_ref("0"), RANK, Outcome::StaysUntil(at(40)));
    assert_eq!((queue.next_retry(), queue.next_deadline()), (Some(at(30)), Some(at(40))));
    assert_eq!(queue.reconsider(&pod_ref("0"), Outcome::StaysUntil(at(50)), true, at(1)), None);
    assert_eq!(queue.next_deadline(), Some(at(50)));
    assert_eq!(queue.reconsider(&pod_ref("0"), Outcome::Leaves { due: at(2) }, true, at(2)), Some(None));
    assert_eq!(queue, WorkQueue::default());
}

#[test]
fn parked_pods_get_their_turn_when_their_node_was_read() {
    let mut queue = WorkQueue::default();
    for uid in ["0", "1", "2"] {
        queue.add(pod_ref(uid), at(1), RANK, at(1));
        assert_eq!(queue.dequeue(Lane::Fresh, at(1)), Some((pod_ref(uid), false)));
        queue.parked.entry(pod_ref(uid).node).or_default().push(pod_ref(uid));
    }
    queue.pod_gone(&pod_ref("1"));
    assert!(!queue.has_work(Lane::All, at(1)));
    queue.unpark(&pod_ref("0").node);
    assert_eq!(queue.dequeue(Lane::Fresh, at(1)), Some((pod_ref("0"), false)));
    assert_eq!(queue.dequeue(Lane::Fresh, at(1)), Some((pod_ref("2"), false)));
    assert_eq!(queue.dequeue(Lane::Fresh, at(1)), None);
}

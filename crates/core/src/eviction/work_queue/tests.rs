//! Tests the places of the work queue and what moves a pod between them.

use super::*;
use crate::eviction::order::PriorityClass;
use crate::identity::Uid;
use alloc::format;

const RANK: EvictionOrder = EvictionOrder { class: PriorityClass::Ordinary, priority: 0 };

fn at(seconds: i64) -> Mono {
    Mono::from_secs(seconds)
}

fn pod(number: u8) -> PodRef {
    PodRef { node: NodeName::new("n"), uid: Uid::new(&format!("{number}")) }
}

/// A queue whose pod 0 was tried, and waits for the answer to a DELETE.
fn deleting() -> WorkQueue {
    let mut queue = WorkQueue::default();
    queue.add(pod(0), at(1), RANK, at(1));
    assert_eq!(queue.dequeue(Lane::Fresh, at(1)), Some((pod(0), false)));
    queue.attempts.get_mut(&pod(0)).expect("dequeued").in_flight = Some(InFlightRequest::Delete);
    queue
}

#[test]
fn a_retry_waits_for_its_time_and_first_tries_do_not_wait_for_it() {
    let mut queue = deleting();
    assert!(!queue.answer(&pod(0)).marked(true, at(1)), "nothing was asked to mark it");
    assert!(queue.answer(&pod(0)).deleted(Err(ApiFailure::Forbidden)));
    assert!(!queue.answer(&pod(0)).failed(ApiFailure::Forbidden, at(1)));
    let retry = queue.next_retry().expect("it is tried again");
    assert!(retry > at(1) && queue.dequeue(Lane::All, at(1)).is_none());
    queue.add(pod(1), at(2), RANK, at(2));
    assert_eq!(queue.dequeue(Lane::Fresh, at(9)), Some((pod(1), false)));
    assert_eq!(queue.dequeue(Lane::Fresh, at(9)), None);
    assert_eq!(queue.dequeue(Lane::All, at(9)), Some((pod(0), false)));
    assert_eq!(queue.forget(&pod(0)), Some(at(1)));
    assert_eq!(queue.forget(&pod(1)), Some(at(2)));
    assert_eq!(queue, WorkQueue::default());
}

#[test]
fn an_attempt_outlives_its_pod_until_the_answer() {
    let mut queue = deleting();
    queue.pod_gone(&pod(0));
    assert!(queue.dequeue(Lane::All, at(9)).is_none());
    assert!(!queue.answer(&pod(0)).deleted(Err(ApiFailure::NotFound)));
    assert_eq!(queue, WorkQueue::default());
    let mut queue = deleting();
    queue.pod_gone(&pod(0));
    assert!(queue.pod_came(&pod(0)) && !queue.pod_came(&pod(1)));
    assert!(queue.answer(&pod(0)).deleted(Ok(())));
    assert!(queue.answer(&pod(0)).complete().is_some());
    assert_eq!(queue, WorkQueue::default());
}

#[test]
fn a_withdrawal_ends_when_its_pod_has_to_go() {
    let mut queue = WorkQueue::default();
    queue.withdraw_at(at(30), pod(0), RANK, Outcome::StaysUntil(at(40)));
    assert_eq!((queue.next_retry(), queue.next_deadline()), (Some(at(30)), Some(at(40))));
    assert_eq!(queue.reconsider(&pod(0), Outcome::StaysUntil(at(50)), true, at(1)), None);
    assert_eq!(queue.next_deadline(), Some(at(50)));
    assert_eq!(queue.reconsider(&pod(0), Outcome::Leaves { due: at(2) }, true, at(2)), Some(None));
    assert_eq!(queue, WorkQueue::default());
}

#[test]
fn parked_pods_have_their_turn_when_their_node_was_read() {
    let mut queue = WorkQueue::default();
    for number in 0..3 {
        queue.add(pod(number), at(1), RANK, at(1));
        assert_eq!(queue.dequeue(Lane::Fresh, at(1)), Some((pod(number), false)));
        queue.parked.entry(pod(number).node).or_default().push(pod(number));
    }
    queue.pod_gone(&pod(1));
    assert!(!queue.has_work(Lane::All, at(1)));
    queue.unpark(&pod(0).node);
    assert_eq!(queue.dequeue(Lane::Fresh, at(1)), Some((pod(0), false)));
    assert_eq!(queue.dequeue(Lane::Fresh, at(1)), Some((pod(2), false)));
    assert_eq!(queue.dequeue(Lane::Fresh, at(1)), None);
}

//! Tests how responses change the pods in the work queue.

use super::*;
use crate::engine::Lane;
use crate::eviction::order::{EvictionOrder, PriorityClass};
use crate::testkit::pod_ref;

const RANK: EvictionOrder = EvictionOrder { class: PriorityClass::Ordinary, priority: 0 };

fn at(seconds: i64) -> Mono {
    Mono::from_secs(seconds)
}

/// A queue whose pod 0 waits for the response to a DELETE.
fn deleting() -> WorkQueue {
    let mut queue = WorkQueue::default();
    queue.add(pod_ref("0"), at(1), RANK, at(1));
    assert_eq!(queue.dequeue(Lane::Fresh, at(1)), Some((pod_ref("0"), false)));
    queue.attempts.get_mut(&pod_ref("0")).expect("dequeued").in_flight = Some(InFlightRequest::Delete);
    queue
}

#[test]
fn a_retry_waits_for_its_time_and_first_attempts_do_not_wait_for_it() {
    let mut queue = deleting();
    assert!(!queue.on_mark_response(&pod_ref("0"), true, at(1)), "no request to mark it was sent");
    assert!(queue.on_delete_response(&pod_ref("0"), InFlightRequest::Delete, Err(ApiFailure::Forbidden)));
    assert!(!queue.request_failed(&pod_ref("0"), ApiFailure::Forbidden, at(1)));
    let retry = queue.next_retry().expect("it is retried");
    assert!(retry > at(1) && queue.dequeue(Lane::All, at(1)).is_none());
    queue.add(pod_ref("1"), at(2), RANK, at(2));
    assert_eq!(queue.dequeue(Lane::Fresh, at(9)), Some((pod_ref("1"), false)));
    assert_eq!(queue.dequeue(Lane::Fresh, at(9)), None);
    assert_eq!(queue.dequeue(Lane::All, at(9)), Some((pod_ref("0"), false)));
    assert_eq!(queue.forget(&pod_ref("0")), Some(at(1)));
    assert_eq!(queue.forget(&pod_ref("1")), Some(at(2)));
    assert_eq!(queue, WorkQueue::default());
}

#[test]
fn an_attempt_outlives_its_pod_until_the_response() {
    let mut queue = deleting();
    queue.pod_gone(&pod_ref("0"));
    assert!(queue.dequeue(Lane::All, at(9)).is_none());
    assert!(!queue.on_delete_response(&pod_ref("0"), InFlightRequest::Delete, Err(ApiFailure::NotFound)));
    assert_eq!(queue, WorkQueue::default());
    let mut queue = deleting();
    queue.pod_gone(&pod_ref("0"));
    assert!(queue.pod_came(&pod_ref("0")) && !queue.pod_came(&pod_ref("1")));
    assert!(queue.on_delete_response(&pod_ref("0"), InFlightRequest::Delete, Ok(())));
    assert!(queue.complete(&pod_ref("0")).is_some());
    assert_eq!(queue, WorkQueue::default());
}

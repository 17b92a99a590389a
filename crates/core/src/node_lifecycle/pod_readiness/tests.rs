//! Tests which pods of nodes that are down are marked, and when a mark that failed is tried again.

use super::*;
use crate::identity::PodId;
use crate::time::Wall;

const NODE: &str = "n1";

fn ready_pod(uid: &str) -> PodReadinessFact {
    PodReadinessFact {
        id: PodId::new(Uid::new(uid), PodName::new("default", uid)),
        node: NodeName::new(NODE),
        ready: Some(ConditionStatus::True),
    }
}

fn pod_ref(uid: &str) -> PodRef {
    PodRef { node: NodeName::new(NODE), uid: Uid::new(uid) }
}

fn now() -> Now {
    Now::exact(Mono::from_secs(0), Wall::from_secs(1_800_000_000))
}

/// The marks of two ready pods on a node that is down.
fn down() -> ReadinessMarks {
    let mut marks = ReadinessMarks::default();
    marks.applied(ready_pod("a"), true, now());
    marks.applied(ready_pod("b"), true, now());
    assert_eq!(marks.len(), 0);
    marks.set_node_down(&NodeName::new(NODE), true);
    assert_eq!(marks.len(), 2);
    marks
}

fn next(marks: &mut ReadinessMarks) -> Option<Uid> {
    marks.next().map(|(pod, _)| pod.uid)
}

#[test]
fn a_pod_that_is_gone_is_not_marked() {
    let mut deleted = down();
    deleted.deleted(pod_ref("a").into(), now());
    assert_eq!((next(&mut deleted), next(&mut deleted)), (Some(Uid::new("b")), None));
    let mut listed = down();
    listed.list_started(None);
    listed.applied(ready_pod("b"), true, now());
    assert_eq!(listed.len(), 2, "the list is not complete");
    listed.list_completed(now());
    assert_eq!((next(&mut listed), next(&mut listed)), (Some(Uid::new("b")), None));
    listed.deleted(pod_ref("b").into(), now());
    assert!(listed.shared_name(&NodeName::new(NODE)).is_none(), "nothing is kept of a node without pods");
}

#[test]
fn a_mark_that_failed_is_tried_again_and_not_before() {
    let mut marks = down();
    assert_eq!(
        (next(&mut marks), next(&mut marks), marks.wake_at()),
        (Some(Uid::new("a")), Some(Uid::new("b")), None)
    );
    assert_eq!(marks.written(&pod_ref("a"), Ok(false), Mono::from_secs(0)), None, "it was marked already");
    assert_eq!(marks.written(&pod_ref("b"), Err(ApiFailure::Unavailable), Mono::from_secs(0)), None);
    assert_eq!((marks.len(), next(&mut marks)), (1, None));
    let retry_at = marks.wake_at().unwrap();
    marks.wake(Mono::from_micros(retry_at.as_micros() - 1));
    assert_eq!(next(&mut marks), None);
    marks.wake(retry_at);
    assert_eq!((marks.len(), marks.wake_at(), next(&mut marks)), (1, None, Some(Uid::new("b"))));
    assert_eq!(marks.written(&pod_ref("b"), Ok(true), retry_at), Some(PodName::new("default", "b")));
}

#[test]
fn a_node_that_is_up_again_needs_no_marks() {
    let mut marks = down();
    assert_eq!(next(&mut marks), Some(Uid::new("a")));
    marks.written(&pod_ref("a"), Err(ApiFailure::Unavailable), Mono::from_secs(0));
    marks.set_node_down(&NodeName::new(NODE), false);
    assert_eq!((marks.len(), marks.wake_at(), next(&mut marks)), (0, None, None));
}

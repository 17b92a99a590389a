//! Tests the annotation that records for which pools' users a pod was created, and from which clients it is accepted.

use super::{bearing, pool, requested, requester, tolerations};
use crate::admission::pool::*;
use crate::admission::request::*;
use crate::admission::review::{ReviewSettings, mutate, validate};
use alloc::vec::Vec;

/// A pool that only ann may use.
fn of_ann() -> DedicatedPool {
    let users = PoolUsers { users: ["ann".into()].into(), ..PoolUsers::default() };
    DedicatedPool { uid: "u-1".into(), users, ..pool("a", 1) }
}

fn by(user: &str, made_for: &str, text: &str) -> PodRequest {
    let mut request = requested(bearing(text), None);
    request.requester = Some(requester(user, &[]));
    request.pod.identity.made_for = made_for.into();
    request
}

fn rejections(pool: &DedicatedPool, request: &PodRequest) -> Vec<PoolEntry> {
    let found = violation(
        core::slice::from_ref(pool),
        request,
        NodePoolMembership::Unknown,
        Some(&Default::default()),
    )
    .0;
    found.into_iter().map(|one| one.entry).collect()
}

fn written(request: &PodRequest) -> Option<alloc::string::String> {
    let (namespace, pools) = (NamespaceFact::default(), [of_ann(), pool("b", 2)]);
    let view = ClusterView { namespace: Some(&namespace), pools: Some(&pools), ..ClusterView::default() };
    mutate(request, &view, &ReviewSettings::default()).made_for
}

#[test]
fn the_webhook_records_for_which_pools_a_pod_was_created() {
    assert_eq!(written(&by("ann", "", "")).as_deref(), Some("u-1"));
    assert_eq!(written(&by("ann", "u-1", "")), None, "the annotation is already right");
    assert_eq!(written(&by("bob", "", "")), None);
    assert_eq!(written(&by("bob", "u-1", "")).as_deref(), Some(""), "a false claim is removed");
    let mut change = by("ann", "", "");
    (change.operation, change.old) = (Operation::Update, Some(PreviousPod::default()));
    assert_eq!(written(&change), None, "the requester of an update did not create the pod");
}

#[test]
fn a_claim_by_others_is_refused_under_every_enforcement() {
    for enforcement in
        [PoolEnforcement::Deny, PoolEnforcement::Evict, PoolEnforcement::Warn, PoolEnforcement::Off]
    {
        let pool = DedicatedPool { enforcement, ..of_ann() };
        assert_eq!(rejections(&pool, &by("bob", "u-1", "")), [PoolEntry::Claim]);
        assert_eq!(rejections(&pool, &by("bob", "u-0,u-1,u-2", "")), [PoolEntry::Claim]);
        assert_eq!(rejections(&pool, &by("ann", "u-1", "- Exists")), []);
        let other = DedicatedPool { uid: "u-2".into(), ..pool.clone() };
        assert_eq!(rejections(&other, &by("bob", "u-1", "")), []);
        let (namespace, pools) = (NamespaceFact::default(), [pool]);
        let view = ClusterView { namespace: Some(&namespace), pools: Some(&pools), ..ClusterView::default() };
        let ruling = validate(&by("bob", "u-1", ""), &view, &ReviewSettings::default());
        let message = ruling.denial.unwrap().message;
        assert!(message.contains("annotation taintward.io/made-for says"), "{message}");
    }
}

/// bob is a queue that removes gates: it releases only the pods that ann created, and makes no pod ann's.
#[test]
fn the_annotation_before_an_update_counts() {
    for (was, now, text, expected) in [
        ("u-1", "u-1", "- Exists", &[][..]),
        ("u-1", "", "- Exists", &[]),
        ("", "", "- Exists", &[PoolEntry::Tolerations([0].into())]),
        ("", "u-1", "- Exists", &[PoolEntry::Claim]),
        ("", "u-1", "", &[PoolEntry::Claim]),
    ] {
        let mut request = by("bob", now, text);
        request.operation = Operation::Update;
        let old = PreviousPod { tolerations: tolerations(text), gated: true, made_for: was.into() };
        request.old = Some(old);
        assert_eq!(rejections(&of_ann(), &request), expected, "{was:?} {now:?} {text:?}");
    }
}

#[test]
fn a_gated_pod_of_a_user_gets_the_pools_toleration_from_any_requester() {
    let mut request = by("bob", "u-1", "");
    (request.operation, request.pod.gated) = (Operation::Update, true);
    request.old = Some(PreviousPod { gated: true, made_for: "u-1".into(), ..PreviousPod::default() });
    let (namespace, pools) = (NamespaceFact::default(), [of_ann()]);
    let view = ClusterView { namespace: Some(&namespace), pools: Some(&pools), ..ClusterView::default() };
    let given = mutate(&request, &view, &ReviewSettings::default());
    assert_eq!((given.tolerations.len(), given.required.map(|terms| terms.len())), (1, Some(1)));
}

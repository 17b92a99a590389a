//! Tests the annotation that records for which pools' users a pod was created, and from which clients it counts.

use super::{asked, bearing, pool, requester, tolerations};
use crate::admission::pool::*;
use crate::admission::request::*;
use crate::admission::review::{ReviewSettings, mutate, validate};
use alloc::vec::Vec;

/// A pool that ann alone may use.
fn of_ann() -> DedicatedPool {
    let users = PoolUsers { users: ["ann".into()].into(), ..PoolUsers::default() };
    DedicatedPool { uid: "u-1".into(), users, ..pool("a", 1) }
}

fn by(user: &str, made_for: &str, text: &str) -> PodRequest {
    let mut request = asked(bearing(text), None);
    request.requester = Some(requester(user, &[]));
    request.pod.identity.made_for = made_for.into();
    request
}

fn refusals(pool: &DedicatedPool, request: &PodRequest) -> Vec<PoolEntry> {
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
fn the_webhook_writes_for_whose_pools_a_pod_was_made() {
    assert_eq!(written(&by("ann", "", "")).as_deref(), Some("u-1"));
    assert_eq!(written(&by("ann", "u-1", "")), None, "it says so already");
    assert_eq!(written(&by("bob", "", "")), None);
    assert_eq!(written(&by("bob", "u-1", "")).as_deref(), Some(""), "what is not so goes");
    let mut change = by("ann", "", "");
    (change.operation, change.old) = (Operation::Update, Some(PreviousPod::default()));
    assert_eq!(written(&change), None, "who changes a pod did not make it");
}

#[test]
fn what_others_write_there_is_refused_whatever_the_pool_does_with_them() {
    for enforcement in
        [PoolEnforcement::Deny, PoolEnforcement::Evict, PoolEnforcement::Warn, PoolEnforcement::Off]
    {
        let pool = DedicatedPool { enforcement, ..of_ann() };
        assert_eq!(refusals(&pool, &by("bob", "u-1", "")), [PoolEntry::Claim]);
        assert_eq!(refusals(&pool, &by("bob", "u-0,u-1,u-2", "")), [PoolEntry::Claim]);
        assert_eq!(refusals(&pool, &by("ann", "u-1", "- Exists")), []);
        let other = DedicatedPool { uid: "u-2".into(), ..pool.clone() };
        assert_eq!(refusals(&other, &by("bob", "u-1", "")), []);
        let (namespace, pools) = (NamespaceFact::default(), [pool]);
        let view = ClusterView { namespace: Some(&namespace), pools: Some(&pools), ..ClusterView::default() };
        let ruling = validate(&by("bob", "u-1", ""), &view, &ReviewSettings::default());
        let message = ruling.denial.unwrap().message;
        assert!(message.contains("annotation taintward.io/made-for says"), "{message}");
    }
}

/// bob is a queue that takes gates off: it lets go what ann made, and nothing else; and it makes nothing ann's.
#[test]
fn what_was_there_before_a_change_counts() {
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
        assert_eq!(refusals(&of_ann(), &request), expected, "{was:?} {now:?} {text:?}");
    }
}

#[test]
fn a_gated_pod_of_a_user_gets_the_pools_toleration_from_whoever_changes_it() {
    let mut request = by("bob", "u-1", "");
    (request.operation, request.pod.gated) = (Operation::Update, true);
    request.old = Some(PreviousPod { gated: true, made_for: "u-1".into(), ..PreviousPod::default() });
    let (namespace, pools) = (NamespaceFact::default(), [of_ann()]);
    let view = ClusterView { namespace: Some(&namespace), pools: Some(&pools), ..ClusterView::default() };
    let given = mutate(&request, &view, &ReviewSettings::default());
    assert_eq!((given.tolerations.len(), given.required.map(|terms| terms.len())), (1, Some(1)));
}

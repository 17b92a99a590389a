//! Tests what a process that stops does with the lease.

use super::*;

#[test]
fn a_process_that_stops_releases_only_what_it_may_hold() {
    // A former process of the same identity holds it.
    let mut named = candidate();
    named.next(at(0));
    named.on_response(at(0), LeaseResponse::Found(record("me", "a")));
    named.stop();
    assert_eq!(named.next(at(0)), ElectionAction::Done);
    // A write without a response, and then the lease of another.
    let mut lost = leader();
    assert!(matches!(lost.next(at(2000)), ElectionAction::Replace(_)));
    lost.on_response(at(2100), LeaseResponse::Conflict);
    assert_eq!(lost.next(at(2100)), ElectionAction::Read);
    lost.on_response(at(2200), LeaseResponse::Found(record("you", "a")));
    lost.stop();
    assert_eq!(lost.next(at(2200)), ElectionAction::Done);
    let mut held = leader();
    held.stop();
    assert!(matches!(held.next(at(600)), ElectionAction::Replace(record) if record.holder.is_empty()));
}

#[test]
fn a_clean_stop_releases_the_lease() {
    let mut me = leader();
    me.stop();
    assert_eq!(me.valid_until(), None);
    let ElectionAction::Replace(freed) = me.next(at(600)) else { panic!("not released") };
    assert_eq!((freed.holder.as_str(), freed.duration, freed.transitions), ("", Span::from_secs(1), 0));
    me.on_response(at(610), LeaseResponse::Written);
    assert_eq!((me.next(at(610)), me.valid_until()), (ElectionAction::Done, None));
}

#[test]
fn a_stop_during_a_renewal_reads_before_it_releases() {
    let mut me = leader();
    assert!(matches!(me.next(at(2000)), ElectionAction::Replace(_)));
    me.stop();
    assert_eq!(me.next(at(2001)), ElectionAction::Read);
    me.on_response(at(2002), LeaseResponse::Found(record("me", "x")));
    assert!(
        matches!(me.next(at(2002)), ElectionAction::Replace(LeaseRecord { holder, .. }) if holder.is_empty())
    );
    me.on_response(at(2003), LeaseResponse::Conflict);
    assert!(waits_until(&mut me, 2003) <= 2203, "a release is urgent");
    me.next(at(2203));
    me.on_response(at(2204), LeaseResponse::Found(record("you", "y")));
    assert_eq!(me.next(at(2204)), ElectionAction::Done, "a lease of another holder is not released");
}

#[test]
fn a_process_that_never_held_the_lease_writes_nothing_when_it_stops() {
    let mut me = candidate();
    me.next(at(0));
    me.on_response(at(0), LeaseResponse::Found(record("you", "a")));
    me.stop();
    assert_eq!(me.next(at(1)), ElectionAction::Done);
    let mut fresh = candidate();
    fresh.stop();
    assert_eq!(fresh.next(at(0)), ElectionAction::Done);
}

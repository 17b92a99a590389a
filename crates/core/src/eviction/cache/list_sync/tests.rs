//! Tests what a list implies about objects that appear for the first time.

use super::*;

const NOW: Mono = Mono::from_secs(9);

fn listed(at: Option<i64>) -> ObservedVia {
    ObservedVia::List { absent_until: at.map(Mono::from_secs) }
}

#[test]
fn a_listed_object_did_not_exist_before_the_list_as_far_as_known() {
    let mut sync = ListSync::default();
    assert!(!sync.complete() && !sync.is_complete());
    sync.start(None);
    assert_eq!(sync.observed_via(&1, true), listed(None));
    assert_eq!(sync.observed_via(&1, false), ObservedVia::WatchEvent);
    assert!(sync.complete() && sync.is_complete() && !sync.complete());
    sync.start(Some(Mono::from_secs(5)));
    assert_eq!(sync.observed_via(&1, true), listed(Some(5)));
    assert!(sync.is_complete());
}

#[test]
fn an_object_counts_from_when_it_could_not_be_decoded_until_it_is_gone() {
    let mut sync = ListSync::default();
    sync.start(None);
    sync.mark_undecodable(1, NOW);
    assert!(sync.complete());
    sync.mark_undecodable(2, NOW);
    assert_eq!([1, 2].map(|key| sync.observed_via(&key, false)), [listed(None), listed(Some(9))]);
    assert_eq!(sync.observed_via(&2, false), ObservedVia::WatchEvent);
    for key in [3, 4, 5] {
        sync.mark_undecodable(key, NOW);
    }
    sync.forget(&3);
    sync.start(None);
    sync.mark_undecodable(4, Mono::from_secs(20));
    assert!(sync.complete());
    let observed = [3, 4, 5].map(|key| sync.observed_via(&key, false));
    assert_eq!(observed, [ObservedVia::WatchEvent, listed(Some(9)), ObservedVia::WatchEvent]);
}

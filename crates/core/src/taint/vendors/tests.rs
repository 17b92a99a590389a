//! Tests the descriptions of taints that are not Kubernetes' own.

use super::*;
use crate::taint::WellKnownTaint;
use crate::testkit::taint_of;

fn described(key: &str, value: &str) -> Option<WellKnownTaint> {
    WellKnownTaint::of(&taint_of(key, value, "NoSchedule"))
}

#[test]
fn match_10_each_key_is_listed_once_and_described() {
    let keys: alloc::vec::Vec<&str> = TABLE.iter().flat_map(|known| known.keys).copied().collect();
    for (at, key) in keys.iter().enumerate() {
        assert!(!keys[..at].contains(key) && !crate::taint::keys::ALL.contains(key), "{key}");
        let whole = key.replace("*/", "ebs.csi.aws.com/").replace('*', "x");
        let reported = described(&whole, "").expect(key);
        assert!(
            !reported.what.is_empty()
                && !reported.who.is_empty()
                && !reported.action(Wall::from_secs(0)).is_empty()
        );
        assert_eq!((reported.value, reported.set_at), (None, None), "{key}: there is no value");
    }
}

#[test]
fn match_10_a_pattern_matches_its_keys_only() {
    let what = |key: &str| described(key, "").map(|reported| reported.what);
    assert!(what("efs.csi.aws.com/agent-not-ready").is_some_and(|what| what.contains("CSI driver")));
    assert!(what("node.cilium.io/agent-not-ready").is_some_and(|what| what.contains("Cilium")));
    assert!(what("startup-taint.cluster-autoscaler.kubernetes.io/dns").is_some());
    for other in [
        "example.com/agent-not-ready",
        "startup-taint.cluster-autoscaler.kubernetes.io/",
        "startup-taint.cluster-autoscaler.kubernetes.io",
        "karpenter.sh/disrupted2",
        "aws-node-termination-handler/other",
    ] {
        assert_eq!(what(other), None, "{other}");
    }
}

#[test]
fn match_10_a_value_that_is_a_time_shows_when_the_taint_was_set_and_that_it_is_stale() {
    const CANDIDATE: &str = "DeletionCandidateOfClusterAutoscaler";
    let reported = described(CANDIDATE, "1763600000").expect(CANDIDATE);
    assert_eq!(reported.set_at, Some(Wall::from_secs(1_763_600_000)));
    let after = |seconds| Wall::from_secs(1_763_600_000 + seconds);
    assert!(!reported.is_stale(after(6 * 3_600)) && reported.is_stale(after(6 * 3_600 + 1)));
    assert!(!reported.is_stale(after(-1_000_000)), "a clock that is behind");
    assert!(
        !reported.action(after(60)).contains("stale")
            && reported.action(after(86_400)).contains("it is stale")
    );
    for odd in ["", "true", "5", "-1763600000", "1763600000000", "99999999999999999999"] {
        let reported = described(CANDIDATE, odd).expect(odd);
        assert!(reported.set_at.is_none() && !reported.is_stale(after(i64::from(i32::MAX))), "{odd}");
    }
    // The termination handler's values are ids of events, whatever they look like.
    let reported = described("aws-node-termination-handler/spot-itn", "1763600000").expect("it is listed");
    assert_eq!((reported.set_at, reported.value), (None, Some("the id of the event")));
}

#[test]
fn match_10_known_values_have_a_meaning() {
    let value = |key, value| described(key, value).expect(key).value;
    assert!(value("kubernetes.azure.com/scalesetpriority", "spot").is_some());
    assert_eq!(value("kubernetes.azure.com/scalesetpriority", "regular"), None);
    assert!(value("virtual-kubelet.io/provider", "azure").is_some());
}

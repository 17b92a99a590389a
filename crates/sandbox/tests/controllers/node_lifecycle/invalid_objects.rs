//! Tests odd nodes and leases: missing or duplicate conditions, strange zones, wrong times (D11, NL-10, NL-11, NL-24,
//! P24).

use super::assertions::{GRACE, NOT_READY, UNREACHABLE, beat, both, leases, set_lease};
use crate::harness::{LATE, SandboxHarness, after, nodes, sleep};
use fakekube::api::{DeleteOptions, ResourcePath, WriteOptions};
use serde_json::json;

/// NL-10: a changed lease is a heartbeat, whatever its time: in the past, in the future, or backwards.
#[tokio::test(start_paused = true)]
async fn renewals_of_any_time_are_heartbeats() {
    let harness = SandboxHarness::still(4, 1);
    let _well = harness.heart("n4");
    ["n1", "n2", "n3"].iter().for_each(|node| beat(harness.server(), node));
    let _controller = harness.controller(both()).await;
    for second in 0_i64..60 {
        let time = |base: i64| {
            let at = jiff::Timestamp::from_second(base).unwrap();
            json!({"holderIdentity": "k", "leaseDurationSeconds": 40, "renewTime": format!("{at:.6}")})
        };
        set_lease(harness.server(), "n1", &time(second));
        set_lease(harness.server(), "n2", &time(9_000_000_000 + second));
        set_lease(harness.server(), "n3", &time(1_700_000_000 - second));
        sleep(10.0).await;
    }
    harness.only(&[]);
    let last = ["n1", "n2", "n3"].map(|node| after(harness.last_word(node), GRACE));
    sleep(200.0).await;
    // Three of four are too many for their zone, but their conditions are set anyway.
    for (node, dead) in ["n1", "n2", "n3"].into_iter().zip(last) {
        harness.bore(node, "unreachable:NoSchedule", &[dead]);
    }
}

/// NL-10: a write of the same time is not a heartbeat; neither is one without a time, or one that releases the
/// lease.
#[tokio::test(start_paused = true)]
async fn writes_that_do_not_count_as_heartbeats() {
    let harness = SandboxHarness::still(8, 1);
    let _well: Vec<_> = ["n4", "n5", "n6", "n7", "n8"].iter().map(|node| harness.heart(node)).collect();
    let hearts = ["n1", "n2", "n3"].map(|node| harness.heart(node));
    let _controller = harness.watched(both()).await;
    drop(hearts);
    let began = ["n1", "n2", "n3"].map(|node| {
        beat(harness.server(), node);
        harness.now()
    });
    for count in 0..40 {
        sleep(5.0).await;
        for node in ["n1", "n2", "n3"] {
            let mut spec = harness.server().get(leases(), "kube-node-lease", node).unwrap()["spec"].clone();
            spec["leaseDurationSeconds"] = json!(40 + count);
            if node == "n2" {
                spec["renewTime"] = json!(null);
            }
            if node == "n3" {
                spec["holderIdentity"] = json!(null);
            }
            set_lease(harness.server(), node, &spec);
        }
    }
    for (node, began) in ["n1", "n2", "n3"].into_iter().zip(began) {
        // Removing the time changes the kind of the value, but is not a heartbeat.
        harness.bore(node, "unreachable:NoSchedule", &[after(began, GRACE)]);
    }
    harness.only(&["n1", "n2", "n3"]);
}

/// NL-10, NL-11: a node without a lease is alive by its status. The deletion of a lease is not a death, and a later
/// lease counts from then on.
#[tokio::test(start_paused = true)]
async fn leases_that_come_and_go() {
    let harness = SandboxHarness::still(4, 1);
    let hearts = ["n1", "n3", "n4"].map(|node| harness.heart(node));
    let _controller = harness.controller(both()).await;
    let on = ResourcePath::object(leases(), "kube-node-lease", "n1");
    let [first, _n3, _n4] = hearts;
    drop(first);
    harness.server().delete(&on, &DeleteOptions::default(), &WriteOptions::by("n1")).unwrap();
    for _ in 0..20 {
        harness.posts("n1", "Ready", "True");
        harness.posts("n2", "Ready", "True");
        sleep(45.0).await;
    }
    harness.only(&[]);
    let heart = harness.heart("n2");
    harness.posts("n1", "Ready", "True");
    let posted = harness.now();
    sleep(200.0).await;
    harness.bore("n1", UNREACHABLE, &[after(posted, GRACE)]);
    drop(heart);
    let dead = after(harness.last_word("n2"), GRACE);
    sleep(100.0).await;
    harness.bore("n2", UNREACHABLE, &[dead]);
}

/// D11: an undecodable lease does not make a node dead. The node is not declared silent until the lease can be decoded.
#[tokio::test(start_paused = true)]
async fn an_undecodable_lease() {
    let harness = SandboxHarness::still(4, 1);
    let _others = ["n2", "n3", "n4"].map(|node| harness.heart(node));
    let heart = harness.heart("n1");
    let _controller = harness.watched(both()).await;
    drop(heart);
    let bad = json!({"holderIdentity": "n1", "leaseDurationSeconds": 40, "renewTime": "9999-12-31T23:59:59.999999Z"});
    set_lease(harness.server(), "n1", &bad);
    let last = harness.now();
    sleep(200.0).await;
    // The largest time is a time like any other, once.
    harness.bore("n1", UNREACHABLE, &[after(last, GRACE)]);
}

/// D11: two contradicting `Ready` conditions change nothing; two equal ones count as one. A status that is none of the
/// three changes nothing either.
#[tokio::test(start_paused = true)]
async fn invalid_conditions() {
    let harness = SandboxHarness::still(8, 1);
    let _hearts = ["n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8"].map(|node| harness.heart(node));
    let _controller = harness.watched(both()).await;
    let ready = |status: &str, beat: &str| json!({"type": "Ready", "status": status, "reason": "R", "message": "m", "lastHeartbeatTime": beat});
    let two = |one: &str, other: &str| {
        json!([ready(one, "2026-01-01T00:00:00Z"), ready(other, "2026-01-01T00:00:00Z")])
    };
    harness.change_status("n1", |node| node["status"]["conditions"] = two("True", "False"));
    harness.change_status("n2", |node| node["status"]["conditions"] = two("False", "False"));
    harness.change_status("n3", |node| {
        node["status"]["conditions"] = json!([ready("Perhaps", "2026-01-01T00:00:00Z")])
    });
    let message = harness.now();
    sleep(200.0).await;
    harness.never("n1", NOT_READY);
    harness.bore("n2", NOT_READY, &[message]);
    harness.never("n3", NOT_READY);
    harness.only(&["n2"]);
    assert_eq!(harness.writes_to("n1") + harness.writes_to("n3"), 4, "only what every new node needs");
    harness.change_status("n2", |node| node["status"]["conditions"] = two("True", "False"));
    sleep(100.0).await;
    harness.bore("n2", NOT_READY, &[message]);
    let well = harness.now();
    harness.change_status("n2", |node| node["status"]["conditions"] = two("True", "True"));
    sleep(10.0).await;
    harness.bore("n2", NOT_READY, &[message, well]);
}

/// NL-5, NL-11: a node whose conditions disappear is not reported as not ready, and has a startup grace period.
#[tokio::test(start_paused = true)]
async fn conditions_that_vanish() {
    let harness = SandboxHarness::still(4, 1);
    let hearts = ["n1", "n2", "n3", "n4"].map(|node| harness.heart(node));
    let _controller = harness.watched(both()).await;
    harness.change_status("n1", |node| node["status"]["conditions"] = json!(null));
    sleep(300.0).await;
    harness.only(&[]);
    let [first, _n2, _n3, _n4] = hearts;
    drop(first);
    sleep(100.0).await;
    let dead = after(harness.last_word("n1"), 60.0);
    harness.bore("n1", UNREACHABLE, &[dead]);
    let message = harness.message("n1", "Ready");
    assert!(
        matches!(&message[..], [_, (at, status)] if status == "Unknown" && *at <= after(dead, LATE)),
        "{message:?}"
    );
}

/// NL-24: zones by old and new labels, by only one of the two, by none, and with odd names: nodes with the same key
/// share a rate, others do not.
#[tokio::test(start_paused = true)]
async fn odd_zones() {
    let harness = SandboxHarness::lively(16, 1);
    let labels = [
        ("n1", json!({})),
        ("n2", json!({})),
        ("n3", json!({"topology.kubernetes.io/region": "sandbox"})),
        ("n4", json!({"topology.kubernetes.io/zone": "sandbox"})),
        ("n5", json!({"failure-domain.beta.kubernetes.io/zone": "z9", "topology.kubernetes.io/zone": "z1"})),
        ("n6", json!({"topology.kubernetes.io/zone": "z9"})),
        ("n7", json!({"topology.kubernetes.io/zone": "", "topology.kubernetes.io/region": ""})),
    ];
    for (node, labels) in &labels {
        harness.change_node(node, |node| node["metadata"]["labels"] = labels.clone());
    }
    let _controller = harness.watched(both()).await;
    harness.silence(&["n1", "n2", "n3", "n4", "n5", "n6", "n7"]);
    sleep(200.0).await;
    let dead = after(harness.last_word("n1"), GRACE);
    // Missing labels and two empty names are the same zone; the old label takes precedence.
    for zone in [&["n1", "n2", "n7"][..], &["n3"], &["n4"], &["n5", "n6"]] {
        let mut turns: Vec<_> = zone.iter().flat_map(|node| harness.turns_of(node, UNREACHABLE)).collect();
        turns.sort_unstable();
        assert_eq!(turns.len(), zone.len(), "{zone:?}: {turns:?}");
        for (turn, at) in turns.iter().enumerate() {
            let due = after(dead, turn as f64 * 10.0);
            assert!(*at >= due && *at <= after(due, 1.0), "{zone:?}: {turns:?}, dead at {dead}");
        }
    }
    assert!(harness.server().get(nodes(), "", "n8").is_some());
}

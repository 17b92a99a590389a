//! Tests the rate at which silent nodes of several zones are tainted (NL-22 to NL-26, NL-43, S6).

use super::assertions::{GRACE, Heart, TURN, UNREACHABLE, both};
use crate::harness::{LATE, SandboxHarness, after, nodes, sleep};
use jiff::Timestamp;
use serde_json::json;

/// Renews the leases of nodes of a still harness, each at its own time.
async fn hearts(harness: &SandboxHarness, names: impl IntoIterator<Item = String>) -> Vec<Option<Heart>> {
    let mut hearts = Vec::new();
    for node in names {
        hearts.push(Some(harness.heart(&node)));
        sleep(0.4).await;
    }
    hearts
}

fn names(count: usize) -> impl DoubleEndedIterator<Item = String> {
    (1..=count).map(|number| format!("n{number}"))
}

/// Asserts that these nodes were tainted one after the other, the first at this time. Returns their order, which is
/// arbitrary among nodes that fell silent at the same moment.
#[track_caller]
fn took_turns(harness: &SandboxHarness, nodes: &[&str], first: Timestamp, pause: f64) -> Vec<String> {
    let turn = |node: &&str| match harness.turns_of(node, UNREACHABLE)[..] {
        [at] => (at, (*node).to_owned()),
        ref turns => panic!("{node}: {turns:?}; it is {}", harness.now()),
    };
    let mut turns: Vec<_> = nodes.iter().map(turn).collect();
    turns.sort();
    for (number, (at, _)) in turns.iter().enumerate() {
        let due = after(first, number as f64 * pause);
        let latest = after(due, (number + 1) as f64 * LATE);
        assert!(*at >= due && *at <= latest, "{turns:?}; the first was due at {first}");
    }
    turns.into_iter().map(|(_, node)| node).collect()
}

/// NL-22, NL-23, NL-25: half a zone is not a disruption: one node in ten seconds is tainted, the longest silent first.
/// The NoSchedule taints are added immediately, for all of them.
#[tokio::test(start_paused = true)]
async fn half_a_zone() {
    let harness = SandboxHarness::still(7, 1);
    let mut hearts = hearts(&harness, names(7).rev()).await;
    let _controller = harness.watched(both()).await;
    // Their heartbeats are 0.4 s apart, the last node first, and stop within one round.
    let order = ["n6", "n5", "n1"];
    [1, 2, 6].into_iter().for_each(|heart| hearts[heart] = None);
    sleep(200.0).await;
    let silent = order.map(|node| after(harness.last_word(node), GRACE));
    for (node, silent) in order.iter().zip(silent) {
        harness.bore(node, "unreachable:NoSchedule", &[silent]);
    }
    assert!(silent[0] < silent[1] && silent[2] < after(silent[0], TURN), "{silent:?}");
    assert_eq!(took_turns(&harness, &order, silent[0], TURN), order);
    harness.only(&order);
}

/// The same, all at one moment: the second and third wait for their turn.
#[tokio::test(start_paused = true)]
async fn three_at_one_moment() {
    let harness = SandboxHarness::lively(7, 1);
    let _controller = harness.watched(both()).await;
    harness.silence(&["n2", "n4", "n6"]);
    sleep(200.0).await;
    let silent = after(harness.last_word("n2"), GRACE);
    assert!(harness.last_word("n6") <= after(harness.last_word("n2"), LATE));
    took_turns(&harness, &["n2", "n4", "n6"], silent, TURN);
    for node in ["n2", "n4", "n6"] {
        harness.bore(node, "unreachable:NoSchedule", &[silent]);
    }
    harness.only(&["n2", "n4", "n6"]);
}

/// NL-26: with more than half of a small zone down, no node of it is tainted; the other zone has its own rate.
#[tokio::test(start_paused = true)]
async fn a_small_zone_partly_down() {
    let harness = SandboxHarness::lively(12, 2);
    let _controller = harness.watched(both()).await;
    harness.silence(&["n1", "n3", "n5", "n7", "n2"]);
    sleep(1_000.0).await;
    for node in ["n1", "n3", "n5", "n7"] {
        harness.bore(node, "unreachable:NoSchedule", &[after(harness.last_word(node), GRACE)]);
    }
    harness.bore("n2", UNREACHABLE, &[after(harness.last_word("n2"), GRACE)]);
    harness.only(&["n2"]);
    // One is back: half of the zone is not a disruption, and the rest is tainted at the zone's rate.
    let back = harness.now();
    harness.recover(&["n7"]);
    sleep(100.0).await;
    took_turns(&harness, &["n1", "n3", "n5"], back, TURN);
    harness.only(&["n1", "n2", "n3", "n5"]);
}

/// NL-26: more than half of a zone of more than fifty nodes: one node in a hundred seconds, after one whose token was
/// saved.
#[tokio::test(start_paused = true)]
async fn a_large_zone_partly_down() {
    let harness = SandboxHarness::lively(60, 1);
    let _controller = harness.watched(both()).await;
    let all: Vec<String> = names(40).collect();
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    harness.silence(&all);
    sleep(1_040.0).await;
    let dead = after(harness.last_word("n1"), GRACE);
    let tainted: Vec<&str> =
        all.iter().copied().filter(|node| !harness.turns_of(node, UNREACHABLE).is_empty()).collect();
    assert_eq!(tainted.len(), 10);
    took_turns(&harness, &tainted, dead, 100.0);
    for node in &all {
        harness.bore_within(node, "unreachable:NoSchedule", &[dead], 1.0);
    }
    harness.only(&tainted);
}

/// NL-25, NL-26: a zone that is fully down is tainted at the ordinary rate while another zone is healthy.
#[tokio::test(start_paused = true)]
async fn a_zone_dead() {
    let harness = SandboxHarness::lively(8, 2);
    let _controller = harness.watched(both()).await;
    let zone = ["n1", "n3", "n5", "n7"];
    harness.silence(&zone);
    sleep(300.0).await;
    let dead = after(harness.last_word("n1"), GRACE);
    took_turns(&harness, &zone, dead, TURN);
    harness.only(&zone);
}

/// NL-25: nodes that are excluded from the count of their zone are tainted anyway.
#[tokio::test(start_paused = true)]
async fn excluded_nodes_do_not_count() {
    let harness = SandboxHarness::lively(5, 1);
    for node in ["n1", "n2"] {
        harness.change_node(node, |node| {
            node["metadata"]["labels"]["node.kubernetes.io/exclude-disruption"] = json!("");
        });
    }
    let _controller = harness.watched(both()).await;
    // Three of five would be too many; of the three that count, it is one.
    harness.silence(&["n1", "n2", "n3"]);
    sleep(300.0).await;
    let dead = after(harness.last_word("n1"), GRACE);
    took_turns(&harness, &["n1", "n2", "n3"], dead, TURN);
}

/// NL-43: a node that waits in a stopped zone moves to another zone and is tainted there, once.
#[tokio::test(start_paused = true)]
async fn a_zone_label_changes() {
    let harness = SandboxHarness::lively(8, 2);
    let _controller = harness.watched(both()).await;
    harness.silence(&["n1", "n3", "n5"]);
    sleep(200.0).await;
    harness.only(&[]);
    let moved = harness.now();
    harness.change_node("n3", |node| {
        node["metadata"]["labels"]["topology.kubernetes.io/zone"] = json!("z2");
    });
    sleep(200.0).await;
    harness.bore("n3", UNREACHABLE, &[moved]);
    // Two of the nodes left in the old zone are not a disruption: they are tainted in turn.
    took_turns(&harness, &["n1", "n5"], moved, TURN);
}

/// NL-11, NL-19: the turn of a deleted node ends with it; a new node has its own startup grace period, or a full grace
/// period from its first heartbeat.
#[tokio::test(start_paused = true)]
async fn nodes_go_and_come() {
    let harness = SandboxHarness::lively(9, 1);
    let _controller = harness.watched(both()).await;
    harness.silence(&["n1", "n2", "n3"]);
    sleep(10.0).await;
    let dead = after(harness.last_word("n1"), GRACE);
    let wait = dead.duration_since(harness.now()).as_secs_f64();
    sleep(wait + 5.0).await;
    let (first, waiting): (Vec<&str>, Vec<&str>) =
        ["n1", "n2", "n3"].into_iter().partition(|node| !harness.turns_of(node, UNREACHABLE).is_empty());
    let ([first], [goes, waits]) = (&first[..], &waiting[..]) else { panic!("{first:?} {waiting:?}") };
    harness.delete_node(goes);
    let mut mute = harness.get_node(waits);
    mute["metadata"] = json!({"name": "mute", "annotations": {"sandbox.taintward.io/silence": "true"}});
    mute["spec"]["taints"] = json!(null);
    mute["status"]["conditions"] = json!(null);
    let born = harness.now();
    harness.world.create("", "nodes", "", mute);
    sleep(150.0).await;
    assert_eq!(took_turns(&harness, &[first, waits], dead, TURN), [*first, *waits]);
    harness.never(goes, UNREACHABLE);
    let message = harness.message("mute", "Ready");
    let created: Timestamp =
        harness.get_node("mute")["metadata"]["creationTimestamp"].as_str().unwrap().parse().unwrap();
    assert!(created <= born);
    // Creation times have whole seconds: the node may have been created up to one second later.
    let [(declared, status)] = &message[..] else { panic!("{message:?}") };
    let (earliest, latest) = (after(created, 60.0), after(born, 60.0 + LATE));
    assert_eq!(status, "Unknown");
    assert!(*declared >= earliest && *declared <= latest, "{message:?}, not {earliest} to {latest}");
    let ready = harness.get_node("mute")["status"]["conditions"].as_array().unwrap()[0].clone();
    assert_eq!(ready["reason"], "NodeStatusNeverUpdated", "NL-12");
    assert_eq!(ready["message"], "Kubelet never posted node status.");
    harness.bore("mute", UNREACHABLE, &[*declared]);
    assert_eq!(harness.server().get(nodes(), "", goes), None);
}

//! Tests one silent node second by second (NL-12, NL-16 to NL-19, NL-46, NL-49).

use super::assertions::{GRACE, NOT_READY, UNREACHABLE, beat, both, flagged};
use crate::harness::{LATE, SandboxHarness, after, no_execute, sleep};
use http::Method;
use serde_json::json;
use taintward_controller::settings::{ControllerSettings, WriteMode};
use taintward_core::node_lifecycle::NodeLifecycleFlags;
use taintward_core::taint::keys;
use testkit::toleration;

/// NL-46 to the second: conditions, taints and pods of a node that dies; no other node changes.
#[tokio::test(start_paused = true)]
async fn a_node_dies() {
    let harness = SandboxHarness::lively(3, 1);
    let usual = harness.create_pod("usual", "n1", &[]);
    let short = harness.create_pod("short", "n1", &[toleration(keys::UNREACHABLE, Some(10))]);
    let forever = harness.create_pod("forever", "n1", &[toleration(keys::UNREACHABLE, None)]);
    let elsewhere = harness.create_pod("elsewhere", "n2", &[]);
    let _controller = harness.watched(both()).await;
    assert!(harness.is_ready(&usual));
    harness.silence(&["n1"]);
    sleep(500.0).await;

    let dead = after(harness.last_word("n1"), GRACE);
    for kind in ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"] {
        let message = harness.message("n1", kind);
        let [(at, status)] = &message[..] else { panic!("{kind}: {message:?}") };
        assert!(status == "Unknown" && *at >= dead && *at <= after(dead, LATE), "{kind} at {at}, not {dead}");
    }
    harness.bore("n1", "unreachable:NoSchedule", &[dead]);
    harness.bore("n1", UNREACHABLE, &[dead]);
    harness.never("n1", NOT_READY);
    harness.only(&["n1"]);
    harness.went(&short, after(dead, 10.0), LATE);
    harness.went(&usual, after(dead, 300.0), LATE);
    harness.stays(&forever);
    harness.stays(&elsewhere);
    assert!(!harness.is_ready(&forever) && harness.is_ready(&elsewhere), "NL-17");
    let added = &harness.get_node("n1")["spec"]["taints"][1]["timeAdded"];
    assert_eq!(added.as_str().unwrap(), format!("{:.0}", harness.turns_of("n1", UNREACHABLE)[0]));
}

/// NL-12, NL-17, NL-19: the messages about it, in upstream's words; each once, and none about other nodes.
#[tokio::test(start_paused = true)]
async fn events_and_conditions_of_it() {
    let harness = SandboxHarness::lively(2, 1);
    let pod = harness.create_pod("p", "n1", &[]);
    let _controller = harness.watched(both()).await;
    harness.silence(&["n1"]);
    sleep(200.0).await;
    harness.delete_node("n1");
    sleep(5.0).await;
    let reported = harness.reported_about("n1");
    let reported: Vec<[&str; 3]> =
        reported.iter().map(|(reason, note, kind)| [&reason[..], note, kind]).collect();
    assert_eq!(
        reported,
        [
            ["RegisteredNode", "Node n1 event: Registered Node n1 in Controller", "Normal"],
            ["NodeNotReady", "Node n1 status is now: NodeNotReady", "Normal"],
            ["RemovingNode", "Node n1 event: Removing Node n1 from Controller", "Normal"],
        ]
    );
    let reported = harness.reported_about("p");
    let reported: Vec<[&str; 3]> =
        reported.iter().map(|(reason, note, kind)| [&reason[..], note, kind]).collect();
    assert_eq!(reported[0], ["NodeNotReady", "Node is not ready", "Warning"]);
    assert!(reported[1..].iter().all(|[reason, ..]| *reason == "TaintManagerEviction"), "{reported:?}");
    assert_eq!(harness.reported_about("n2").len(), 1, "n2 was registered");
    harness.stays(&pod);
    let life = harness.life_of("n1");
    let declared = life.iter().find(|one| one.object["status"]["conditions"].to_string().contains("Unknown"));
    let conditions = declared.unwrap().object["status"]["conditions"].clone();
    let ready = conditions.as_array().unwrap().iter().find(|one| one["type"] == "Ready").unwrap();
    assert_eq!(ready["reason"], "NodeStatusUnknown");
    assert_eq!(ready["message"], "Kubelet stopped posting node status.");
    assert_ne!(ready["lastHeartbeatTime"], ready["lastTransitionTime"], "the heartbeat is the kubelet's");
}

/// NL-11: a heartbeat a moment before the end of the grace period starts a full new one.
#[tokio::test(start_paused = true)]
async fn a_heartbeat_in_time() {
    let harness = SandboxHarness::still(2, 1);
    let _other = harness.heart("n2");
    let heart = harness.heart("n1");
    let _controller = harness.watched(both()).await;
    drop(heart);
    for _ in 0..10 {
        beat(harness.server(), "n1");
        sleep(GRACE - 0.1).await;
    }
    beat(harness.server(), "n1");
    let last = harness.now();
    sleep(GRACE).await;
    harness.never("n1", "unreachable:NoSchedule");
    sleep(100.0).await;
    harness.bore("n1", UNREACHABLE, &[after(last, GRACE)]);
    assert_eq!(harness.message("n1", "Ready").len(), 1);
}

/// NL-10, NL-15, NL-49: the node comes back while its pods count down. All taints are removed immediately, in one
/// write; its pods stay, and its kubelet sets them ready again.
#[tokio::test(start_paused = true)]
async fn back_in_time() {
    let harness = SandboxHarness::lively(3, 1);
    let usual = harness.create_pod("usual", "n1", &[]);
    let _controller = harness.watched(both()).await;
    harness.silence(&["n1"]);
    sleep(340.0).await;
    let dead = after(harness.last_word("n1"), GRACE);
    harness.bore("n1", UNREACHABLE, &[dead]);
    assert!(!harness.is_ready(&usual));
    let (back, writes) = (harness.now(), harness.writes_to("n1"));
    harness.recover(&["n1"]);
    sleep(600.0).await;
    harness.bore("n1", UNREACHABLE, &[dead, back]);
    harness.bore("n1", "unreachable:NoSchedule", &[dead, back]);
    assert_eq!(
        harness.turns_of("n1", UNREACHABLE),
        harness.turns_of("n1", "unreachable:NoSchedule"),
        "one write"
    );
    assert_eq!(harness.writes_to("n1"), writes + 1);
    harness.stays(&usual);
    assert!(harness.is_ready(&usual));
}

/// NL-49: with separate removal, the controller writes twice, and removes the NoSchedule taint first.
#[tokio::test(start_paused = true)]
async fn back_in_two_writes() {
    let harness = SandboxHarness::lively(3, 1);
    let apart = NodeLifecycleFlags { lift_together: false, ..NodeLifecycleFlags::default() };
    let _controller = harness.watched(flagged(apart)).await;
    harness.silence(&["n1"]);
    sleep(100.0).await;
    let (back, writes) = (harness.now(), harness.writes_to("n1"));
    harness.recover(&["n1"]);
    sleep(60.0).await;
    let [no_schedule, no_execute] =
        ["unreachable:NoSchedule", UNREACHABLE].map(|taint| harness.turns_of("n1", taint)[1]);
    assert!(back <= no_schedule && no_schedule <= no_execute && no_execute <= after(back, 5.0 + LATE));
    assert_eq!(harness.writes_to("n1"), writes + 2);
}

/// NL-16: the node reports not ready itself, without silence. When it falls silent after that, one taint replaces the
/// other in one write, and the pods' countdown continues from its own start.
#[tokio::test(start_paused = true)]
async fn it_says_so_itself_and_then_nothing() {
    let harness = SandboxHarness::still(3, 1);
    let _others = ["n2", "n3"].map(|node| harness.heart(node));
    let heart = harness.heart("n1");
    let _controller = harness.watched(both()).await;
    harness.posts("n1", "Ready", "False");
    let message = harness.now();
    sleep(100.0).await;
    harness.bore("n1", NOT_READY, &[message]);
    harness.bore("n1", "not-ready:NoSchedule", &[after(message, -WATCHED_AND), message]);
    harness.never("n1", UNREACHABLE);
    drop(heart);
    sleep(100.0).await;
    let dead = after(harness.last_word("n1"), GRACE);
    harness.bore("n1", NOT_READY, &[message, dead]);
    harness.bore("n1", UNREACHABLE, &[dead]);
    assert_eq!(
        harness.turns_of("n1", NOT_READY)[1],
        harness.turns_of("n1", UNREACHABLE)[0],
        "NL-45: one write"
    );
    let _again = harness.heart("n1");
    harness.posts("n1", "Ready", "False");
    let swapped = harness.now();
    sleep(20.0).await;
    harness.bore("n1", UNREACHABLE, &[dead, swapped]);
    harness.bore("n1", NOT_READY, &[message, dead, swapped]);
    harness.posts("n1", "Ready", "True");
    let well = harness.now();
    sleep(20.0).await;
    harness.bore("n1", NOT_READY, &[message, dead, swapped, well]);
    harness.only(&["n1"]);
    assert!(
        harness.get_node("n1")["spec"]["taints"].is_null(),
        "{}",
        harness.get_node("n1")["spec"]["taints"]
    );
}

/// The nodes of the still harness are ready from the beginning; the taint of new nodes is removed at the controller's
/// first check.
const WATCHED_AND: f64 = 61.0;

/// NL-5, NL-6, NL-9: pressure, the network and cordons, which evict no pod.
#[tokio::test(start_paused = true)]
async fn pressure_and_cordons() {
    let harness = SandboxHarness::still(2, 1);
    let _hearts = ["n1", "n2"].map(|node| harness.heart(node));
    let _controller = harness.watched(both()).await;
    let mut moments = Vec::new();
    let kinds = [
        ("MemoryPressure", "memory-pressure"),
        ("DiskPressure", "disk-pressure"),
        ("PIDPressure", "pid-pressure"),
        ("NetworkUnavailable", "network-unavailable"),
    ];
    for (kind, _) in kinds {
        let on = harness.now();
        harness.posts("n1", kind, "True");
        sleep(30.0).await;
        let off = harness.now();
        harness.posts("n1", kind, if kind == "PIDPressure" { "Unknown" } else { "False" });
        sleep(30.0).await;
        moments.push([on, off]);
    }
    for ((_, taint), turns) in kinds.iter().zip(&moments) {
        harness.bore("n1", &format!("{taint}:NoSchedule"), turns);
    }
    let cordoned = harness.now();
    harness.change_node("n1", |node| node["spec"]["unschedulable"] = json!(true));
    sleep(30.0).await;
    let uncordoned = harness.now();
    harness.change_node("n1", |node| node["spec"]["unschedulable"] = json!(false));
    sleep(30.0).await;
    harness.bore("n1", "unschedulable:NoSchedule", &[cordoned, uncordoned]);
    harness.only(&[]);
}

/// NL-8: the deprecated labels follow the current ones.
#[tokio::test(start_paused = true)]
async fn labels_of_old() {
    let harness = SandboxHarness::still(2, 1);
    let _hearts = ["n1", "n2"].map(|node| harness.heart(node));
    let _controller = harness.controller(both()).await;
    let labels = |node: &str| harness.get_node(node)["metadata"]["labels"].clone();
    assert_eq!(labels("n1")["beta.kubernetes.io/os"], "linux");
    assert_eq!(labels("n1")["beta.kubernetes.io/arch"], "amd64");
    harness.change_node("n1", |node| {
        node["metadata"]["labels"]["beta.kubernetes.io/arch"] = json!("wrong");
        node["metadata"]["labels"]["kubernetes.io/os"] = json!("windows");
    });
    sleep(1.0).await;
    assert_eq!(labels("n1")["beta.kubernetes.io/os"], "windows");
    assert_eq!(labels("n1")["beta.kubernetes.io/arch"], "amd64");
    assert_eq!(harness.writes_to("n2"), 2, "its labels, and the taint of new nodes");
}

/// S14: a controller in observe mode writes nothing, whatever happens to nodes.
#[tokio::test(start_paused = true)]
async fn observing_writes_nothing() {
    let harness = SandboxHarness::lively(3, 1);
    let pod = harness.create_pod("p", "n1", &[]);
    let _controller = harness.watched(ControllerSettings { mode: WriteMode::Observe, ..both() }).await;
    harness.silence(&["n1"]);
    harness.change_node("n2", |node| node["spec"]["unschedulable"] = json!(true));
    sleep(1_000.0).await;
    assert!(!harness.sent().is_empty(), "it reads");
    assert!(harness.writes().is_empty(), "{:?}", harness.writes());
    harness.only(&[]);
    harness.stays(&pod);
}

/// A cluster without events causes no writes: an hour of renewals, and only reads.
#[tokio::test(start_paused = true)]
async fn an_hour_in_peace_writes_nothing() {
    let harness = SandboxHarness::lively(5, 2);
    let _controller = harness.watched(both()).await;
    harness.set_taints("n1", &[no_execute("mine")]);
    sleep(10.0).await;
    let before = harness.writes().len();
    sleep(3_600.0).await;
    let after = harness.writes();
    assert!(after.len() == before, "{:?}", &after[before..]);
    assert!(after.iter().all(|sent| sent.method != Method::DELETE));
}

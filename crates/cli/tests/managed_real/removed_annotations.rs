//! Tests what happens to held and guarded pods that Taintward can no longer restore: their annotation was removed while
//! no controller ran, or the installation is about to be removed.

use crate::harness::{HELD, ManagedHarness, NOT_READY, UNREACHABLE, is_held, name, seconds};
use serde_json::json;
use taintward_envtest::api::PatchType;
use taintward_envtest::binaries;
use taintward_envtest::fixtures::{create_node, pod};

const CONTROLLERS: &str = "toleration-hold-controller,toleration-guard-controller";
const GUARD: &str = "taintward.io/guard";
const OWN: i64 = 20;

async fn remove_annotation(harness: &ManagedHarness, pod: &str, annotation: &str) {
    let change = json!({"metadata": {"annotations": {annotation: null}}}).to_string();
    harness
        .admin
        .patch(&format!("/api/v1/namespaces/default/pods/{pod}"), PatchType::Merge, &change)
        .await
        .unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn pods_that_cannot_be_restored_are_reported_and_the_controller_is_not_removed() {
    let Some(tools) = binaries::for_test("pods_that_cannot_be_restored_are_reported") else { return };
    let mut harness = ManagedHarness::set(&tools, CONTROLLERS, &["--hold-limit=off"]).await;
    for node in ["a", "b"] {
        create_node(&harness.admin, node, &[]).await.unwrap();
        for at in 0..2 {
            let fixture = pod(&format!("{node}-{at}"), node).bearing(NOT_READY, Some(OWN));
            fixture.bearing(UNREACHABLE, Some(OWN)).create(&harness.admin).await.unwrap();
        }
    }
    // Without seconds by its author: nothing to tell.
    let forever = pod("forever", "b").bearing(NOT_READY, None).bearing(UNREACHABLE, None);
    forever.create(&harness.admin).await.unwrap();
    let (code, message) = harness.command(&["guard", "on", "default", "--ceiling", "1h"]).await;
    assert_eq!(code, Some(0), "{message}");
    let (code, message) = harness.command(&["hold", "a", "--for", "1h"]).await;
    assert!(code == Some(0) && message.contains("1 node: 2 of 2 pods held\n"), "{code:?}: {message}");

    // Neither an uninstallation nor a list without the controllers removes what these pods need.
    let removal = ["install", "--uninstall", "--apply", "--keep-pools"];
    let others = ["install", "--apply", "--image=registry.example.com/taintward:1", "--parts=controller"];
    let others = [&others[..], &["--controllers=toleration-guard-controller"]].concat();
    for (words, pods) in [(&removal[..], "4 pods"), (&others[..], "2 pods")] {
        let (code, message) = harness.command(words).await;
        assert_eq!(code, Some(1), "{message}");
        let reported = format!("has changed the seconds of {pods} (default/a-0, default/a-1");
        assert!(message.contains("nothing was changed: ") && message.contains(&reported), "{message}");
    }
    let (code, message) =
        harness.command(&[&removal[..], &["--keep-seconds", "--dry-run=client"]].concat()).await;
    assert!(code == Some(0) && message.contains("deployment.apps/taintward deleted (dry run)"), "{message}");

    // One annotation of each kind is removed while no controller runs.
    harness.kill_both();
    remove_annotation(&harness, "a-0", HELD).await;
    remove_annotation(&harness, "b-0", GUARD).await;
    harness.start_both().await;
    harness
        .until("reports of both pods", async |harness| {
            let message = harness.ours();
            let reported = message.lines().filter(|line| line.contains("pod kept without its own seconds"));
            reported.filter(|line| line.contains("default/a-0") || line.contains("default/b-0")).count() == 2
        })
        .await;
    let message = harness.ours();
    assert_eq!(message.matches("pod kept without its own seconds").count(), 2, "{message}");
    harness
        .until("the events", async |harness| {
            let events = harness.admin.get("/apis/events.k8s.io/v1/namespaces/default/events").await.unwrap();
            let events = events["items"].as_array().unwrap();
            let reported = events.iter().filter(|event| event["reason"] == "TolerationRecordMissing");
            reported.filter(|event| event["type"] == "Warning").count() == 2
        })
        .await;

    // The commands do not say that everything is as it was.
    let (code, message) = harness.command(&["guard", "status"]).await;
    assert!(
        code == Some(0) && message.contains("kept without their own seconds: default/a-0, default/b-0."),
        "{message}"
    );
    let (code, message) = harness.command(&["release", "--all"]).await;
    assert_eq!(code, Some(0), "{message}");
    let (code, message) = harness.command(&["guard", "off", "--all"]).await;
    assert!(
        code == Some(0) && message.contains("kept without their own seconds: default/a-0, default/b-0."),
        "{message}"
    );
    assert!(!message.contains("no pod of these namespaces has a ceiling"), "{message}");
    let pods = harness.pods().await;
    assert!(!pods.iter().any(is_held));
    let of = |wanted: &str| seconds(pods.iter().find(|pod| name(pod) == wanted).unwrap());
    assert_eq!(["a-0", "a-1", "b-0", "b-1"].map(of), [None, Some(OWN), Some(3_600), Some(OWN)]);
    // Nothing is held or guarded any more, so the installation may go.
    let (code, message) = harness.command(&[&removal[..], &["--dry-run=client"]].concat()).await;
    assert_eq!(code, Some(0), "{message}");
}

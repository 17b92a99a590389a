//! Tests from where a watch continues: after bookmarks, opaque versions, and responses that say nothing about positions.

use super::behaviour::words;
use super::fake::{PodWatchHarness, WatchReply, without_lists_again};
use super::objects::{BOTH, WireFormat, bookmark, event, line, pod_json, rejection, stream, streamed};
use serde_json::json;
use std::time::Duration;
use taintward_kube::watch::WatchSettings;

const SECOND: Duration = Duration::from_secs(1);

/// An API server may use versions that are not numbers.
fn opaque_bookmark(version: &str, ends_initial: bool) -> Vec<u8> {
    let mut metadata = json!({"resourceVersion": version});
    if ends_initial {
        metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
    }
    line("BOOKMARK", &json!({"kind": "Pod", "apiVersion": "v1", "metadata": metadata}))
}

fn opaque_pod(number: u64, version: &str) -> serde_json::Value {
    let mut pod = pod_json(number, 1);
    pod["metadata"]["resourceVersion"] = version.into();
    pod
}

#[tokio::test(start_paused = true)]
async fn a_watch_continues_from_an_opaque_version() {
    let mut rig = PodWatchHarness::start(|_, nth| match nth {
        0 => stream(WireFormat::Json)
            .bytes(line("ADDED", &opaque_pod(0, "one")))
            .bytes(opaque_bookmark("two", true))
            .pause(SECOND),
        1 => stream(WireFormat::Json).bytes(opaque_bookmark("three", false)).pause(SECOND),
        _ => stream(WireFormat::Json).hang(),
    });
    let received = words(&rig.run_for(60 * SECOND).await);
    assert_eq!(received, ["begin", "+p0 listed", "end"]);
    let requested = rig.requested();
    let from: Vec<_> = requested.iter().map(|one| one.parameter("resourceVersion")).collect();
    assert_eq!(from, [None, Some("two"), Some("three")]);
}

/// A position within a list is no position to continue from: the rest of the list would be lost.
#[tokio::test(start_paused = true)]
async fn a_bookmark_within_a_streamed_list_is_no_position() {
    for wire in BOTH {
        for opaque in [false, true].into_iter().filter(|opaque| !opaque || wire == WireFormat::Json) {
            let mut rig = PodWatchHarness::start(move |_, nth| match nth {
                0 => {
                    let inner =
                        if opaque { opaque_bookmark("five", false) } else { bookmark(wire, 5, false) };
                    stream(wire).bytes(event(wire, "ADDED", 0, 1)).bytes(inner).pause(SECOND).reset()
                }
                _ => streamed(wire, 2, 10).hang(),
            });
            let received = words(&rig.run_for(60 * SECOND).await);
            assert!(
                received.ends_with(&["+p0 listed", "+p1 listed", "end"].map(str::to_owned)),
                "{received:?}"
            );
            assert!(rig.requested()[1].is_watch_list(), "{wire:?} {opaque}");
        }
    }
}

/// The annotation means nothing in a watch that is no list.
#[tokio::test(start_paused = true)]
async fn a_bookmark_that_ends_no_list_is_a_position() {
    for wire in BOTH {
        let mut rig = PodWatchHarness::start(move |_, nth| match nth {
            0 => streamed(wire, 1, 10).bytes(bookmark(wire, 20, true)).pause(SECOND),
            _ => stream(wire).hang(),
        });
        assert_eq!(words(&rig.run_for(60 * SECOND).await), ["begin", "+p0 listed", "end"]);
        assert_eq!(rig.requested()[1].parameter("resourceVersion"), Some("20"));
        assert_eq!((rig.health().counters.syncs, rig.health().counters.lists), (1, 1));
    }
}

/// A gateway's timeout is not the API server's word that the position is in its future.
#[tokio::test(start_paused = true)]
async fn another_504_does_not_lead_to_a_list() {
    let mut rig = PodWatchHarness::start(|_, nth| match nth {
        0 => streamed(WireFormat::Json, 1, 10).pause(SECOND),
        1 => rejection(WireFormat::Json, 504, "Timeout", None),
        2 => WatchReply::new(504, "text/html").bytes("Gateway Timeout"),
        _ => stream(WireFormat::Json).hang(),
    });
    assert_eq!(words(&rig.run_for(60 * SECOND).await), ["begin", "+p0 listed", "end"]);
    let requested = rig.requested();
    assert_eq!(requested.len(), 4);
    assert!(requested[1..].iter().all(|one| one.parameter("resourceVersion") == Some("10")));
    assert_eq!(rig.health().counters.relists_410, 0);
}

/// Each item restarts the timeout: a slow list is not a silent one.
#[tokio::test(start_paused = true)]
async fn a_page_whose_items_trickle_is_received_to_its_end() {
    let settings = WatchSettings { watch_list: false, seed: 1, ..without_lists_again() };
    let mut rig = PodWatchHarness::with(settings, 16, |requested, _| {
        if requested.is_watch() {
            return stream(WireFormat::Json).hang();
        }
        let mut reply = WatchReply::new(200, "application/json");
        let body = super::objects::page_body(WireFormat::Json, 0..20, 5_000, "");
        let text = String::from_utf8(body).unwrap();
        for piece in text.split_inclusive("}},") {
            reply = reply.bytes(piece).pause(40 * SECOND);
        }
        reply
    });
    let received = words(&rig.run_for(850 * SECOND).await);
    assert_eq!((received.len(), received.last().unwrap().as_str()), (22, "end"));
    assert_eq!((rig.requested().len(), rig.health().counters.stalls), (2, 0));
}

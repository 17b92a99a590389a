//! Tests watches after a list: continuation, bookmarks, undecodable objects.

use super::behaviour::words;
use super::fake::PodWatchHarness;
use super::objects::{BOTH, WireFormat, bookmark, envelope, event, frame, line, stream, streamed, uid};
use k8s_pb::api::core::v1::{Pod, PodSpec, Toleration};
use k8s_pb::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use prost::Message;
use serde_json::json;
use std::time::Duration;
use taintward_core::object_event::ObjectEvent;
use taintward_kube::watch::StreamPhase;

#[tokio::test(start_paused = true)]
async fn a_watch_that_ends_continues_immediately_where_it_was() {
    for wire in BOTH {
        let mut rig = PodWatchHarness::start(move |requested, nth| match nth {
            0 => streamed(wire, 1, 10).bytes(event(wire, "MODIFIED", 0, 12)).pause(Duration::from_secs(60)),
            1 => stream(wire).pause(Duration::from_secs(30)).bytes(bookmark(wire, 20, false)),
            _ => {
                assert!(!requested.is_watch_list());
                stream(wire).hang()
            }
        });
        let received = rig.run_for(Duration::from_secs(95)).await;
        assert_eq!(words(&received), ["begin", "+p0 listed", "end", "+p0"]);
        let requested = rig.requested();
        assert_eq!(requested[1].parameter("resourceVersion"), Some("12"));
        let spread = Duration::from_millis(200);
        let after = |seconds| Duration::from_secs(seconds)..=Duration::from_secs(seconds) + spread;
        assert!(after(60).contains(&requested[1].at.duration_since(requested[0].at)));
        assert_eq!(requested[2].parameter("resourceVersion"), Some("20"), "a bookmark moves the position");
        assert!(after(30).contains(&requested[2].at.duration_since(requested[1].at)));
        assert_eq!(rig.health().counters.failures, 0);
        assert_eq!(requested[2].parameter("sendInitialEvents"), None);
        assert_eq!(requested[2].parameter("allowWatchBookmarks"), Some("true"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_immediately_causes_no_hot_loop() {
    let mut rig = PodWatchHarness::start(|requested, _| match requested.is_watch_list() {
        true => streamed(WireFormat::Json, 1, 10),
        false => stream(WireFormat::Json),
    });
    rig.run_for(Duration::from_secs(2 * 3600)).await;
    let requested = rig.requested();
    assert!((200..320).contains(&requested.len()), "one every 30 s or so: {}", requested.len());
    assert!(
        requested[1..].iter().all(|requested| requested.parameter("resourceVersion") == Some("10")),
        "no other list"
    );
}

#[tokio::test(start_paused = true)]
async fn a_server_that_closes_after_a_second_causes_no_hot_loop() {
    let mut rig = PodWatchHarness::start(|requested, _| match requested.is_watch_list() {
        true => streamed(WireFormat::Json, 1, 10),
        false => stream(WireFormat::Json).pause(Duration::from_millis(1100)),
    });
    rig.run_for(Duration::from_secs(3600)).await;
    assert!(rig.requested().len() < 170, "{}", rig.requested().len());
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_not_ended_in_time_is_aborted_and_continued() {
    for wire in BOTH {
        let mut rig = PodWatchHarness::start(move |_, nth| {
            let mut reply = if nth == 0 { streamed(wire, 0, 10) } else { stream(wire) };
            for beat in 0..5 {
                reply = reply.pause(Duration::from_secs(60)).bytes(bookmark(wire, 11 + beat, false));
            }
            reply.hang()
        });
        rig.run_for(Duration::from_secs(599)).await;
        assert_eq!(rig.requested().len(), 1, "five minutes of heartbeats, and the maximum time of a watch");
        assert!(rig.health().is_in_step(Duration::ZERO));
        rig.run_for(Duration::from_secs(2)).await;
        assert_eq!(rig.requested().len(), 2);
        assert_eq!(rig.requested()[1].parameter("resourceVersion"), Some("15"));
        assert_eq!(rig.health().counters.stalls, 1);
    }
}

#[tokio::test(start_paused = true)]
async fn bytes_without_a_complete_event_are_not_activity() {
    let mut rig = PodWatchHarness::start(|_, nth| {
        let mut reply = if nth == 0 { streamed(WireFormat::Json, 0, 10) } else { stream(WireFormat::Json) };
        for _ in 0..100 {
            reply = reply.pause(Duration::from_secs(50)).bytes(" ");
        }
        reply
    });
    rig.run_for(Duration::from_secs(305)).await;
    assert_eq!((rig.requested().len(), rig.health().counters.stalls), (2, 1));
}

fn poison(wire: WireFormat, kind: &str, number: u64, version: u64) -> Vec<u8> {
    match wire {
        WireFormat::Protobuf => {
            let toleration = Toleration { key: Some("key!".to_owned()), ..Toleration::default() };
            let pod = Pod {
                metadata: Some(ObjectMeta {
                    name: Some(format!("p{number}")),
                    namespace: Some("shop".to_owned()),
                    uid: Some(uid(number)),
                    resource_version: Some(version.to_string()),
                    ..ObjectMeta::default()
                }),
                spec: Some(PodSpec {
                    node_name: Some("n1".to_owned()),
                    tolerations: vec![toleration],
                    ..PodSpec::default()
                }),
                status: None,
            };
            let mut bytes = pod.encode_to_vec();
            let at = bytes.windows(4).position(|window| window == b"key!").unwrap();
            bytes[at] = 0xff;
            frame(kind, envelope("Pod", bytes))
        }
        WireFormat::Json => line(
            kind,
            &json!({"kind": "Pod", "metadata": {"name": format!("p{number}"), "namespace": "shop",
                    "uid": uid(number), "resourceVersion": version.to_string()},
                    "spec": {"nodeName": "n1", "tolerations": [{"tolerationSeconds": "soon"}]}}),
        ),
    }
}

#[tokio::test(start_paused = true)]
async fn an_undecodable_object_is_named_and_the_others_continue() {
    for wire in BOTH {
        let mut rig = PodWatchHarness::start(move |_, _| {
            let list = [event(wire, "ADDED", 0, 1), poison(wire, "ADDED", 1, 2), event(wire, "ADDED", 2, 3)];
            let changes = [poison(wire, "MODIFIED", 1, 11), event(wire, "MODIFIED", 2, 12)];
            let end = [poison(wire, "DELETED", 1, 13)];
            stream(wire)
                .bytes(list.concat())
                .bytes(bookmark(wire, 10, true))
                .bytes(changes.concat())
                .bytes(end.concat())
                .hang()
        });
        let received = rig.until_quiet().await;
        let expected = ["begin", "+p0 listed", "?p1", "+p2 listed", "end", "?p1", "+p2", "-p1"];
        assert_eq!(words(&received), expected, "{wire:?}");
        let ObjectEvent::Undecodable(object) = &received[2] else { panic!("{received:?}") };
        assert_eq!(object.uid.as_ref().unwrap().to_string(), uid(1));
        assert_eq!(object.node.as_ref().unwrap().as_str(), "n1");
        let health = rig.health();
        assert_eq!((health.counters.undecodable, health.phase), (2, StreamPhase::Watching));
        assert_eq!(rig.requested().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn the_position_moves_past_an_undecodable_object() {
    let mut rig = PodWatchHarness::start(|_, nth| match nth {
        0 => streamed(WireFormat::Json, 0, 10).bytes(poison(WireFormat::Json, "ADDED", 1, 17)),
        _ => stream(WireFormat::Json).hang(),
    });
    rig.run_for(Duration::from_secs(60)).await;
    assert_eq!(rig.requested()[1].parameter("resourceVersion"), Some("17"));
}

#[tokio::test(start_paused = true)]
async fn a_pod_without_a_node_is_gone() {
    let mut rig = PodWatchHarness::start(|_, _| {
        let object = json!({"metadata": {"name": "p9", "namespace": "shop", "uid": uid(9)}, "spec": {}});
        streamed(WireFormat::Json, 0, 10).bytes(line("ADDED", &object)).hang()
    });
    assert_eq!(words(&rig.until_quiet().await), ["begin", "end", "-p9"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_in_a_response_about_pods_is_undecodable() {
    let mut rig = PodWatchHarness::start(|_, _| {
        let object = envelope("Node", Pod::default().encode_to_vec());
        streamed(WireFormat::Protobuf, 0, 10).bytes(frame("ADDED", object)).hang()
    });
    assert_eq!(words(&rig.until_quiet().await), ["begin", "end"], "no object is named");
    assert_eq!(rig.health().counters.undecodable, 1);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_consumer_ends_the_watcher_even_in_silence() {
    let mut rig = PodWatchHarness::start(|_, _| streamed(WireFormat::Json, 0, 10).hang());
    rig.until_quiet().await;
    rig.received.close();
    tokio::time::timeout(Duration::from_secs(1), &mut rig.task).await.unwrap().unwrap();
}

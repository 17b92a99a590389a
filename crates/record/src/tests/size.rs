//! Measures how many bytes of a record an event takes.

use super::{at, recorder, replayed};
use crate::SegmentLimits;
use crate::testkit::{TappedLoop, random_pod};
use taintward_core::eviction::EvictionInput;
use taintward_core::fact::PodFact;
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{node, pod};
use taintward_core::time::{Mono, Now, Span};

/// The bytes of a record of these pods' events, for each event. A thousand events come in a second, eight in a batch.
fn bytes_per_event(pods: impl Iterator<Item = PodFact>) -> f64 {
    let recorder = recorder();
    let mut tapped = TappedLoop::new(recorder.clone(), SegmentLimits::default());
    tapped.turn(at(0));
    tapped.list([node("n1")], [pod("a").at_version(5), pod("b").at_version(6)], at(0));
    let before = recorder.to_bytes().len();
    let mut events = 0;
    for fact in pods {
        let now = Mono::from_micros(events * 1_000 + events * 7919 % 613);
        let now = Now::new(now, at(0).wall_of(now), Some(Span::from_millis(1_004)));
        tapped.handle(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }), now);
        events += 1;
        if events % 8 == 0 {
            tapped.turn(now);
        }
    }
    tapped.end(at(1_000));
    replayed(&recorder.to_bytes()).unwrap();
    (recorder.to_bytes().len() - before) as f64 / events as f64
}

#[test]
fn an_event_takes_few_bytes() {
    let of_new_pods = bytes_per_event((0..20_000).map(random_pod));
    // Most events are about pods that are known: a kubelet reports their status.
    let of_known_pods = bytes_per_event((0..20_000).map(|event| {
        let version = 2_000_000 + event * 3;
        random_pod(event * 7919 % 1_000).at_version(version)
    }));
    println!("bytes for each event: {of_new_pods:.1} of new pods, {of_known_pods:.1} of known pods");
    assert!(of_new_pods <= 40.0 && of_known_pods <= 40.0);
}

//! Redacts records, and replays what comes out.

use super::{PROGRAM, at, recorder, replayed};
use crate::testkit::TappedLoop;
use crate::{FrameWriter, RecordReader, RecordedNames, SegmentLimits};
use taintward_core::fact::{NodeFact, PodFact, PodTemplateFact};
use taintward_core::identity::{PodId, PodName, Uid};
use taintward_core::testkit::{node, pod, taint, toleration};
use taintward_core::time::Span;

/// Each of them, and the record, once.
const PRIVATE: [&str; 7] =
    ["n-secret", "ns-secret", "pod-secret", "key-secret", "label-secret", "blue-secret", "n-a"];

fn redacted(bytes: &[u8]) -> Vec<u8> {
    let frames = || {
        let mut reader = RecordReader::open(bytes).unwrap();
        std::iter::from_fn(move || reader.next_frame().unwrap()).collect::<Vec<_>>()
    };
    let names = RecordedNames::default();
    frames().iter().for_each(|frame| names.read(frame).unwrap());
    let redaction = names.redaction();
    let mut writer = FrameWriter::new(Vec::new(), PROGRAM).unwrap();
    frames().iter().for_each(|frame| writer.write(&redaction.redact(frame).unwrap()).unwrap());
    writer.finish().unwrap()
}

/// All frames, not compressed.
fn content(bytes: &[u8]) -> Vec<u8> {
    let mut reader = RecordReader::open(bytes).unwrap();
    std::iter::from_fn(|| reader.next_frame().unwrap()).flat_map(|frame| frame.bytes).collect()
}

fn contains(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

fn secret_pod(number: u32) -> PodFact {
    let name = PodName::new("ns-secret", &format!("pod-secret-{number}"));
    let uid = Uid::new(&format!("00000000-0000-4000-8000-{number:012x}"));
    let template = PodTemplateFact {
        labels: [("label-secret".into(), "blue-secret".into())].into(),
        ..PodTemplateFact::default()
    };
    let on = if number.is_multiple_of(2) { "n-secret" } else { "n-a" };
    let tolerations = [toleration("key-secret", Some(i64::from(number)))];
    let fact = pod("p").on(on).at_version(u64::from(number) + 10).tolerates(tolerations);
    PodFact { id: PodId::new(uid, name), template: Some(Box::new(template)), ..fact }
}

fn nodes(keys: &[&str]) -> [NodeFact; 2] {
    ["n-secret", "n-a"].map(|name| node(name).tainted(keys.iter().map(|key| taint(key))))
}

#[test]
fn a_redacted_record_has_no_private_name_and_decides_the_same() {
    let recorder = recorder();
    // Segments of ten seconds, so that states with names are redacted too.
    let limits = SegmentLimits { age: Span::from_secs(10), ..SegmentLimits::default() };
    let mut tapped = TappedLoop::new(recorder.clone(), limits);
    tapped.turn(at(0));
    tapped.list(nodes(&[]), (0..40).map(secret_pod), at(1));
    for second in 2..90 {
        if second == 10 {
            let tainted = nodes(&["key-secret", "node.kubernetes.io/not-ready"]);
            tainted.into_iter().for_each(|node| tapped.apply_node(node, at(second)));
        }
        tapped.turn(at(second));
    }
    tapped.end(at(90));
    let bytes = recorder.to_bytes();
    let redacted = redacted(&bytes);
    let (before, after) = (replayed(&bytes).unwrap(), replayed(&redacted).unwrap());
    assert_eq!(before, after);
    assert!(before.0[0].effects > 80 && before.0[0].segments > 5, "{before:?}");
    let (before, after) = (content(&bytes), content(&redacted));
    for private in PRIVATE {
        assert!(contains(&before, private) && !contains(&after, private), "{private}");
    }
    assert!(contains(&after, "node.kubernetes.io/not-ready"));
}

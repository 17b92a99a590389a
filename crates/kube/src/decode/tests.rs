//! Tests the splitters: however the network cuts a body, the same pieces come out, and memory stays bounded.

use super::Encoding;
use super::frames::FrameDecoder;
use super::list::{ListBody, ListPiece};
use crate::error_text::sanitize;
use proptest::collection::vec;
use proptest::prelude::*;

const LIMIT: usize = 1 << 16;

/// Cuts bytes at proptest's places.
fn chunks<'a>(bytes: &'a [u8], cuts: &[prop::sample::Index]) -> Vec<&'a [u8]> {
    let mut places: Vec<_> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
    places.extend([0, bytes.len()]);
    places.sort_unstable();
    places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

fn frames(encoding: Encoding, chunks: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut frames = FrameDecoder::new(encoding, LIMIT);
    let mut all = Vec::new();
    for chunk in chunks {
        frames.push(chunk);
        while let Some(frame) = frames.next().unwrap() {
            all.push(frame.to_vec());
        }
    }
    all
}

/// Items, and (version, continue), and whether the body was complete.
fn pieces(encoding: Encoding, chunks: &[&[u8]]) -> (Vec<Vec<u8>>, (String, String), bool) {
    let mut body = ListBody::new(encoding, "Pod", LIMIT);
    let (mut items, mut head) = (Vec::new(), (String::new(), String::new()));
    for chunk in chunks {
        body.push(chunk);
        while let Some(piece) = body.next().unwrap() {
            match piece {
                ListPiece::Item(item) => items.push(item.to_vec()),
                ListPiece::Head(found) => head = (found.version, found.onward),
            }
        }
    }
    (items, head, body.finish().is_ok())
}

fn protobuf_frames(events: &[Vec<u8>]) -> Vec<u8> {
    let length = |event: &Vec<u8>| u32::try_from(event.len()).unwrap().to_be_bytes();
    events.iter().flat_map(|event| [length(event).to_vec(), event.clone()].concat()).collect()
}

fn field(number: u8, content: &[u8]) -> Vec<u8> {
    let mut bytes = vec![number << 3 | 2];
    prost::encoding::encode_varint(content.len() as u64, &mut bytes);
    bytes.extend(content);
    bytes
}

/// A protobuf list with ignored fields of every wire type between those that matter.
fn protobuf_list(items: &[Vec<u8>]) -> Vec<u8> {
    let noise = [&[9 << 3, 0xff, 0x01][..], &[9 << 3 | 1, 1, 2, 3, 4, 5, 6, 7, 8], &[9 << 3 | 5, 1, 2, 3, 4]]
        .concat();
    let head = [field(2, b"41"), field(3, b"token")].concat();
    let items: Vec<u8> =
        items.iter().flat_map(|item| [field(2, item), field(7, b"skipped")].concat()).collect();
    let list = [field(1, &head), noise.clone(), items, noise].concat();
    let types = [field(1, b"v1"), field(2, b"PodList")].concat();
    [&b"k8s\0"[..], &field(1, &types), &field(2, &list), &field(3, b""), &field(4, b"")].concat()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_do_not_depend_on_chunks(
        events in vec(vec(any::<u8>(), 0..60), 0..8),
        cuts in vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes = protobuf_frames(&events);
        prop_assert_eq!(frames(Encoding::Protobuf, &chunks(&bytes, &cuts)), events);
    }

    #[test]
    fn lines_do_not_depend_on_chunks(
        lines in vec("[a-z{}\"\\[\\] :,]{1,40}", 0..8),
        cuts in vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n\n").into_bytes()).collect();
        let expected: Vec<_> =
            lines.iter().filter(|line| !line.as_bytes().trim_ascii().is_empty()).map(|line| line.clone().into_bytes()).collect();
        prop_assert_eq!(frames(Encoding::Json, &chunks(&bytes, &cuts)), expected);
    }

    #[test]
    fn protobuf_items_do_not_depend_on_chunks(
        items in vec(vec(any::<u8>(), 0..300), 0..8),
        cuts in vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let bytes = protobuf_list(&items);
        let head = ("41".to_owned(), "token".to_owned());
        prop_assert_eq!(pieces(Encoding::Protobuf, &chunks(&bytes, &cuts)), (items, head, true));
    }

    #[test]
    fn json_items_do_not_depend_on_chunks(
        texts in vec(any::<String>(), 0..8),
        pretty in any::<bool>(),
        cuts in vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let items: Vec<_> = texts.iter().map(|text| serde_json::json!({"a": [text, {text: "]}"}]})).collect();
        let list = serde_json::json!({
            "other": {"items": [1]}, "kind": "PodList", "items": items,
            "metadata": {"resourceVersion": "41", "continue": "token"},
        });
        let bytes = if pretty { serde_json::to_vec_pretty(&list) } else { serde_json::to_vec(&list) }.unwrap();
        let (found, head, whole) = pieces(Encoding::Json, &chunks(&bytes, &cuts));
        let found: Vec<serde_json::Value> = found.iter().map(|item| serde_json::from_slice(item).unwrap()).collect();
        prop_assert_eq!((found, head, whole), (items, ("41".to_owned(), "token".to_owned()), true));
    }

    #[test]
    fn a_truncated_list_is_not_complete(share in 0.0..1.0_f64) {
        for (encoding, bytes) in [
            (Encoding::Protobuf, protobuf_list(&[b"abc".to_vec(), b"def".to_vec()])),
            (Encoding::Json, br#"{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[{"a":1},{}]}"#.to_vec()),
        ] {
            let cut = (bytes.len() as f64 * share) as usize;
            // A protobuf body may end after any field outside the list.
            let after_list = encoding == Encoding::Protobuf && cut >= bytes.len() - 4;
            prop_assert!(after_list || !pieces(encoding, &[&bytes[..cut]]).2, "{:?} cut at {}", encoding, cut);
            prop_assert!(pieces(encoding, &[&bytes]).2);
        }
    }
}

#[test]
fn a_claimed_length_beyond_the_limit_is_refused_before_the_bytes_arrive() {
    let mut frames = FrameDecoder::new(Encoding::Protobuf, LIMIT);
    frames.push(&(LIMIT as u32).to_be_bytes());
    assert!(frames.next().unwrap().is_none());
    let mut frames = FrameDecoder::new(Encoding::Protobuf, LIMIT);
    frames.push(&(LIMIT as u32 + 1).to_be_bytes());
    assert!(frames.next().is_err());
    let mut frames = FrameDecoder::new(Encoding::Json, LIMIT);
    frames.push(&vec![b'x'; LIMIT]);
    assert!(frames.next().unwrap().is_none());
    frames.push(b"y");
    assert!(frames.next().is_err());

    for encoding in [Encoding::Protobuf, Encoding::Json] {
        let mut body = ListBody::new(encoding, "Pod", LIMIT);
        match encoding {
            Encoding::Protobuf => {
                let claims = [0x12, 0xff, 0xff, 0xff, 0xff, 0x07];
                body.push(&[&b"k8s\0\x12\xff\xff\xff\xff\xff\x01"[..], &claims].concat());
            }
            Encoding::Json => body.push(&[&br#"{"items":[{"a":""#[..], &vec![b'x'; LIMIT]].concat()),
        }
        assert!(body.next().is_err(), "{encoding:?}");
    }
}

#[test]
fn an_item_that_reaches_beyond_its_list_is_refused() {
    let mut body = ListBody::new(Encoding::Protobuf, "Pod", LIMIT);
    body.push(b"k8s\0\x12\x03\x12\x02abcd");
    assert!(body.next().is_err());
}

#[test]
fn content_types_are_recognized_with_and_without_parameters() {
    for (text, encoding) in [
        ("application/json", Some(Encoding::Json)),
        ("application/json;stream=watch", Some(Encoding::Json)),
        ("application/vnd.kubernetes.protobuf; stream=watch", Some(Encoding::Protobuf)),
        ("application/vnd.kubernetes.protobufs", None),
        ("application/cbor", None),
        ("", None),
    ] {
        assert_eq!(Encoding::of(text), encoding, "{text}");
    }
}

#[test]
fn untrusted_text_is_made_harmless() {
    assert_eq!(sanitize("a\u{1b}[31m\n\u{202e}é", 100), "a\\u{1b}[31m\\n\\u{202e}é");
    assert_eq!(sanitize("äöü", 2), "äö…");
}

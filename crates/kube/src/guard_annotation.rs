//! Reads and writes the annotation of guarded pods: their own seconds, and the ceiling that they have.
//!
//! - Invariant: a written value is read back equal; a value that is not valid as a whole is undecodable, never half of
//!   it.

use crate::hold_annotations::{HeldTolerationJson, decode_record};
use serde::{Deserialize, Serialize};
use taintward_core::taint::keys;
use taintward_core::toleration_guard::GuardRecord;
use taintward_core::toleration_seconds::{RecordAnnotations, RecordState};

/// The annotation of a pod that has a ceiling: it contains its own `tolerationSeconds`.
pub const GUARD: &str = "taintward.io/guard";

/// [`GUARD`]'s value.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct GuardJson<'a> {
    #[serde(borrow)]
    guarded: Vec<HeldTolerationJson<'a>>,
}

/// Formats a record as the annotation's value.
pub fn encode_guard(record: &GuardRecord) -> String {
    let tolerations: Vec<_> =
        record.tolerations().iter().map(|held| (held.toleration(), held.given())).collect();
    let guarded = tolerations.iter().map(|(toleration, given)| HeldTolerationJson::new(toleration, *given));
    serde_json::to_string(&GuardJson { guarded: guarded.collect() }).unwrap_or_default()
}

fn decode_guard(text: &str) -> Option<GuardRecord> {
    let json: GuardJson<'_> = serde_json::from_str(text).ok()?;
    GuardRecord::recorded(json.guarded.iter().map(HeldTolerationJson::decoded).collect::<Option<Vec<_>>>()?)
}

/// Parses the annotations of a pod, that of a hold and that of a guarded pod; both at the same time are undecodable.
pub fn decode_records(held: Option<&str>, guard: Option<&str>) -> (RecordState, RecordAnnotations) {
    let annotations = RecordAnnotations { hold: held.is_some(), guard: guard.is_some() };
    let record = match (held, guard) {
        (None, None) => RecordState::Absent,
        (Some(text), None) => decode_record(text),
        (None, Some(text)) => {
            decode_guard(text).map_or(RecordState::Undecodable, |record| RecordState::Guarded(record.into()))
        }
        (Some(_), Some(_)) => RecordState::Undecodable,
    };
    (if is_about_silence(&record) { record } else { RecordState::Undecodable }, annotations)
}

/// Whether a record has no tolerations but those whose seconds Taintward may change: a pod's author can forge others, and
/// the API server's policy would reject each patch for them.
fn is_about_silence(record: &RecordState) -> bool {
    let tolerations = match record {
        RecordState::Known(record) => record.tolerations(),
        RecordState::Guarded(record) => record.tolerations(),
        RecordState::Absent | RecordState::Undecodable => return true,
    };
    let is_silence = |key: &str| [keys::NOT_READY, keys::UNREACHABLE].contains(&key);
    tolerations.iter().all(|held| is_silence(&held.toleration().key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use taintward_core::testkit::toleration_of;
    use taintward_core::toleration::Toleration;
    use taintward_core::toleration_hold::HeldToleration;

    fn any_held_toleration() -> impl Strategy<Value = HeldToleration> {
        let operator = prop_oneof![Just(""), Just("Exists"), Just("Equal"), Just("odd \"one\"")];
        let effect = prop_oneof![Just(""), Just("NoExecute"), Just("Odd")];
        let key = prop_oneof![Just(keys::NOT_READY), Just(keys::UNREACHABLE)];
        (key, operator, "\\PC{0,5}", effect, i64::MIN..1000, 1000..i64::MAX).prop_map(
            |(key, operator, value, effect, own, given)| {
                let toleration = toleration_of(key, operator, &value, effect);
                HeldToleration::recorded(&Toleration { seconds: Some(own), ..toleration }, Some(given))
                    .unwrap()
            },
        )
    }

    proptest! {
        #[test]
        fn a_written_record_is_read_back(tolerations in prop::collection::vec(any_held_toleration(), 1..4)) {
            let record = GuardRecord::recorded(tolerations).unwrap();
            let text = encode_guard(&record);
            let annotations = RecordAnnotations { hold: false, guard: true };
            prop_assert_eq!(decode_records(None, Some(&text)), (RecordState::Guarded(record.into()), annotations));
        }

        #[test]
        fn no_text_causes_a_panic(text in "\\PC*") {
            decode_records(None, Some(&text));
        }
    }

    #[test]
    fn an_incomplete_record_or_one_that_lowers_seconds_is_undecodable() {
        let one = r#"{"key":"node.kubernetes.io/not-ready","operator":"Exists","tolerationSeconds":300,"given":3600}"#;
        let whole = &format!("{{\"guarded\":[{one}]}}");
        assert!(matches!(decode_records(None, Some(whole)).0, RecordState::Guarded(_)));
        assert_eq!(decode_records(Some("{}"), Some(whole)).0, RecordState::Undecodable);
        for (from, to) in [
            ("3600", "300"),
            ("3600", "30"),
            (r#","given":3600"#, ""),
            (one, ""),
            (one, r#"{"key":"example.com/x","operator":"Exists","tolerationSeconds":1,"given":3600}"#),
            (one, r#"{"key":"","operator":"Exists","tolerationSeconds":1,"given":3600}"#),
            ("\"guarded\"", "\"guards\""),
            ("300", "\"300\""),
        ] {
            let text = whole.replacen(from, to, 1);
            assert_eq!(decode_records(None, Some(&text)).0, RecordState::Undecodable, "{from} -> {to}");
        }
    }
}

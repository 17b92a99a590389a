//! Reads and writes the node annotation that holds the reason and the intended duration of a taint.
//!
//! - A note is about one key, value and effect. After its time, only `taint --expired` removes the taint.

use serde::{Deserialize, Serialize};
use taintward_core::hash::fnv1a;
use taintward_core::taint::Taint;
use taintward_core::time::Wall;

/// A note on a taint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TaintNote {
    /// The reason for the taint, as typed by the user.
    pub(crate) reason: Option<String>,
    /// The end of the taint's intended duration.
    pub(crate) until: Option<Wall>,
}

/// The value of the annotation.
#[derive(Serialize, Deserialize)]
struct TaintNoteJson {
    /// `key=value:Effect`
    taint: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    until: Option<String>,
}

/// The effect and a hash of the taint's key follow: a key may be longer than an annotation's name.
const PREFIX: &str = "taintward.io/taint-note";

/// The annotation for a taint's note; none for an unknown effect. Two keys with the same hash would share an
/// annotation; the note itself names its taint.
pub(crate) fn key(taint: &Taint) -> String {
    format!("{PREFIX}.{}.{:016x}", taint.effect.as_str(), fnv1a(&taint.key))
}

impl TaintNote {
    /// The annotation's value.
    pub(crate) fn write(&self, about: &Taint) -> String {
        let until = self.until.and_then(|until| jiff::Timestamp::from_microsecond(until.as_micros()).ok());
        let until = until.and_then(|until| jiff::Timestamp::from_second(until.as_second()).ok());
        let until = until.map(|until| until.to_string());
        let written = TaintNoteJson { taint: about.to_string(), reason: self.reason.clone(), until };
        serde_json::to_string(&written).expect("texts and a time can be written as JSON")
    }

    /// The note about a taint, from its node's annotations; `None` if it is invalid or about another taint.
    pub(crate) fn about<'a>(taint: &Taint, annotation: impl FnOnce(&str) -> Option<&'a str>) -> Option<Self> {
        let written: TaintNoteJson = serde_json::from_str(annotation(&key(taint))?).ok()?;
        if written.taint != taint.to_string() {
            return None;
        }
        let until = match written.until {
            Some(text) => Some(Wall::from_micros(text.parse::<jiff::Timestamp>().ok()?.as_microsecond())),
            None => None,
        };
        Some(Self { reason: written.reason, until })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::label::is_key;
    use taintward_core::testkit::taint;

    #[test]
    fn a_note_is_read_back_for_its_own_taint_only() {
        let (db, web) = (taint("dedicated=db:NoExecute"), taint("dedicated=web:NoExecute"));
        let note = TaintNote {
            reason: Some("disk \"3\" <is> changed".into()),
            until: Some(Wall::from_secs(1_800_000_000)),
        };
        let value = note.write(&db);
        assert_eq!(
            value,
            r#"{"taint":"dedicated=db:NoExecute","reason":"disk \"3\" <is> changed","until":"2027-01-15T08:00:00Z"}"#
        );
        assert_eq!(TaintNote::about(&db, |name| (name == key(&db)).then_some(value.as_str())), Some(note));
        assert_eq!(TaintNote::about(&web, |_| Some(value.as_str())), None, "another value is another taint");
        for odd in ["", "{}", "{\"taint\": 1}", "{\"taint\":\"dedicated=db:NoExecute\",\"until\":\"soon\"}"] {
            assert_eq!(TaintNote::about(&db, |_| Some(odd)), None, "{odd}");
        }
        assert_eq!(TaintNote::about(&db, |_| None), None);
        // Fields that other tools add do not hide it.
        let more = r#"{"taint":"dedicated=db:NoExecute","by":"eve"}"#;
        assert_eq!(TaintNote::about(&db, |_| Some(more)), Some(TaintNote::default()));
    }

    #[test]
    fn each_taint_has_an_annotation_of_its_own() {
        let texts = ["a:NoExecute", "a:NoSchedule", "b:NoExecute", "x/a:NoExecute", "a.x:PreferNoSchedule"];
        let mut keys: Vec<String> = texts.iter().map(|text| key(&taint(text))).collect();
        assert_eq!(
            keys[0], "taintward.io/taint-note.NoExecute.af63dc4c8601ec8c",
            "found again by later releases"
        );
        assert_eq!(key(&taint("a=other:NoExecute")), keys[0]);
        assert!(keys.iter().all(|key| is_key(key)), "{keys:?}");
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), texts.len());
        let long = format!("{}/{}", "x".repeat(253), "y".repeat(63));
        assert!(is_key(&key(&taint(&format!("{long}:PreferNoSchedule")))));
    }
}

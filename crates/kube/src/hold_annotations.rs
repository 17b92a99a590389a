//! Reads and writes the annotation of a held pod: its own seconds.
//!
//! - Invariant: a written value is read back equal; a value that is not valid as a whole is undecodable, never half of
//!   it.

use crate::api_time::micro_time;
use crate::api_time::time_from_text;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use taintward_core::taint::TaintEffect;
use taintward_core::time::{Span, Wall};
use taintward_core::toleration::{Toleration, TolerationOperator};
use taintward_core::toleration_hold::{HeldToleration, HoldOrder, HoldOrigin, HoldRecord};
use taintward_core::toleration_seconds::RecordState;

/// The annotation of a pod whose `tolerationSeconds` Taintward has removed or restored: it contains them.
pub const HELD: &str = "taintward.io/held";

/// [`HELD`]'s value.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct HeldJson<'a> {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<OrderJson>,
    /// Earlier versions wrote these two instead of the order.
    #[serde(default, skip_serializing)]
    since: Option<String>,
    #[serde(default, skip_serializing)]
    until: Option<String>,
    changed: String,
    ran_microseconds: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counted_since: Option<String>,
    #[serde(borrow)]
    held: Vec<HeldTolerationJson<'a>>,
}

/// The order by which a pod is held.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OrderJson {
    origin: OriginJson,
    since: String,
    until: String,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
enum OriginJson {
    Person,
    Limit,
}

/// A toleration with its own seconds, and those it has now.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct HeldTolerationJson<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "is_empty")]
    operator: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "is_empty")]
    value: Cow<'a, str>,
    #[serde(borrow, default, skip_serializing_if = "is_empty")]
    effect: Cow<'a, str>,
    toleration_seconds: i64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    given: Option<i64>,
}

/// Formats a record as the annotation's value.
pub fn encode_record(record: &HoldRecord) -> String {
    let tolerations: Vec<_> =
        record.tolerations().iter().map(|held| (held.toleration(), held.given())).collect();
    let tolerations =
        tolerations.iter().map(|(toleration, given)| HeldTolerationJson::new(toleration, *given));
    let json = HeldJson {
        order: record.order().map(OrderJson::new),
        since: None,
        until: None,
        changed: micro_time(record.changed()),
        ran_microseconds: record.ran().as_micros(),
        counted_since: record.counted_since().map(micro_time),
        held: tolerations.collect(),
    };
    serde_json::to_string(&json).unwrap_or_default()
}

/// Parses the annotation of a pod.
pub fn decode_record(text: &str) -> RecordState {
    let Ok(json) = serde_json::from_str::<HeldJson<'_>>(text) else { return RecordState::Undecodable };
    record(&json).map_or(RecordState::Undecodable, |record| RecordState::Known(record.into()))
}

fn record(json: &HeldJson<'_>) -> Option<HoldRecord> {
    let order = match (&json.order, &json.since, &json.until) {
        (None, None, None) => None,
        (Some(order), None, None) => Some(order.decoded()?),
        // The origin is unknown. A person's order is the one that does not shorten a hold by the limit.
        (None, Some(since), Some(until)) => {
            Some(HoldOrder { origin: HoldOrigin::Person, since: time(since)?, until: time(until)? })
        }
        _ => return None,
    };
    let counted_since = match &json.counted_since {
        Some(text) => Some(time(text)?),
        None => None,
    };
    let tolerations = json.held.iter().map(HeldTolerationJson::decoded).collect::<Option<Vec<_>>>()?;
    let ran = Span::from_micros(Some(json.ran_microseconds).filter(|ran| *ran >= 0)?);
    let is_recorded = !tolerations.is_empty();
    let changed = time(&json.changed)?;
    is_recorded.then(|| HoldRecord::recorded(tolerations, order, changed, ran, counted_since))
}

impl OrderJson {
    fn new(order: HoldOrder) -> Self {
        let origin = match order.origin {
            HoldOrigin::Person => OriginJson::Person,
            HoldOrigin::Limit => OriginJson::Limit,
        };
        Self { origin, since: micro_time(order.since), until: micro_time(order.until) }
    }

    fn decoded(&self) -> Option<HoldOrder> {
        let origin = match self.origin {
            OriginJson::Person => HoldOrigin::Person,
            OriginJson::Limit => HoldOrigin::Limit,
        };
        Some(HoldOrder { origin, since: time(&self.since)?, until: time(&self.until)? })
    }
}

impl<'a> HeldTolerationJson<'a> {
    /// Makes it from a toleration with its own seconds, and those that it has now.
    pub(crate) fn new(toleration: &'a Toleration, given: Option<i64>) -> Self {
        Self {
            key: (&*toleration.key).into(),
            operator: toleration.operator.as_str().into(),
            value: (&*toleration.value).into(),
            effect: toleration.effect.as_ref().map(TaintEffect::as_str).unwrap_or_default().into(),
            toleration_seconds: toleration.seconds.unwrap_or_default(),
            given,
        }
    }

    pub(crate) fn decoded(&self) -> Option<HeldToleration> {
        let toleration = Toleration {
            key: (&*self.key).into(),
            operator: TolerationOperator::new(&self.operator),
            value: (&*self.value).into(),
            effect: (!self.effect.is_empty()).then(|| TaintEffect::new(&self.effect)),
            seconds: Some(self.toleration_seconds),
        };
        HeldToleration::recorded(&toleration, self.given)
    }
}

fn time(text: &str) -> Option<Wall> {
    time_from_text(text).ok()?
}

fn is_empty(text: &str) -> bool {
    text.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use taintward_core::testkit::toleration_of;

    fn any_held_toleration() -> impl Strategy<Value = HeldToleration> {
        let operator = prop_oneof![Just(""), Just("Exists"), Just("Equal"), Just("Lt"), Just("odd \"one\"")];
        let effect = prop_oneof![Just(""), Just("NoExecute"), Just("Odd")];
        (".{0,9}", operator, "\\PC{0,5}", effect, any::<i64>(), any::<Option<i64>>()).prop_map(
            |(key, operator, value, effect, own, given)| {
                let toleration = toleration_of(&key, operator, &value, effect);
                HeldToleration::recorded(&Toleration { seconds: Some(own), ..toleration }, given).unwrap()
            },
        )
    }

    fn moment() -> impl Strategy<Value = Wall> {
        (0..253_402_000_000_000_000_i64).prop_map(Wall::from_micros)
    }

    fn order() -> impl Strategy<Value = HoldOrder> {
        let origin = prop_oneof![Just(HoldOrigin::Person), Just(HoldOrigin::Limit)];
        let order = |(origin, since, until)| HoldOrder { origin, since, until };
        (origin, moment(), moment()).prop_map(order)
    }

    proptest! {
        #[test]
        fn a_written_record_is_read_back(
            tolerations in prop::collection::vec(any_held_toleration(), 1..4),
            order in prop::option::of(order()),
            changed in moment(),
            ran in 0..i64::MAX,
            counted_since in prop::option::of(moment()),
        ) {
            let ran = Span::from_micros(ran);
            let record = HoldRecord::recorded(tolerations, order, changed, ran, counted_since);
            let text = encode_record(&record);
            prop_assert_eq!(decode_record(&text), RecordState::Known(record.into()), "{}", text);
        }

        #[test]
        fn no_text_causes_a_panic(text in "\\PC*") {
            let _ = decode_record(&text);
        }
    }

    #[test]
    fn a_record_of_an_earlier_version_is_decoded() {
        let text = r#"{"since":"2026-11-22T10:00:00Z","until":"2026-11-22T11:00:00Z","changed":"2026-11-22T10:00:00Z",
            "ranMicroseconds":5,"held":[{"key":"k","tolerationSeconds":300}]}"#;
        let RecordState::Known(record) = decode_record(text) else { panic!("undecodable") };
        let moment = |text| time(text).unwrap();
        let (since, until) = (moment("2026-11-22T10:00:00Z"), moment("2026-11-22T11:00:00Z"));
        assert_eq!(record.order(), Some(HoldOrder { origin: HoldOrigin::Person, since, until }));
        assert_eq!((record.changed(), record.ran()), (since, Span::from_micros(5)));
        assert_eq!(decode_record(&encode_record(&record)), RecordState::Known(record));
        let without_end = text.replacen(r#""until":"2026-11-22T11:00:00Z","#, "", 1);
        assert_eq!(decode_record(&without_end), RecordState::Undecodable);
    }

    #[test]
    fn an_incomplete_record_is_undecodable() {
        let whole = r#"{"order":{"origin":"limit","since":"2026-11-22T10:00:00Z","until":"2026-11-22T11:00:00Z"},
            "changed":"2026-11-22T10:00:00Z","ranMicroseconds":5,"held":[{"key":"k","tolerationSeconds":300}]}"#;
        assert!(matches!(decode_record(whole), RecordState::Known(_)));
        for (from, to) in [
            ("limit", "chance"),
            (r#""origin":"limit","#, ""),
            (r#""order":"#, r#""since":"2026-11-22T10:00:00Z","order":"#),
            ("11:00", "11.00"),
            (":5,", ":-5,"),
            ("300", "null"),
            (r#"{"key":"k","tolerationSeconds":300}"#, ""),
            ("\"since\"", "\"sinc\""),
            (r#""key":"k","#, ""),
            (r#""key":"k","#, r#""key":"k","given":"5","#),
            (r#""key":"k","#, r#""key":"k","gives":5,"#),
        ] {
            assert_eq!(
                decode_record(&whole.replacen(from, to, 1)),
                RecordState::Undecodable,
                "{from} -> {to}"
            );
        }
    }
}

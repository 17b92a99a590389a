//! Describes the record of a guarded, held or released pod: until when, by which order, and what is left.

use crate::messages::{at_moment, stamp};
use serde_json::{Value, json};
use taintward_core::cluster_snapshot::CountdownRecord;
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration_hold::{HoldOrigin, HoldRecord};

/// The snapshot's moment of a time in a record.
const fn moment(at: Wall) -> Mono {
    Mono::from_micros(at.as_micros())
}

/// What ordered a hold; `why` is the reason that an administrator gave.
fn origin(record: &HoldRecord, why: Option<&str>) -> String {
    match (record.order().map(|order| order.origin), why) {
        (Some(HoldOrigin::Limit), _) => "by the limit of silent nodes".to_owned(),
        (_, Some(why)) => format!("by an administrator: {why}"),
        (_, None) => "by an administrator".to_owned(),
    }
}

/// A sentence about the record of a pod; `ceiling` is that of a guarded pod.
pub(crate) fn sentence(
    record: &CountdownRecord,
    ceiling: Option<Mono>,
    why: Option<&str>,
    now: Now,
) -> Option<String> {
    match record {
        CountdownRecord::None => None,
        CountdownRecord::Guarded(_) => Some(match ceiling {
            Some(at) => format!(
                "It is guarded: Taintward evicts it by its own seconds; without Taintward, kube-controller-manager \
                 evicts it at {}.",
                at_moment(now, at)
            ),
            None => "It is guarded: its own seconds are in its annotation taintward.io/guard.".to_owned(),
        }),
        CountdownRecord::Held(held) => Some(format!(
            "Its countdown is paused {}; {}s are left at its release.",
            origin(held, why),
            held.remaining_seconds()
        )),
        CountdownRecord::Released(held) => Some(format!(
            "It was held; its countdown began again at {}.",
            at_moment(now, moment(held.changed()))
        )),
    }
}

/// The record of a held or released pod, for programs; `null` for another.
pub(crate) fn object(record: &CountdownRecord, why: Option<&str>) -> Value {
    let (held, state) = match record {
        CountdownRecord::Held(held) => (held, "Held"),
        CountdownRecord::Released(held) => (held, "Released"),
        CountdownRecord::None | CountdownRecord::Guarded(_) => return Value::Null,
    };
    let order = held.order();
    json!({
        "state": state,
        "changedAt": stamp(moment(held.changed())),
        "until": order.map(|order| stamp(moment(order.ends_at()))),
        "origin": order.map(|order| match order.origin {
            HoldOrigin::Person => "Person",
            HoldOrigin::Limit => "Limit",
        }),
        "reason": why,
        "remainingSeconds": held.remaining_seconds(),
    })
}

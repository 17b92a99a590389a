//! Shows pods on their way out: how many, how late, and what is in the way.

use super::super::alert::seconds;
use super::super::dashboard::{
    Dashboard, Panel, PanelQuery, PanelRow, PanelUnit, largest, largest_by, per_second, per_second_by,
    quantiles,
};
use taintward_admission::metrics::MODE;
use taintward_controller::metrics::names;

pub(crate) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "taintward-evictions",
        title: "Evictions",
        description: "Which pods have to leave, how late they leave, and what is in the way.",
        mode: format!("!=\"{MODE}\""),
        rows: vec![pods(), requests(), stopped_countdowns(), faults()],
    }
}

fn pods() -> PanelRow {
    PanelRow {
        title: "Pods",
        panels: vec![
            Panel::lines(
                "Pods that have to leave",
                PanelUnit::Number,
                vec![
                    largest("counting down", names::PENDING_PODS),
                    largest("due", names::DUE_PODS),
                    largest("tried and failed", names::RETRYING_PODS),
                ],
                "Pods whose toleration is running out, pods that have to leave, and those of them whose last attempt failed.",
            ),
            Panel::lines(
                "Longest overdue",
                PanelUnit::Seconds,
                vec![largest("longest overdue pod", &seconds(names::OLDEST_DUE_POD))],
                "How long the longest overdue pod has been due. Above 60 s evictions are held up.",
            ),
            Panel::lines(
                "Evictions",
                PanelUnit::PerSecond,
                vec![
                    PanelQuery::new(
                        "deleted",
                        per_second("", names::TAINT_EVICTION_CONTROLLER_POD_DELETIONS),
                    ),
                    PanelQuery::new("predicted", per_second("", names::WOULD_EVICT)),
                ],
                "Pods that Taintward has deleted, and pods that it would have deleted with --mode=enforce.",
            ),
            Panel::lines(
                "From due to deleted",
                PanelUnit::Seconds,
                quantiles(&[], names::TAINT_EVICTION_CONTROLLER_POD_DELETION_DURATION),
                "The time from the moment a pod had to leave to its deletion.",
            ),
        ],
    }
}

fn requests() -> PanelRow {
    PanelRow {
        title: "Requests",
        panels: vec![
            Panel::lines(
                "Outcomes",
                PanelUnit::PerSecond,
                vec![per_second_by(&["effect", "outcome"], names::EFFECTS)],
                "Requests of the controllers and their outcomes. forbidden, throttled and rejected are refusals of the API server.",
            ),
            Panel::lines(
                "Duration",
                PanelUnit::Seconds,
                quantiles(&["effect"], names::EFFECT_DURATION),
                "How long requests took until they were answered or given up.",
            ),
            Panel::lines(
                "Requests at once",
                PanelUnit::Number,
                vec![
                    largest("in flight", names::INFLIGHT_EFFECTS),
                    PanelQuery::new(
                        "limit of {{controller}}",
                        largest_by("controller", names::CONCURRENCY_LIMIT).expr,
                    ),
                ],
                "Requests without an answer, and how many a controller may have, as adapted to what the API server bears.",
            ),
            Panel::lines(
                "Conflicts",
                PanelUnit::PerSecond,
                vec![PanelQuery::new("conflicts", per_second("", names::PRECONDITION_CONFLICT))],
                "Writes that the API server refused because the object had changed since the decision.",
            ),
            Panel::lines(
                "Age of decisions",
                PanelUnit::Seconds,
                quantiles(&[], names::DECISION_AGE),
                "How old the live read of the node was when the deletion was answered. Above 5 s is a fault.",
            ),
            Panel::lines(
                "Work queues",
                PanelUnit::Number,
                vec![largest_by("name", names::WORKQUEUE_DEPTH)],
                "Items that wait, by queue.",
            ),
        ],
    }
}

fn stopped_countdowns() -> PanelRow {
    PanelRow {
        title: "Holds, guard and backfill",
        panels: vec![
            Panel::lines(
                "Held pods",
                PanelUnit::Number,
                vec![
                    largest("held", names::HOLD_PODS),
                    largest("waiting", names::HOLD_PODS_WAITING),
                    largest("released", names::HOLD_PODS_RELEASED),
                    largest("undecodable", names::HOLD_PODS_UNDECODABLE),
                ],
                "Pods that toleration-hold-controller holds, is to hold or release, and has released.",
            ),
            Panel::lines(
                "Zones above the limit of silent nodes",
                PanelUnit::Number,
                vec![largest("zones", names::HOLD_LIMITS_EXCEEDED)],
                "Zones, with the cluster as one more, in which more nodes are silent than --hold-limit allows.",
            ),
            Panel::lines(
                "Guarded pods",
                PanelUnit::Number,
                vec![
                    largest("guarded", names::GUARD_PODS_GUARDED),
                    largest("pending", names::GUARD_PODS_PENDING),
                ],
                "Pods with the ceiling of their namespace, and pods that are still to get it or their own seconds back.",
            ),
            Panel::lines(
                "Backfill",
                PanelUnit::Number,
                vec![largest("pending", names::BACKFILL_PODS_PENDING)],
                "Running pods that are still to get the tolerationSeconds that new pods get.",
            ),
        ],
    }
}

fn faults() -> PanelRow {
    PanelRow {
        title: "Signs of faults",
        panels: vec![
            Panel::lines(
                "Another controller",
                PanelUnit::PerSecond,
                vec![per_second_by(&["sign"], names::OTHER_CONTROLLER_SEEN)],
                "Signs that another controller evicts pods beside this one. 0 is right.",
            ),
            Panel::lines(
                "Deleted too early",
                PanelUnit::Seconds,
                vec![largest("at most", &seconds(names::EARLY))],
                "How far before its deadline a deletion was sent, at most, since the start. Above 0 is a fault.",
            ),
            Panel::lines(
                "Not understood",
                PanelUnit::PerSecond,
                vec![
                    per_second_by(&["resource"], names::UNDECODABLE_OBJECTS),
                    per_second_by(&["kind"], names::UNKNOWN_INPUT),
                ],
                "Objects that could not be decoded, and values that this version does not know. Neither evicts a pod.",
            ),
            Panel::lines(
                "Events given up",
                PanelUnit::PerSecond,
                vec![PanelQuery::new("events", per_second("", names::EVENTS_DROPPED))],
                "Kubernetes events that were not published.",
            ),
        ],
    }
}

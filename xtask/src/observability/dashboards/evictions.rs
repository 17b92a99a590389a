//! Shows which pods are due for eviction, how late Taintward evicts them, and what blocks it.

use super::super::alert::seconds;
use super::super::dashboard::{
    Dashboard, Panel, PanelQuery, PanelRow, largest, largest_by, per_second_by, per_second_named, quantiles,
};
use taintward_admission::metrics::MODE;
use taintward_controller::metrics::names;

pub(crate) fn dashboard() -> Dashboard {
    Dashboard {
        uid: "taintward-evictions",
        title: "Evictions",
        description: "How many pods are due for eviction, how late Taintward evicts them, and what blocks it.",
        mode: format!("!=\"{MODE}\""),
        rows: vec![pods(), requests(), stopped_countdowns(), faults()],
    }
}

/// Also on the overview.
pub(super) fn evictions() -> Panel {
    Panel::rates(
        "Evictions",
        vec![
            per_second_named("deleted", names::TAINT_EVICTION_CONTROLLER_POD_DELETIONS),
            per_second_named("predicted", names::WOULD_EVICT),
        ],
        "Pods that Taintward has deleted, and pods that it would have deleted with --mode=enforce.",
    )
}

fn pods() -> PanelRow {
    PanelRow {
        title: "Pods",
        panels: vec![
            Panel::numbers(
                "Pods to evict",
                vec![
                    largest("counting down", names::PENDING_PODS),
                    largest("due", names::DUE_PODS),
                    largest("retrying", names::RETRYING_PODS),
                ],
                "Pods with a running countdown, pods that are due for eviction, and the due pods whose last attempt failed.",
            ),
            Panel::seconds(
                "Longest overdue",
                vec![largest("longest overdue pod", &seconds(names::OLDEST_DUE_POD))],
                "How long the longest overdue pod has been due. Above 60 s, something blocks evictions.",
            ),
            evictions(),
            Panel::seconds(
                "From the deadline to the deletion",
                quantiles(&[], names::TAINT_EVICTION_CONTROLLER_POD_DELETION_DURATION),
                "The time from the deadline of a pod to its deletion.",
            ),
        ],
    }
}

fn requests() -> PanelRow {
    PanelRow {
        title: "Requests",
        panels: vec![
            Panel::rates(
                "Outcomes",
                vec![per_second_by(&["effect", "outcome"], names::EFFECTS)],
                "Requests of the controllers, by kind and outcome. forbidden, throttled, rejected: the API server refused them.",
            ),
            Panel::seconds(
                "Duration",
                quantiles(&["effect"], names::EFFECT_DURATION),
                "How long requests took until the API server answered, or until Taintward abandoned them.",
            ),
            Panel::numbers(
                "Concurrent requests",
                vec![
                    largest("in flight", names::INFLIGHT_EFFECTS),
                    PanelQuery::new(
                        "limit of {{controller}}",
                        largest_by("controller", names::CONCURRENCY_LIMIT).expr,
                    ),
                ],
                "Requests in flight, and the limit of each controller, which adapts to the load that the API server can serve.",
            ),
            Panel::rates(
                "Conflicts",
                vec![per_second_named("conflicts", names::PRECONDITION_CONFLICT)],
                "Writes that the API server refused because the object had changed after the decision.",
            ),
            Panel::seconds(
                "Age of decisions",
                quantiles(&[], names::DECISION_AGE),
                "How old the live read of the node was when the API server answered the deletion. Above 5 s, report a bug.",
            ),
            Panel::numbers(
                "Work queues",
                vec![largest_by("name", names::WORKQUEUE_DEPTH)],
                "Items that wait in each work queue.",
            ),
        ],
    }
}

fn stopped_countdowns() -> PanelRow {
    PanelRow {
        title: "Holds, guard and backfill",
        panels: vec![
            Panel::numbers(
                "Held pods",
                vec![
                    largest("held", names::HOLD_PODS),
                    largest("waiting", names::HOLD_PODS_WAITING),
                    largest("released", names::HOLD_PODS_RELEASED),
                    largest("undecodable", names::HOLD_PODS_UNDECODABLE),
                    largest("unrecorded", names::HOLD_PODS_UNRECORDED),
                ],
                "Pods that toleration-hold-controller holds, has yet to hold or release, and has released.",
            ),
            Panel::numbers(
                "Zones above the limit of silent nodes",
                vec![largest("zones", names::HOLD_LIMITS_EXCEEDED)],
                "Zones, with the cluster as one more, in which more nodes are silent than --hold-limit allows.",
            ),
            Panel::numbers(
                "Guarded pods",
                vec![
                    largest("guarded", names::GUARD_PODS_GUARDED),
                    largest("pending", names::GUARD_PODS_PENDING),
                ],
                "Pods with the ceiling of their namespace, and pods that wait for it or for their own seconds.",
            ),
            Panel::numbers(
                "Backfill",
                vec![largest("pending", names::BACKFILL_PODS_PENDING)],
                "Running pods that wait for the tolerationSeconds that new pods get.",
            ),
        ],
    }
}

fn faults() -> PanelRow {
    PanelRow {
        title: "Signs of faults",
        panels: vec![
            Panel::rates(
                "Another controller",
                vec![per_second_by(&["sign"], names::OTHER_CONTROLLER_SEEN)],
                "Signs that another controller also evicts pods. 0 is normal.",
            ),
            Panel::seconds(
                "Deleted too early",
                vec![largest("maximum", &seconds(names::EARLY))],
                "How long before its deadline Taintward deleted a pod: the maximum since the start. Above 0, report a bug.",
            ),
            Panel::rates(
                "Not decoded",
                vec![
                    per_second_by(&["resource"], names::UNDECODABLE_OBJECTS),
                    per_second_by(&["kind"], names::UNKNOWN_INPUT),
                ],
                "Objects that Taintward could not decode, and values that it does not know. Neither causes an eviction.",
            ),
            Panel::rates(
                "Dropped events",
                vec![per_second_named("events", names::EVENTS_DROPPED)],
                "Kubernetes events that Taintward did not publish.",
            ),
        ],
    }
}

//! Lists the kinds of changes that `pending -w`, the board and the sandbox show, with the word for each.

use serde::Serialize;
use std::fmt;
use taintward_core::time::Span;

/// The delay after which a pod that is due is overdue: a controller needs some time to evict.
pub(crate) const OVERDUE_AFTER: Span = Span::from_secs(5);

/// A change of a pod or a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum ClusterChange {
    /// A pod has a deadline.
    CountingDown,
    /// A pod has another deadline, or another taint decides.
    Changed,
    /// A deadline has passed, and an eviction policy or the brake delays the eviction.
    Delayed,
    /// A deadline has passed, and the pod is still there.
    Overdue,
    /// A pod with a deadline stays.
    Cancelled,
    /// A pod with a deadline is deleted, or is being deleted.
    Deleted,
    /// A pod with a deadline has succeeded or failed.
    Finished,
    /// A pod has the condition of an eviction.
    Evicted,
    /// A pod is bound to a node.
    Scheduled,
    /// The scheduler finds no node for a pod.
    FailedScheduling,
    Tainted,
    Untainted,
    Ready,
    NotReady,
    Cordoned,
    Uncordoned,
    Added,
    Removed,
}

impl ClusterChange {
    /// The word for the change, in all outputs.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::CountingDown => "CountingDown",
            Self::Changed => "Changed",
            Self::Delayed => "Delayed",
            Self::Overdue => "Overdue",
            Self::Cancelled => "Cancelled",
            Self::Deleted => "Deleted",
            Self::Finished => "Finished",
            Self::Evicted => "Evicted",
            Self::Scheduled => "Scheduled",
            Self::FailedScheduling => "FailedScheduling",
            Self::Tainted => "Tainted",
            Self::Untainted => "Untainted",
            Self::Ready => "Ready",
            Self::NotReady => "NotReady",
            Self::Cordoned => "Cordoned",
            Self::Uncordoned => "Uncordoned",
            Self::Added => "Added",
            Self::Removed => "Removed",
        }
    }

    /// The words on the board, with the seconds until the pod's deadline.
    pub(crate) const fn label(self, left: i64) -> &'static str {
        match self {
            Self::CountingDown if left <= 0 => "Due",
            Self::CountingDown => "Counting down",
            Self::Cancelled => "Countdown cancelled",
            Self::Deleted if is_reached(left) => "Evicted",
            Self::FailedScheduling => "Failed scheduling",
            Self::NotReady => "Not ready",
            _ => self.as_str(),
        }
    }

    /// The sentence about a pod, which follows its name, with the seconds until its deadline and the taint that decides.
    pub(crate) fn of_pod(self, left: i64, taint: &str) -> String {
        match self {
            Self::CountingDown if left <= 0 => format!("is due now because of {taint}"),
            Self::CountingDown | Self::Changed => {
                format!("is evicted in {}s because of {taint}", left.max(0))
            }
            Self::Delayed => format!("has been due for {}s, and waits", -left),
            Self::Overdue => format!("is overdue: its deadline was {}s ago", -left),
            Self::Cancelled => "stays".to_owned(),
            Self::Finished => "is finished".to_owned(),
            _ if is_reached(left) => format!("was evicted because of {taint}"),
            _ => "was deleted before its deadline".to_owned(),
        }
    }
}

/// Whether the deadline is reached, apart from the small differences between two clocks.
const fn is_reached(left: i64) -> bool {
    left <= 1
}

impl fmt::Display for ClusterChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::described::document;

    #[test]
    fn a_pod_is_evicted_once_its_deadline_is_reached_and_due_without_time_left() {
        use ClusterChange::{Cancelled, CountingDown, Deleted};
        for (change, left, label, sentence) in [
            (CountingDown, 20, "Counting down", "is evicted in 20s because of k:NoExecute"),
            (CountingDown, 0, "Due", "is due now because of k:NoExecute"),
            (Deleted, 8, "Deleted", "was deleted before its deadline"),
            (Deleted, 1, "Evicted", "was evicted because of k:NoExecute"),
            (Deleted, -40, "Evicted", "was evicted because of k:NoExecute"),
            (Cancelled, 8, "Countdown cancelled", "stays"),
        ] {
            assert_eq!(
                (change.label(left), &*change.of_pod(left, "k:NoExecute")),
                (label, sentence),
                "{change} {left}"
            );
        }
    }

    #[test]
    fn documents_list_the_events_of_pending() {
        use ClusterChange::{Cancelled, Changed, CountingDown, Delayed, Deleted, Finished, Overdue};
        let words = [CountingDown, Changed, Delayed, Overdue, Cancelled, Deleted, Finished];
        let words = words.map(ClusterChange::as_str);
        assert!(document("pending.schema.json").contains(&format!("({})", words.join(", "))));
        let page = document("explain.md");
        let (_, list) = page.split_once("a column EVENT: ").expect("the list");
        let (list, _) = list.split_once(". All lines").expect("its end");
        assert_eq!(list.split('`').skip(1).step_by(2).collect::<Vec<_>>(), words);
    }
}

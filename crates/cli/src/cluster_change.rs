//! Lists the kinds of changes that `pending -w`, the board and the sandbox show, with the word for each.

use serde::{Serialize, Serializer};
use std::fmt;
use taintward_core::time::Span;

/// The delay after which a pod that is due is overdue: a controller needs some time to evict.
pub(crate) const OVERDUE_AFTER: Span = Span::from_secs(5);

/// A change of a pod or a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ClusterChange {
    /// A pod has a deadline.
    CountingDown,
    /// A pod has another deadline, or another taint decides.
    Changed,
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
}

impl ClusterChange {
    /// The sentence about a pod, which follows its name, with the seconds until its deadline and the taint that decides.
    pub(crate) fn of_pod(self, left: i64, taint: &str) -> String {
        match self {
            Self::CountingDown if left <= 0 => format!("is due now because of {taint}"),
            Self::CountingDown | Self::Changed => {
                format!("is evicted in {}s because of {taint}", left.max(0))
            }
            Self::Overdue => format!("is overdue: its deadline was {}s ago", -left),
            Self::Cancelled => "stays".to_owned(),
            Self::Finished => "is finished".to_owned(),
            _ => format!("is gone because of {taint}"),
        }
    }
}

impl fmt::Display for ClusterChange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.pad(self.as_str())
    }
}

impl Serialize for ClusterChange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::described::document;

    #[test]
    fn documents_list_the_events_of_pending() {
        use ClusterChange::{Cancelled, Changed, CountingDown, Deleted, Finished, Overdue};
        let words = [CountingDown, Changed, Overdue, Cancelled, Deleted, Finished].map(ClusterChange::as_str);
        assert!(document("pending.schema.json").contains(&format!("({})", words.join(", "))));
        let page = document("explain.md");
        let (_, list) = page.split_once("a column EVENT: ").expect("the list");
        let (list, _) = list.split_once(". All lines").expect("its end");
        assert_eq!(list.split('`').skip(1).step_by(2).collect::<Vec<_>>(), words);
    }
}

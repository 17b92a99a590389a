//! Defines an entry of a history: at what time, which object, what happened.

use super::filter::HistoryFilter;
use serde::Serialize;
use taintward_core::identity::{NodeName, PodName, Uid};
use taintward_core::time::{Now, Wall};

/// The object of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum HistoryObject {
    /// The cluster, or Taintward itself.
    Cluster,
    Node(NodeName),
    Pod {
        name: PodName,
        uid: Uid,
        node: NodeName,
    },
}

/// What happened: a word for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum HistoryEvent {
    /// The record begins, or Taintward has listed all objects.
    RecordBegan,
    /// A process of Taintward begins.
    ListingBegan,
    /// Something is not recorded.
    GapFound,
    NodeAdded,
    NodeDeleted,
    NodeUndecodable,
    NodeUnreadable,
    TaintsChanged,
    PodBound,
    PodUndecodable,
    PodFinished,
    PodTerminating,
    PodDeleted,
    TolerationsChanged,
    SecondsChanged,
    CountdownStarted,
    CountdownMoved,
    CountdownCancelled,
    CountdownsHeld,
    CountdownsResumed,
    BecameDue,
    EvictionDelayed,
    RequestSucceeded,
    RequestFailed,
    ResponseMissing,
    PodEvicted,
    TolerationUnsupported,
    OtherControllerDetected,
    BrakeBegan,
    BrakeEnded,
    StoreRestored,
    NodeNotReady,
    NodeSilent,
    NodeTainted,
    NodeWouldBeTainted,
    ZoneChanged,
    ObservationInterrupted,
}

/// An entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HistoryEntry {
    pub(crate) at: Wall,
    pub(crate) object: HistoryObject,
    pub(crate) event: HistoryEvent,
    /// For people: continues a sentence that begins with the object.
    pub(crate) message: String,
}

/// The entries that a filter admits, in the order of the record.
pub(crate) struct EntryLog {
    pub(crate) filter: HistoryFilter,
    pub(crate) entries: Vec<HistoryEntry>,
}

impl EntryLog {
    pub(crate) const fn new(filter: HistoryFilter) -> Self {
        Self { filter, entries: Vec::new() }
    }

    /// Adds an entry, unless it is too old. Its object was admitted by the caller.
    pub(crate) fn add(&mut self, now: Now, object: HistoryObject, event: HistoryEvent, message: String) {
        if self.filter.since.is_none_or(|since| now.wall >= since) {
            self.entries.push(HistoryEntry { at: now.wall, object, event, message });
        }
    }
}

//! Merges what the controllers of a record tell into one history.

use super::entry::{HistoryEntry, HistoryObject};
use super::eviction_entries::EvictionEntries;
use super::filter::HistoryFilter;
use super::node_entries::NodeEntries;
use super::seconds_entries::SecondsEntries;
use std::io::BufRead;
use taintward_core::eviction::EvictionEngine;
use taintward_core::node_lifecycle::NodeLifecycleEngine;
use taintward_core::toleration_seconds::TolerationSecondsEngine;
use taintward_record::{EngineFollower, RecordError, RecordReader, RecordedController};

/// The history of a record that is being read, which may have several files.
pub(crate) struct Timeline {
    filter: HistoryFilter,
    eviction: (EngineFollower<EvictionEngine>, EvictionEntries),
    nodes: (EngineFollower<NodeLifecycleEngine>, NodeEntries),
    seconds: (EngineFollower<TolerationSecondsEngine>, SecondsEntries),
}

impl Timeline {
    pub(crate) fn new(filter: HistoryFilter) -> Self {
        Self {
            eviction: (EngineFollower::new(), EvictionEntries::new(filter.clone())),
            nodes: (EngineFollower::new(), NodeEntries::new(filter.clone())),
            seconds: (EngineFollower::new(), SecondsEntries::new(filter.clone())),
            filter,
        }
    }

    /// Reads a file to its end.
    pub(crate) fn read<R: BufRead>(&mut self, record: &mut RecordReader<R>) -> Result<(), RecordError> {
        while let Some(frame) = record.next_frame()? {
            match frame.controller {
                RecordedController::TaintEviction => self.eviction.0.read(&frame, &mut self.eviction.1)?,
                RecordedController::NodeLifecycle => self.nodes.0.read(&frame, &mut self.nodes.1)?,
                RecordedController::TolerationSeconds => self.seconds.0.read(&frame, &mut self.seconds.1)?,
            }
        }
        Ok(())
    }

    /// The entries, the oldest first; those of one moment in the order in which the controllers pass a taint on.
    pub(crate) fn finish(mut self) -> Vec<HistoryEntry> {
        self.eviction.1.finish();
        let is_included = |entry: &HistoryEntry| match &entry.object {
            HistoryObject::Node(node) if self.filter.is_detailed() => {
                self.filter.names_node(node) || self.eviction.1.nodes().contains(node)
            }
            _ => true,
        };
        let mut entries: Vec<HistoryEntry> = self
            .nodes
            .1
            .log
            .entries
            .into_iter()
            .chain(self.seconds.1.log.entries)
            .filter(is_included)
            .collect();
        entries.extend(self.eviction.1.log.entries);
        entries.sort_by_key(|entry| entry.at);
        entries
    }
}

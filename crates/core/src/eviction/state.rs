//! Keeps what follows from the facts: what is planned, what is to be told, what is counted.

use super::notice::EvictionNotice;
use super::phase::CountdownCounts;
use super::work_queue::WorkQueue;
use crate::countdown_hold::HoldHistory;
use alloc::vec::Vec;

/// Everything beside the facts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct EvictionState {
    pub(super) queue: WorkQueue,
    pub(super) notices: Vec<EvictionNotice>,
    pub(super) pods: usize,
    pub(super) counts: CountdownCounts,
    pub(super) holds: HoldHistory,
}

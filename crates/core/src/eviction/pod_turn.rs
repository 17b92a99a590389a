//! Defines what a pod's turn is decided by, and what it comes to.

use super::confirmation::NodeConfirmation;
use super::effect::EvictionEffect;
use crate::countdown_hold::HoldHistory;
use crate::fact::PodOwnerKind;
use crate::identity::{PodName, ResourceVersion};
use crate::verdict::{TaintInstance, Verdict};

/// What a pod's turn is decided by.
pub(super) struct PodTurn<'a> {
    pub(super) name: &'a PodName,
    pub(super) generation: u32,
    pub(super) version: Option<ResourceVersion>,
    pub(super) is_marked: bool,
    pub(super) owner: PodOwnerKind,
    pub(super) verdict: Verdict,
    pub(super) taints: &'a [TaintInstance],
    pub(super) holds: &'a HoldHistory,
    pub(super) node_version: Option<ResourceVersion>,
    pub(super) confirmation: &'a mut NodeConfirmation,
}

/// What a turn came to.
pub(super) enum Dispatch {
    /// Send this.
    Send(EvictionEffect),
    /// It waits for something; another pod's turn.
    Waiting,
    /// It stays after all: nothing more to do.
    Finished,
}

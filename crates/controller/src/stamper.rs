//! # Stamper: `timeAdded` for taints that were seen appearing without one
//! Room:     which taints to stamp, one try after the other (`--stamp-taints`, D1).
//! Comes in: notices of taints seen appearing, once per instance.
//! Goes out: one small patch per taint, whose tests make losing a concurrent edit impossible.
//! Keeps:    never a second stamp for one instance: whoever takes it away has the last word.
//! Not here: the patch itself (the client).

use crate::words::moment;
use std::collections::VecDeque;
use taintward_client::act::{Actor, Refusal, Stamped};
use taintward_core::effect::Failure;
use taintward_core::engine::Reading;
use taintward_core::names::{NodeName, Uid};
use taintward_core::taint::Effect;
use taintward_core::time::{Mono, Now};

/// Taints that wait at most; what comes on top stays unstamped, which costs nothing but exactness over restarts.
const WAITING_MAX: usize = 10_000;

/// Other writers may come in between this often.
const TRIES_MAX: u32 = 5;

/// One taint to stamp.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    pub(crate) node: NodeName,
    pub(crate) uid: Uid,
    pub(crate) key: Box<str>,
    pub(crate) at: Mono,
}

/// Taints that wait for their stamp.
#[derive(Debug, Default)]
pub(crate) struct Stamper {
    waiting: VecDeque<Stamp>,
    forbidden: bool,
}

impl Stamper {
    pub(crate) fn add(&mut self, stamp: Stamp) {
        if !self.forbidden && self.waiting.len() < WAITING_MAX {
            self.waiting.push_back(stamp);
        }
    }

    pub(crate) fn next(&mut self) -> Option<Stamp> {
        self.waiting.pop_front()
    }

    /// What came of a stamp. Without the permission there is one warning, and things go on.
    pub(crate) fn answered(&mut self, stamp: &Stamp, result: &Result<(), Refusal>) {
        match result {
            Ok(()) => tracing::debug!(node = %stamp.node, taint = %stamp.key, "taint stamped with timeAdded"),
            Err(Refusal { failure: Failure::Forbidden, message }) => {
                self.waiting.clear();
                if !std::mem::replace(&mut self.forbidden, true) {
                    tracing::warn!(
                        err = %message,
                        "--stamp-taints has no effect: grant the verb patch on nodes, or leave the flag away"
                    );
                }
            }
            Err(Refusal { message, .. }) => {
                tracing::info!(node = %stamp.node, taint = %stamp.key, err = %message, "taint left without timeAdded");
            }
        }
    }
}

/// Stamps one taint if it is still there and still without a time.
pub(crate) async fn stamp(actor: Actor, stamp: Stamp, now: Now) -> (Stamp, Result<(), Refusal>) {
    let mut last = Ok(());
    for _ in 0..TRIES_MAX {
        last = once(&actor, &stamp, now).await;
        if !matches!(last, Err(Refusal { failure: Failure::Conflict, .. })) {
            break;
        }
    }
    (stamp, last)
}

async fn once(actor: &Actor, stamp: &Stamp, now: Now) -> Result<(), Refusal> {
    let Reading::Is(node) = actor.read_node(&stamp.node).await? else { return Ok(()) };
    let is_meant = |taint: &taintward_core::taint::Taint| {
        taint.effect == Effect::NoExecute && taint.key == stamp.key && taint.time_added.is_none()
    };
    let Some(index) = node.taints.iter().position(is_meant).filter(|_| node.uid == stamp.uid) else {
        return Ok(());
    };
    match actor.stamp(&node, index, now.wall_of(stamp.at)).await? {
        Stamped::Done(_) | Stamped::NotNeeded => {
            tracing::debug!(node = %stamp.node, at = moment(stamp.at, now), "timeAdded written");
            Ok(())
        }
    }
}

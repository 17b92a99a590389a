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
use taintward_core::time::{Mono, Now, Span};

/// Taints that wait at most; what comes on top stays unstamped, which costs nothing but exactness over restarts.
const WAITING_MAX: usize = 10_000;

/// Other writers may come in between this often; with the pauses, for about ten seconds.
const TRIES_MAX: u32 = 16;

/// The pause after the first try that met another writer, and the longest.
const PAUSE_FIRST_MILLIS: i64 = 20;
const PAUSE_MAX: Span = Span::from_secs(1);

/// One taint to stamp.
#[derive(Clone, Debug)]
pub(crate) struct Stamp {
    node: NodeName,
    uid: Uid,
    key: Box<str>,
    at: Mono,
    tries: u32,
    not_before: Mono,
}

impl Stamp {
    /// A taint that appeared at this moment.
    pub(crate) fn new(node: NodeName, uid: Uid, key: Box<str>, at: Mono) -> Self {
        Self { node, uid, key, at, tries: 0, not_before: at }
    }
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

    /// The next one whose time has come.
    pub(crate) fn next(&mut self, now: Mono) -> Option<Stamp> {
        let position = self.waiting.iter().position(|stamp| stamp.not_before <= now)?;
        self.waiting.remove(position)
    }

    /// When the next one's time comes.
    pub(crate) fn wake_at(&self) -> Option<Mono> {
        self.waiting.iter().map(|stamp| stamp.not_before).min()
    }

    /// What came of a stamp. Without the permission there is one warning, and things go on.
    pub(crate) fn answered(&mut self, stamp: Stamp, result: &Result<(), Refusal>, now: Mono) {
        match result {
            Ok(()) => tracing::debug!(node = %stamp.node, taint = %stamp.key, "taint stamped with timeAdded"),
            Err(Refusal { failure: Failure::Forbidden, message, .. }) => {
                self.waiting.clear();
                if !std::mem::replace(&mut self.forbidden, true) {
                    tracing::warn!(
                        err = %message,
                        "--stamp-taints has no effect: grant the verb patch on nodes, or leave the flag away"
                    );
                }
            }
            Err(Refusal { failure: Failure::Conflict, .. }) if stamp.tries + 1 < TRIES_MAX => {
                self.again(stamp, now);
            }
            Err(Refusal { message, .. }) => {
                tracing::info!(node = %stamp.node, taint = %stamp.key, err = %message, "taint left without timeAdded");
            }
        }
    }

    /// Another writer came in between. What is found next time may be another instance of the taint: so the time is
    /// that of the retry, too late at worst, and nobody leaves early by it (S3).
    fn again(&mut self, stamp: Stamp, now: Mono) {
        let pause = Span::from_millis(PAUSE_FIRST_MILLIS << stamp.tries.min(10)).min(PAUSE_MAX);
        let not_before = now.plus(pause);
        self.add(Stamp { tries: stamp.tries + 1, at: not_before, not_before, ..stamp });
    }
}

/// Stamps one taint if it is still there and still without a time.
pub(crate) async fn stamp(actor: Actor, stamp: Stamp, now: Now) -> (Stamp, Result<(), Refusal>) {
    let result = once(&actor, &stamp, now).await;
    (stamp, result)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(failure: Failure) -> Result<(), Refusal> {
        Err(Refusal::ours(failure, "no".into()))
    }

    fn stamp() -> Stamp {
        Stamp::new(NodeName::new("n"), Uid::new("u"), "k".into(), Mono::from_secs(1))
    }

    #[test]
    fn a_conflict_is_tried_again_later_and_never_with_an_earlier_time() {
        let mut stamper = Stamper::default();
        stamper.add(stamp());
        let mut now = Mono::from_secs(2);
        for tries in 0..TRIES_MAX {
            let next = stamper.next(now).unwrap();
            assert_eq!((next.tries, stamper.next(now).is_none()), (tries, true));
            stamper.answered(next, &refused(Failure::Conflict), now);
            assert!(stamper.next(now).is_none());
            if let Some(wake) = stamper.wake_at() {
                assert!(wake > now && wake <= now.plus(PAUSE_MAX));
                assert_eq!(stamper.waiting[0].at, wake);
                now = wake;
            }
        }
        assert!(stamper.waiting.is_empty() && stamper.wake_at().is_none());
    }

    #[test]
    fn what_is_done_or_refused_for_other_reasons_is_over() {
        for result in [Ok(()), refused(Failure::Rejected), refused(Failure::Unavailable)] {
            let mut stamper = Stamper::default();
            stamper.answered(stamp(), &result, Mono::from_secs(2));
            assert!(stamper.waiting.is_empty());
            stamper.add(stamp());
            assert!(stamper.next(Mono::from_secs(1)).is_some());
        }
    }

    #[test]
    fn without_permission_nothing_waits_any_more() {
        let mut stamper = Stamper::default();
        stamper.add(stamp());
        stamper.answered(stamp(), &refused(Failure::Forbidden), Mono::from_secs(2));
        stamper.add(stamp());
        assert!(stamper.waiting.is_empty());
    }
}

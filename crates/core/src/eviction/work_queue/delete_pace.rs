//! Remembers in which namespaces deletions take long, because an admission webhook does, and gives them more time.
//!
//! - Invariant: once a deletion in a namespace has taken long, the next ones get the longest time limit (D3); those that
//!   are in flight then keep theirs. None waits to find out, so that equals leave in order (TE-46).
//! - Invariant: few slow deletions are in flight, so that they leave room for other requests (L6).

use crate::identity::PodRef;
use crate::time::{Mono, Span};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// An API server alone needs less than this for a deletion.
const QUICK_MAX: Span = Span::from_millis(300);

/// A deletion that took this long may take longer than the usual time limit the next time.
const SLOW_MIN: Span = Span::from_secs(1);

/// How long it is remembered that deletions take long in a namespace, and that they do not.
const SLOW_REMEMBERED: Span = Span::from_secs(600);
const QUICK_REMEMBERED: Span = Span::from_secs(60);

/// The largest number of slow deletions in flight.
const SLOW_MAX: usize = 32;

/// How long deletions take in a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct NamespacePace {
    slow_until: Option<Mono>,
    quick_until: Option<Mono>,
    /// When the deletion was sent that shows how long they take.
    trial: Option<Mono>,
}

impl NamespacePace {
    /// Whether the trial has taken so long that deletions are slow.
    fn note_long_trial(&mut self, now: Mono) -> bool {
        let is_long = self.trial.is_some_and(|sent| sent.plus(QUICK_MAX) <= now);
        if is_long {
            self.slow_until = Some(now.plus(SLOW_REMEMBERED));
        }
        is_long
    }
}

/// How a deletion is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeleteAdmission {
    /// With the usual time limit.
    Usual,
    /// With the longest time limit that its confirmation leaves.
    Longest,
    /// Not now: the pod gets its turn when there is room.
    Wait,
}

/// How long deletions take, by namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct DeletePace {
    namespaces: BTreeMap<Arc<str>, NamespacePace>,
    slow_in_flight: usize,
    /// Pods that wait until there is room for another slow deletion.
    crowded: VecDeque<PodRef>,
}

impl DeletePace {
    /// Whether deletions are known to take long in this namespace.
    pub(crate) fn is_slow(&self, namespace: &str, now: Mono) -> bool {
        self.namespaces.get(namespace).is_some_and(|pace| pace.slow_until.is_some_and(|until| now < until))
    }

    /// Decides how a pod of this namespace is deleted; `slow`: an earlier deletion of it got no response.
    pub(crate) fn admit(
        &mut self,
        namespace: &Arc<str>,
        pod: &PodRef,
        slow: bool,
        now: Mono,
    ) -> DeleteAdmission {
        self.namespaces.get_mut(namespace).map(|pace| pace.note_long_trial(now));
        if slow || self.is_slow(namespace, now) {
            if self.slow_in_flight >= SLOW_MAX {
                self.crowded.push_back(pod.clone());
                return DeleteAdmission::Wait;
            }
            self.slow_in_flight += 1;
            return DeleteAdmission::Longest;
        }
        let pace = self.namespaces.entry(namespace.clone()).or_default();
        let is_quick = pace.quick_until.is_some_and(|until| now < until);
        if !is_quick {
            pace.trial.get_or_insert(now);
        }
        DeleteAdmission::Usual
    }

    /// A deletion ended; `is_answered`: by a response that shows its result. Returns the pods that get their turn.
    pub(crate) fn ended(
        &mut self,
        namespace: &Arc<str>,
        sent: Mono,
        was_slow: bool,
        is_answered: bool,
        now: Mono,
    ) -> Vec<PodRef> {
        let mut turns = Vec::new();
        if was_slow {
            self.slow_in_flight = self.slow_in_flight.saturating_sub(1);
            turns.extend(self.crowded.pop_front());
        }
        let pace = self.namespaces.entry(namespace.clone()).or_default();
        let took = now.since(sent);
        if took >= SLOW_MIN {
            (pace.slow_until, pace.quick_until) = (Some(now.plus(SLOW_REMEMBERED)), None);
        } else if is_answered {
            (pace.slow_until, pace.quick_until) = (None, Some(now.plus(QUICK_REMEMBERED)));
        }
        if pace.trial == Some(sent) {
            pace.trial = None;
        }
        turns
    }

    /// No eviction is in progress: only slow namespaces are remembered.
    pub(crate) fn clear(&mut self) {
        self.namespaces.retain(|_, pace| pace.slow_until.is_some());
        for pace in self.namespaces.values_mut() {
            *pace = NamespacePace { slow_until: pace.slow_until, ..NamespacePace::default() };
        }
        (self.slow_in_flight, self.crowded) = (0, VecDeque::new());
    }
}

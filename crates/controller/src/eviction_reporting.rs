//! # Teller: what operators read
//! Room:     notices of the engine as log lines, metrics and events; complaints about requests that failed.
//! Comes in: notices, refusals.
//! Goes out: one line per eviction with the reason; few lines when much goes wrong.
//! Not here: the wording of reasons (`eviction_messages.rs`).

use crate::eviction::EvictionController;
use crate::eviction_effects::EffectResult;
use crate::eviction_events::EvictionEventKind;
use crate::eviction_messages;
use crate::metrics::{DeletionTimes, Queue, Sign};
use crate::settings::{ORIGINAL_OFF, WriteMode};
use crate::time_added_writer::PendingTimestamp;
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionNotice, EvictionReason};
use taintward_core::identity::PodRef;
use taintward_core::time::{Mono, Now, Span};
use taintward_core::verdict::Outcome;
use taintward_kube::api::RequestError;

/// A few per time; the rest is counted.
#[derive(Debug)]
pub(crate) struct LogRateLimit {
    most: u32,
    per: Span,
    since: Option<Mono>,
    used: u32,
    withheld: u64,
}

impl LogRateLimit {
    pub(crate) const fn per_second(most: u32) -> Self {
        Self { most, per: Span::from_secs(1), since: None, used: 0, withheld: 0 }
    }

    pub(crate) const fn per_minute(most: u32) -> Self {
        Self { most, per: Span::from_secs(60), since: None, used: 0, withheld: 0 }
    }

    /// Whether one more may be said; with how many were withheld before it.
    pub(crate) fn take(&mut self, now: Mono) -> Option<u64> {
        if self.since.is_none_or(|since| now >= since.plus(self.per)) {
            (self.since, self.used) = (Some(now), 0);
        }
        if self.used >= self.most {
            self.withheld += 1;
            return None;
        }
        self.used += 1;
        Some(std::mem::take(&mut self.withheld))
    }

    /// How many were withheld, once their time is over; without `now`, it is.
    pub(crate) fn take_withheld(&mut self, now: Option<Mono>) -> u64 {
        let goes_on = now.is_some_and(|now| self.since.is_some_and(|since| now < since.plus(self.per)));
        if goes_on { 0 } else { std::mem::take(&mut self.withheld) }
    }
}

impl EvictionController {
    /// Tells everything there is to tell.
    pub(crate) fn tell(&mut self, now: Now) {
        for notice in self.engine.take_notices() {
            match notice {
                EvictionNotice::Evicted { pod, reason } => self.tell_evicted(&pod, &reason, now),
                EvictionNotice::BecameDue { pod, .. } => self.tell_due(&pod, now),
                EvictionNotice::CountdownStarted { pod, until } => {
                    self.tell_countdown(&pod, until, "countdown started", now)
                }
                EvictionNotice::CountdownMoved { pod, until } => {
                    self.tell_countdown(&pod, until, "countdown moved", now)
                }
                EvictionNotice::CountdownCancelled { pod } => self.tell_cancelled(&pod, now),
                EvictionNotice::CountdownsHeld { pods: 0 }
                | EvictionNotice::CountdownsResumed { pods: 0, .. } => {}
                EvictionNotice::CountdownsHeld { pods } => {
                    tracing::warn!(pods, "countdowns held: everything is down, or no node is heard of")
                }
                EvictionNotice::CountdownsResumed { held, pods } => {
                    tracing::warn!(pods, held_seconds = held.as_secs_f64(), "countdowns go on, as much later")
                }
                EvictionNotice::UnsupportedToleration { pod } => self.tell_not_understood(&pod, now),
                EvictionNotice::ResourceVersionWentBack => self.tell_rewound(now.mono),
                EvictionNotice::OtherControllerDetected { pod } => {
                    self.tell_foreign(&pod, Sign::Condition, now)
                }
                EvictionNotice::EvictedByOther { pod } => self.tell_foreign(&pod, Sign::Deletion, now),
                EvictionNotice::TaintWithoutTimeAdded { node, uid, key, at } => {
                    if self.may_act()
                        && let Some(stamper) = &mut self.stamper
                    {
                        stamper.add(PendingTimestamp::new(node, uid, key, at));
                    }
                }
            }
        }
    }

    fn tell_evicted(&mut self, pod: &PodRef, grounds: &EvictionReason, now: Now) {
        // What was due before we knew of it counts from when we knew.
        let due = grounds.due.max(grounds.known_due);
        self.metrics.evictions.deleted(DeletionTimes {
            due,
            confirmed: grounds.confirmed,
            sent: grounds.decided,
            answered: now.mono,
        });
        let (waited, worked) = (grounds.decided.since(due), now.mono.since(grounds.decided));
        self.metrics.queues.handled(Queue::Pod, waited, worked);
        let taint = grounds.taint.to_string();
        tracing::info!(
            pod = grounds.name.as_str(),
            uid = %pod.uid,
            node = pod.node.as_str(),
            taint,
            late_seconds = now.mono.since(due).as_secs_f64(),
            reason = eviction_messages::why(&pod.node, grounds, now),
            "pod evicted"
        );
        let note = eviction_messages::evicted(&pod.node, grounds, now);
        self.event_recorder.tell(
            EvictionEventKind::Evicted,
            &pod.node,
            (&grounds.name, &pod.uid),
            note,
            now.wall,
        );
    }

    fn tell_due(&mut self, pod: &PodRef, now: Now) {
        self.metrics.queues.added(Queue::Pod, false);
        if self.mode != WriteMode::Observe {
            return;
        }
        self.metrics.evictions.would_evict.inc();
        if !self.lines.admit("would evict pod now", now.mono) {
            return;
        }
        if let Some((name, verdict, taints)) = self.engine.explain(pod, now) {
            let taint =
                verdict.decisive.and_then(|at| taints.get(at)).map(|instance| instance.taint.to_string());
            tracing::info!(
                pod = name.as_str(),
                uid = %pod.uid,
                node = pod.node.as_str(),
                taint,
                "would evict pod now"
            );
        }
    }

    fn tell_countdown(&mut self, pod: &PodRef, until: Mono, message: &'static str, now: Now) {
        let observing = self.mode == WriteMode::Observe;
        let shown = observing || tracing::enabled!(tracing::Level::DEBUG);
        if !shown || !self.lines.admit(message, now.mono) {
            return;
        }
        let Some((name, verdict, taints)) = self.engine.explain(pod, now) else { return };
        let taint = verdict.decisive.and_then(|at| taints.get(at)).map(|instance| instance.taint.to_string());
        let (name, node, until, left) = (
            name.as_str(),
            pod.node.as_str(),
            eviction_messages::moment(until, now),
            eviction_messages::length(until.since(now.mono)),
        );
        match observing {
            true => tracing::info!(pod = name, node, taint, until, left, "{message}"),
            false => tracing::debug!(pod = name, node, taint, until, left, "{message}"),
        }
    }

    fn tell_cancelled(&mut self, pod: &PodRef, now: Now) {
        let Some((name, ..)) = self.engine.explain(pod, now) else { return };
        let name = name.clone();
        if self.lines.admit("countdown cancelled", now.mono) {
            tracing::info!(pod = name.as_str(), uid = %pod.uid, node = pod.node.as_str(), "countdown cancelled");
        }
        if self.may_act() {
            let note = eviction_messages::cancelled(&pod.node, &name);
            self.event_recorder.tell(
                EvictionEventKind::Cancelled,
                &pod.node,
                (&name, &pod.uid),
                note,
                now.wall,
            );
        }
    }

    fn tell_not_understood(&mut self, pod: &PodRef, now: Now) {
        const MESSAGE: &str =
            "pod stays: it has a toleration whose operator or effect this version does not know";
        if !self.lines.admit(MESSAGE, now.mono) {
            return;
        }
        let Some((name, verdict, _)) = self.engine.explain(pod, now) else { return };
        let toleration = verdict.reasons.iter().find_map(|reason| match reason.taint_match {
            taintward_core::toleration_matching::TaintMatch::Unsupported(position) => Some(position),
            _ => None,
        });
        debug_assert!(matches!(verdict.outcome, Outcome::Stays(_)), "what is not understood does not evict");
        tracing::warn!(
            pod = name.as_str(),
            uid = %pod.uid,
            node = pod.node.as_str(),
            toleration,
            "{MESSAGE}"
        );
    }

    /// Watches are believed no longer: a store that was put back is silent about it.
    fn tell_rewound(&mut self, now: Mono) {
        self.relist_now.ask();
        if let Some(withheld) = self.rewound.take(now) {
            tracing::warn!(
                withheld,
                "a live read contradicts what the API server's watches told, as after its store was restored from a \
                 backup: everything is listed again"
            );
        }
    }

    /// Another evicts beside us. Told by the leader, so that it is counted once; by it alone it can be seen who deletes.
    fn tell_foreign(&mut self, pod: &PodRef, sign: Sign, now: Now) {
        if self.mode == WriteMode::Enforce && !self.may_act() {
            return;
        }
        self.metrics.evictions.other_controller.of(sign).inc();
        // Somebody may have deleted a pod in just that moment, but not pod after pod.
        if sign == Sign::Deletion && self.chance.take(now.mono).is_some() {
            return;
        }
        let Some(withheld) = self.foreign.take(now.mono) else { return };
        let name = self.engine.explain(pod, now).map(|(name, ..)| name.to_string());
        let (uid, node) = (&pod.uid, pod.node.as_str());
        match self.mode {
            WriteMode::Observe => {
                tracing::info!(
                    pod = name,
                    %uid,
                    node,
                    withheld,
                    "another taint eviction controller marked a pod for deletion"
                );
            }
            WriteMode::Enforce => tracing::warn!(
                pod = name,
                %uid,
                node,
                withheld,
                "another taint eviction controller is at work beside this one: {ORIGINAL_OFF}, or start this one with \
                 --mode=observe"
            ),
        }
    }

    /// Says that a request failed and will be tried again; not for every one of thousands.
    pub(crate) fn complain(&mut self, done: &EffectResult, refusal: &RequestError, now: Mono) {
        let Some(withheld) = self.complaints.take(now) else { return };
        let uid = done.what.pod.as_ref().map(|pod| pod.uid.to_string());
        let request = done.what.kind.map_or("look", crate::metrics::Effect::as_str);
        tracing::warn!(
            request,
            object = done.what.object,
            uid,
            err = %refusal.message,
            withheld,
            "request failed; it is tried again as long as there is reason to"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_withholds_and_counts() {
        let mut quota = LogRateLimit::per_second(2);
        let at = |millis: i64| Mono::from_micros(millis * 1000);
        assert_eq!((quota.take(at(0)), quota.take(at(1)), quota.take(at(2))), (Some(0), Some(0), None));
        assert_eq!((quota.take(at(999)), quota.take(at(1000))), (None, Some(2)));
    }
}

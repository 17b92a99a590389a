//! Tells what taint-eviction-controller decided.

use super::super::entry::HistoryEvent;
use super::super::sentences;
use super::EvictionEntries;
use crate::messages::counted;
use crate::output::age;
use taintward_controller::eviction_messages::why_cancelled;
use taintward_core::eviction::{EvictionEngine, EvictionNotice, EvictionReason, TaintImpact};
use taintward_core::identity::{NodeName, PodRef};
use taintward_core::time::Now;

impl EvictionEntries {
    pub(super) fn notice(&mut self, engine: &EvictionEngine, notice: EvictionNotice, now: Now) {
        // What an engine decides in a tick is taken with the notices at the end of its turn, after requests.
        let decided = self.ticked.unwrap_or(now);
        match notice {
            EvictionNotice::CountdownStarted { pod, .. } => {
                self.countdown(engine, &pod, HistoryEvent::CountdownStarted, decided);
            }
            EvictionNotice::CountdownMoved { pod, .. } => {
                self.countdown(engine, &pod, HistoryEvent::CountdownMoved, decided);
            }
            EvictionNotice::BecameDue { pod, .. } => {
                self.countdown(engine, &pod, HistoryEvent::BecameDue, decided);
            }
            EvictionNotice::CountdownCancelled { pod, name, reason, taint } => {
                let why = why_cancelled(&pod.node, reason, taint.as_deref());
                self.add_decision(
                    now,
                    &pod,
                    &name,
                    HistoryEvent::CountdownCancelled,
                    format!("stays: {why}"),
                );
            }
            EvictionNotice::Evicted { pod, reason } => self.evicted(&pod, &reason, now),
            EvictionNotice::UnsupportedToleration { pod } => {
                let message = "stays: a toleration has an unsupported operator or effect";
                self.decision(engine, &pod, HistoryEvent::TolerationUnsupported, message, now);
            }
            EvictionNotice::OtherControllerDetected { pod } => {
                let message = "got the condition DisruptionTarget from another taint-eviction controller";
                self.decision(engine, &pod, HistoryEvent::OtherControllerDetected, message, now);
            }
            EvictionNotice::EvictedByOther { pod } => {
                let message = "was deleted by another client, before Taintward's DELETE";
                self.decision(engine, &pod, HistoryEvent::OtherControllerDetected, message, now);
            }
            EvictionNotice::NodeTaintsChanged { node, impact } => self.impact(&node, &impact, decided),
            notice => self.cluster_notice(notice, now),
        }
    }

    /// Those that are not about one pod.
    fn cluster_notice(&mut self, notice: EvictionNotice, now: Now) {
        let (event, message) = match notice {
            EvictionNotice::CountdownsHeld { pods } => (
                HistoryEvent::CountdownsHeld,
                format!("the countdowns of node health are on hold, of {} now", counted(pods, "pod")),
            ),
            EvictionNotice::CountdownsResumed { held, pods } => (
                HistoryEvent::CountdownsResumed,
                format!("the countdowns of node health resume after {}, of {}", age(held), counted(pods, "pod")),
            ),
            EvictionNotice::BrakeBegan { key, node, nodes, limit } => (
                HistoryEvent::BrakeBegan,
                format!(
                    "the brake delays evictions by taint key {key}, first on node {node}: it evicts pods of {} and \
                     --brake-limit allows {limit}",
                    counted(nodes, "node")
                ),
            ),
            EvictionNotice::BrakeEnded { key, .. } => (
                HistoryEvent::BrakeEnded,
                format!("the brake delays no eviction by taint key {key} any more"),
            ),
            EvictionNotice::ResourceVersionWentBack => (
                HistoryEvent::StoreRestored,
                "the API server's store may have been restored from a backup; Taintward lists all objects again"
                    .to_owned(),
            ),
            _ => return,
        };
        self.add_cluster(now, event, message);
    }

    fn decision(
        &mut self,
        engine: &EvictionEngine,
        pod: &PodRef,
        event: HistoryEvent,
        message: &str,
        now: Now,
    ) {
        if let Some((name, ..)) = engine.explain(pod, now) {
            self.add_decision(now, pod, name, event, message.to_owned());
        }
    }

    fn evicted(&mut self, pod: &PodRef, reason: &EvictionReason, now: Now) {
        let because = sentences::evicted_because(&pod.node, reason, now);
        let late = sentences::after(reason.due.max(reason.known_due), now);
        let message = format!("was deleted by Taintward, {late} after it was due: {because}");
        self.add_decision(now, pod, &reason.name, HistoryEvent::PodEvicted, message);
    }

    /// Without named objects, what a node's taints do to its pods; with them, each has its own entry.
    fn impact(&mut self, node: &NodeName, impact: &TaintImpact, now: Now) {
        if self.log.filter.is_detailed() {
            return;
        }
        let TaintImpact { taints, due, counting, deadlines, held, staying } = impact;
        let leaving =
            |pods: usize| if pods == 1 { "1 pod leaves".to_owned() } else { format!("{pods} pods leave") };
        let mut parts = Vec::new();
        if *due > 0 {
            parts.push(format!("{} now", leaving(*due)));
        }
        if let Some((first, last)) = deadlines {
            let until = match first == last {
                true => format!("at {}", sentences::time(*first, now)),
                false => format!("from {} to {}", sentences::time(*first, now), sentences::time(*last, now)),
            };
            parts.push(format!("{} {until}", leaving(*counting)));
        }
        if *held > 0 {
            parts.push(format!("{} on hold", counted(*held, "pod")));
        }
        parts.push(format!("{staying} {}", if *staying == 1 { "stays" } else { "stay" }));
        let message = format!("{}: {}", sentences::has_taints(taints), parts.join(", "));
        self.add_node(now, node, HistoryEvent::TaintsChanged, message);
    }
}

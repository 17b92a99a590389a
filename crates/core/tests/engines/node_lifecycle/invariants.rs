//! Checks the rules of node lifecycle at every commit, with exact knowledge of when each node was alive.

use crate::node_lifecycle::harness::{Kubelet, SECOND};
use std::collections::BTreeMap;
use taintward_core::node_lifecycle::{
    ConditionKind, ConditionStatus, ManagedTaint, ManagedTaints, NodeHealthFact, NodeLifecycleFlags, ZoneKey,
};

#[derive(Clone, Default)]
pub struct InvariantChecker {
    received: BTreeMap<String, i64>,
    started: i64,
    /// NoExecute taints on nodes that had none, by zone.
    pub evictions: BTreeMap<ZoneKey, Vec<i64>>,
    /// A test in which silence does not mean death: kubelets whose heartbeats are late.
    pub silence_counts: bool,
}

impl InvariantChecker {
    pub fn start(&mut self, now: i64) {
        self.started = now;
    }

    pub fn received(&mut self, name: &str, now: i64) {
        self.received.insert(name.into(), now);
    }

    pub fn commit(
        &mut self,
        now: i64,
        flags: &NodeLifecycleFlags,
        (kubelet, all_down): (&Kubelet, bool),
        before: &NodeHealthFact,
        after: &NodeHealthFact,
    ) {
        let (was, is) = (ManagedTaints::of(&before.taints), ManagedTaints::of(&after.taints));
        let foreign = |fact: &NodeHealthFact| -> Vec<_> {
            fact.taints.iter().filter(|taint| ManagedTaint::of(taint).is_none()).cloned().collect()
        };
        assert_eq!(foreign(before), foreign(after), "S8");
        let both = ManagedTaints::NO_EXECUTE;
        assert_ne!(is.no_execute(), both, "NL-21: both NoExecute taints at the same time");
        if is.has(ManagedTaint::UnreachableNoExecute) && was.no_execute().is_empty() {
            let received = self.received.get(after.name.as_str()).copied().unwrap_or(i64::MIN / 2);
            let silent = now - received;
            assert!(
                silent > flags.monitor_grace_micros,
                "the last heartbeat of {} was {silent} µs ago",
                after.name
            );
            assert!(!kubelet.alive || self.silence_counts, "{} is alive", after.name);
            assert!(now - self.started > flags.monitor_grace_micros, "S7: observed for too short a time");
        }
        if is.has(ManagedTaint::NotReadyNoExecute) && was.no_execute().is_empty() {
            let ready = before.conditions.iter().find(|it| it.kind == ConditionKind::Ready);
            let is_reported = ready.is_some_and(|ready| ready.status == ConditionStatus::False);
            assert!(is_reported, "{} does not say that it is not ready", after.name);
        }
        if was.no_execute().is_empty() && !is.no_execute().is_empty() {
            assert!(
                !all_down,
                "NL-27: {} is tainted at {now} while all zones are fully disrupted",
                after.name
            );
            self.evictions.entry(after.zone.clone()).or_default().push(now);
            self.assert_rate(flags);
        }
    }

    /// S6: in any window at most one, plus as many as the rate allows.
    fn assert_rate(&self, flags: &NodeLifecycleFlags) {
        for (zone, times) in &self.evictions {
            let Some((last, before)) = times.split_last() else { continue };
            for (at, first) in before.iter().rev().enumerate() {
                let allowed = 1.0 + flags.eviction_rate * (last - first) as f64 / SECOND as f64;
                let number = at as f64 + 2.0;
                assert!(number <= allowed + 1e-6, "S6: {number} in {} µs in {zone}", last - first);
            }
        }
    }
}

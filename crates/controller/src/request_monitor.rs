//! Checks each request of an engine when it is decided; counts and logs those that violate a property.
//!
//! - Invariant: it changes no request. The check is independent of the engine, and either of them may be wrong: an engine
//!   that evicts by mistake, or a check that would keep pods on a node forever.

use crate::log_rate_limit::LogRateLimit;
use crate::metrics::{ControllerMetrics, PropertyLabel};
use std::sync::Arc;
use taintward_core::engine::{Engine, Lane};
use taintward_core::engine_monitor::{EngineMonitor, RequestViolation};
use taintward_core::time::{Mono, Now};
use taintward_record::CallTap;

/// The monitor of the engine that a process runs.
pub(crate) struct RequestMonitor<M> {
    monitor: M,
    metrics: Arc<ControllerMetrics>,
    lines: LogRateLimit,
}

impl<M: EngineMonitor> RequestMonitor<M> {
    /// The monitor of an engine that has got no input yet.
    pub(crate) fn new(engine: &M::Engine, metrics: Arc<ControllerMetrics>) -> Self {
        Self { monitor: M::of(engine), metrics, lines: LogRateLimit::per_minute(10) }
    }

    fn report(&mut self, violation: &RequestViolation, now: Mono) {
        self.metrics.evictions.violations.of(PropertyLabel::from(violation.property)).inc();
        if let Some(withheld) = self.lines.take(now) {
            let RequestViolation { property, node, pod, reason, .. } = violation;
            let (pod, uid) = pod.as_ref().map(|(name, uid)| (name.to_string(), uid.to_string())).unzip();
            tracing::error!(
                property = property.id(),
                pod,
                uid,
                node = %node,
                reason,
                withheld,
                remedy = "report this line with the file that `taintward record` writes",
                "a request violates a property, which is a bug",
            );
        }
    }
}

impl<M: EngineMonitor + Send> CallTap<M::Engine> for RequestMonitor<M> {
    fn turn(&mut self, _: &M::Engine, _: Now) {}

    fn handle(&mut self, input: &<M::Engine as Engine>::Input, now: Now) {
        self.monitor.input(input, now);
    }

    fn tick(&mut self, _: Now) {}

    fn pull(&mut self, lane: Lane, effect: Option<&<M::Engine as Engine>::Effect>, now: Now) {
        let checked = match effect {
            Some(effect) => self.monitor.effect(effect, now),
            None if lane == Lane::All => self.monitor.idle(now),
            None => Ok(()),
        };
        if let Err(violation) = checked {
            self.report(&violation, now.mono);
        }
    }

    fn notices(&mut self, _: &[<M::Engine as Engine>::Notice], _: Now) {}

    fn flush(&mut self, _: Now) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eviction::tests::metrics;
    use crate::logging::LogFormat;
    use crate::logging::tests::logged;
    use taintward_core::engine::LiveRead;
    use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput};
    use taintward_core::eviction_monitor::EvictionMonitor;
    use taintward_core::identity::{NodeName, PodName};
    use taintward_core::object_event::ObjectEvent;
    use taintward_core::testkit::{node, pod, pod_ref, taint, toleration};
    use taintward_core::time::Wall;
    use taintward_kube::clock::Clock;

    /// A node whose taint the only pod tolerates for 60 s from the start on, and a read of it in that second.
    fn read_at(monitor: &mut RequestMonitor<EvictionMonitor>, read: Now, start: Now) {
        let tainted = node("n1").tainted([taint("k")]);
        let confirmed = LiveRead::Found(tainted.clone());
        let counting = pod("p").at_version(5).tolerates([toleration("k", Some(60))]);
        let node = node("n1");
        for event in [
            ObjectEvent::Applied { fact: node, listed: true },
            ObjectEvent::ListCompleted,
            ObjectEvent::Applied { fact: tainted, listed: false },
        ] {
            monitor.handle(&EvictionInput::Nodes(event), start);
        }
        for event in [ObjectEvent::Applied { fact: counting, listed: true }, ObjectEvent::ListCompleted] {
            monitor.handle(&EvictionInput::Pods(event), start);
        }
        let (node, sent, result) = (NodeName::new("n1"), read.mono, Ok(confirmed));
        monitor.handle(&EvictionInput::NodeConfirmed { node, sent, result }, read);
    }

    #[test]
    fn an_early_deletion_is_counted_and_logged_and_a_due_one_is_not() {
        let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
        let engine = EvictionEngine::new(EvictionConfig::default());
        let at = |second| Now::exact(Mono::from_secs(second), Wall::from_secs(1_800_000_000 + second));
        for (after, expected) in [(59, 1), (60, 0)] {
            let metrics = metrics(&clock);
            let mut monitor = RequestMonitor::<EvictionMonitor>::new(&engine, Arc::clone(&metrics));
            let now = at(10 + after);
            read_at(&mut monitor, now, at(10));
            let deletion = EvictionEffect::DeletePod {
                pod: pod_ref("p"),
                name: PodName::new("default", "p"),
                version: None,
                confirmed: now.mono,
                slow: false,
                grace_seconds: None,
            };
            let line = logged(LogFormat::Text, 0, || monitor.pull(Lane::All, Some(&deletion), now));
            assert_eq!(metrics.evictions.violations.of(PropertyLabel::NotEarly).get(), expected, "{after}");
            assert_eq!(line.contains("property=\"S3\" pod=\"default/p\""), expected == 1, "{line}");
        }
    }
}

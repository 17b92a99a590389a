//! Runs every test twice: with the empty configuration, and with an eviction policy that selects nothing, which must
//! change nothing. Each request is checked by the monitor.

use super::EPOCH;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use taintward_core::engine::{Engine, Lane};
use taintward_core::engine_monitor::EngineMonitor as _;
use taintward_core::eviction::{
    EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput, EvictionNotice,
};
use taintward_core::eviction_monitor::EvictionMonitor;
use taintward_core::eviction_policy::{
    BudgetRespect, EvictionPolicy, EvictionPolicyFact, RecordedPolicyStatus, SelectedTaint, UnavailableLimit,
    WaveOrder,
};
use taintward_core::identity::Uid;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Now, Wall};

/// An engine with the empty configuration, as which it is read. Panics if the same engine beside a policy that selects
/// nothing has another effect, notice or wakeup.
#[derive(Clone, Debug)]
pub struct PairedEngine {
    plain: EvictionEngine,
    /// `None`: the engine runs alone, which is faster.
    beside_policy: Option<EvictionEngine>,
    /// `None`: the inputs contradict each other, as no API server's do.
    monitor: Option<EvictionMonitor>,
}

/// Not by the monitor: it follows from one of the ways that lead to this state, and any of them is possible.
impl PartialEq for PairedEngine {
    fn eq(&self, other: &Self) -> bool {
        (&self.plain, &self.beside_policy) == (&other.plain, &other.beside_policy)
    }
}

impl Eq for PairedEngine {}

impl Hash for PairedEngine {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.plain, &self.beside_policy).hash(state);
    }
}

/// A policy that delays what it selects in every way, and selects nothing.
fn selecting_nothing() -> EvictionPolicy {
    EvictionPolicy {
        name: "nothing".into(),
        taints: vec![SelectedTaint { key: "nothing".into(), values: Vec::new() }],
        budgets: Some(BudgetRespect { deadline: None }),
        pods_per_minute: Some(1),
        nodes_at_once: Some(1),
        unavailable_per_workload: Some(UnavailableLimit { replicas: Some(1), percent: None }),
        order: Some(WaveOrder { timeout: None }),
        grace_seconds_max: Some(1),
        allow_holds: false,
        ..EvictionPolicy::default()
    }
}

impl PairedEngine {
    pub fn new(config: EvictionConfig) -> Self {
        Self::beside(selecting_nothing(), config)
    }

    /// The engine with the monitor only.
    pub fn alone(config: EvictionConfig) -> Self {
        let monitor = Some(EvictionMonitor::of_new_engine(config.numeric));
        Self { plain: EvictionEngine::new(config), beside_policy: None, monitor }
    }

    /// A new engine of the same kind.
    pub fn restarted(&self, config: EvictionConfig) -> Self {
        if self.beside_policy.is_some() { Self::new(config) } else { Self::alone(config) }
    }

    /// The same without the monitor.
    pub fn unmonitored(config: EvictionConfig) -> Self {
        Self { monitor: None, ..Self::new(config) }
    }

    /// The same beside another policy.
    pub fn beside(policy: EvictionPolicy, config: EvictionConfig) -> Self {
        let plain = EvictionEngine::new(config.clone());
        let monitor = Some(EvictionMonitor::of_new_engine(config.numeric));
        let mut beside_policy = EvictionEngine::new(EvictionConfig { policies: true, ..config });
        let fact = EvictionPolicyFact {
            uid: Uid::new("nothing"),
            version: None,
            generation: 1,
            policy: policy.into(),
            recorded: RecordedPolicyStatus::default(),
        };
        let start = Now::exact(Mono::from_secs(0), Wall::from_secs(EPOCH));
        for event in [
            ObjectEvent::ListStarted { silent_since: None },
            ObjectEvent::Applied { fact, listed: true },
            ObjectEvent::ListCompleted,
        ] {
            beside_policy.handle(EvictionInput::Policies(event), start);
        }
        Self { plain, beside_policy: Some(beside_policy), monitor }
    }
}

impl Deref for PairedEngine {
    type Target = EvictionEngine;

    fn deref(&self) -> &EvictionEngine {
        &self.plain
    }
}

impl Engine for PairedEngine {
    type Input = EvictionInput;
    type Effect = EvictionEffect;
    type Notice = EvictionNotice;

    fn handle(&mut self, input: EvictionInput, now: Now) {
        if let Some(monitor) = &mut self.monitor {
            monitor.input(&input, now);
        }
        if let Some(beside) = &mut self.beside_policy {
            beside.handle(input.clone(), now);
        }
        self.plain.handle(input, now);
    }

    fn tick(&mut self, now: Mono) {
        if let Some(beside) = &mut self.beside_policy {
            beside.tick(now);
        }
        self.plain.tick(now);
    }

    fn next_effect(&mut self, lane: Lane, now: Now) -> Option<EvictionEffect> {
        let wakes = self.plain.next_wakeup().is_some_and(|at| at <= now.mono);
        let has_work = wakes || self.plain.has_work(lane, now.mono);
        let effect = self.plain.next_effect(lane, now);
        assert!(has_work || effect.is_none(), "no work was announced: {effect:?}");
        if let Some(beside) = &mut self.beside_policy {
            assert_eq!(beside.next_effect(lane, now), effect, "a policy that selects nothing changes it");
        }
        let checked = self.monitor.as_mut().map(|monitor| match &effect {
            Some(effect) => monitor.effect(effect, now),
            None if lane == Lane::All => monitor.idle(now),
            None => Ok(()),
        });
        if let Some(Err(violation)) = checked {
            panic!("{violation}");
        }
        effect
    }

    fn next_wakeup(&self) -> Option<Mono> {
        let wakeup = self.plain.next_wakeup();
        if let Some(beside) = &self.beside_policy {
            assert_eq!(beside.next_wakeup(), wakeup, "a policy that selects nothing changes it");
        }
        wakeup
    }

    fn take_notices(&mut self) -> Vec<EvictionNotice> {
        let notices = self.plain.take_notices();
        if let Some(beside) = &mut self.beside_policy {
            assert_eq!(beside.take_notices(), notices, "a policy that selects nothing changes them");
        }
        notices
    }

    fn is_synced(&self) -> bool {
        self.plain.is_synced()
    }
}

//! Predicts when due pods leave under policies: the engine itself runs ahead in a copy, against a model of the API server.
//!
//! - The model accepts every deletion, takes the grace period of a pod for its termination, and counts budgets itself.
//! - It is unknown when replacements become ready, so a prediction is made for one of two assumptions
//!   ([`ReplacementReadiness`]): at each moment, the number of pods that have left lies between the two, as long as nothing
//!   else changes.
//! - See `delay_preview.rs` for what delays pods now.

use super::delay_reason::{DelayCategory, DelayedEviction};
use super::{EvictionEffect, EvictionEngine, EvictionInput, EvictionNotice, EvictionOrder, EvictionStats};
use crate::api_error::ApiFailure;
use crate::engine::{Engine as _, Lane, LiveRead};
use crate::eviction_policy::BudgetFact;
use crate::fact::{BindingTimes, PodFact, PodLifePhase, PodOwnerKind, PodTemplateFact};
use crate::identity::{NodeName, PodId, PodName, PodRef, ResourceVersion, Uid};
use crate::object_event::ObjectEvent;
use crate::time::{Mono, Now, Span};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

/// The default of `spec.terminationGracePeriodSeconds`.
const GRACE_SECONDS: i64 = 30;

/// When the replacement of an evicted pod becomes ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReplacementReadiness {
    /// As soon as the pod is gone: no budget delays longer than that.
    Immediately,
    /// Never: a budget allows what it allows now, and nothing more.
    Never,
}

/// What happens next, as far as it is known.
#[derive(Clone, Debug)]
pub struct EvictionScenario<'s> {
    /// What the engine learns, and when; in the order of times.
    pub changes: &'s [(Mono, EvictionInput)],
    /// When replacements become ready.
    pub readiness: ReplacementReadiness,
    /// The end.
    pub until: Mono,
}

/// A pod that leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PredictedEviction {
    /// The pod.
    pub pod: PodRef,
    /// Its name.
    pub name: PodName,
    /// When it is due.
    pub due: Mono,
    /// When its deletion begins.
    pub at: Mono,
    /// The policy that governs it.
    pub policy: Option<Box<str>>,
    /// Its wave, if the policy has an order.
    pub wave: Option<EvictionOrder>,
    /// The eviction API accepted it, or would have before the deadline of its budgets.
    pub respects_budgets: bool,
    /// It is deleted in spite of its budgets, because their deadline has come.
    pub is_forced: bool,
}

/// What happens in a scenario.
#[derive(Clone, Debug)]
pub struct EvictionPrediction {
    /// The pods that leave, in the order in which they do.
    pub evictions: Vec<PredictedEviction>,
    /// The engine at the end.
    engine: EvictionEngine,
}

impl EvictionPrediction {
    /// Returns the due pods that have not left at the end, and what each waits for.
    pub fn delayed(&self) -> impl Iterator<Item = DelayedEviction<'_>> {
        self.engine.delayed()
    }
}

/// The copy, and what the model knows.
struct PredictedCluster {
    engine: EvictionEngine,
    readiness: ReplacementReadiness,
    /// Terminating pods, by when they are gone.
    terminating: BTreeMap<(Mono, PodRef), PodName>,
    /// The templates of pods whose deletion was accepted, for their replacements.
    templates: BTreeMap<PodRef, PodTemplateFact>,
    evictions: Vec<PredictedEviction>,
    /// The pods whose eviction the eviction API has accepted, until the engine reports that.
    by_eviction_api: BTreeSet<PodRef>,
}

impl EvictionEngine {
    /// Predicts which pods leave. Before the engine is synced, none does.
    pub fn predict(&self, scenario: &EvictionScenario<'_>, now: Now) -> EvictionPrediction {
        let mut model = PredictedCluster {
            engine: self.clone(),
            readiness: scenario.readiness,
            terminating: BTreeMap::new(),
            templates: BTreeMap::new(),
            evictions: Vec::new(),
            by_eviction_api: BTreeSet::new(),
        };
        model.give_versions();
        let mut changes = scenario.changes.iter().peekable();
        let clock = |mono: Mono| Now::new(mono, now.wall_of(mono), now.skew_max);
        let mut at = now.mono;
        loop {
            while let Some((_, input)) = changes.next_if(|(when, _)| *when <= at) {
                model.engine.handle(input.clone(), clock(at));
            }
            model.work(clock(at));
            let gone = model.terminating.keys().next().map(|(at, _)| *at);
            let change = changes.peek().map(|(when, _)| *when);
            let passes = model
                .engine
                .next_wakeup()
                .filter(|_| gone.is_some() || change.is_some() || !model.waits_for_ever());
            let next = passes.into_iter().chain(gone).chain(change).min();
            match next.map(|next| next.max(at.plus(Span::from_micros(1)))) {
                Some(next) if next <= scenario.until => at = next,
                _ => return EvictionPrediction { evictions: model.evictions, engine: model.engine },
            }
            model.end_terminations(clock(at));
        }
    }
}

impl PredictedCluster {
    /// Pods of files may have no version, and none has one once its mark is removed until the watch delivers it: the engine
    /// would read them before it evicts them.
    fn give_versions(&mut self) {
        let unversioned: Vec<(PodRef, bool)> = self.engine.cache.unversioned().collect();
        for (pod, is_marked) in unversioned {
            self.engine.update().set_marked(&pod, is_marked, Some(ResourceVersion(1)));
        }
    }

    /// Carries out everything that the engine requests at this moment.
    fn work(&mut self, now: Now) {
        self.engine.tick(now.mono);
        while let Some(effect) = self.engine.next_effect(Lane::All, now) {
            self.carry_out(effect, now);
        }
        for notice in self.engine.take_notices() {
            let EvictionNotice::Evicted { pod, reason } = notice else { continue };
            let policy = reason.policy;
            let has_order = policy.as_ref().is_some_and(|policy| self.has_order(&policy.name));
            let is_forced = policy.as_ref().is_some_and(|policy| policy.is_forced);
            self.evictions.push(PredictedEviction {
                respects_budgets: is_forced || self.by_eviction_api.remove(&pod),
                wave: self.engine.cache.order(&pod).filter(|_| has_order),
                pod,
                name: reason.name,
                due: reason.due,
                at: now.mono,
                is_forced,
                policy: policy.map(|policy| policy.name),
            });
        }
    }

    fn has_order(&self, policy: &str) -> bool {
        let mut policies = self.engine.state.queue.gate().objects().policies();
        policies.any(|fact| *fact.policy.name == *policy && fact.policy.order.is_some())
    }

    /// Whether the passing of time changes nothing: only budgets without a deadline delay pods, and tries do not change a
    /// budget.
    fn waits_for_ever(&self) -> bool {
        let EvictionStats { counting, held, in_hand, .. } = self.engine.stats();
        let never = |one: DelayedEviction<'_>| {
            one.reason.category() == DelayCategory::Budget && one.forced_at.is_none()
        };
        [counting, held, in_hand] == [0; 3] && self.engine.delayed().all(never)
    }

    fn carry_out(&mut self, effect: EvictionEffect, now: Now) {
        let response = match effect {
            EvictionEffect::ReadNode { node } => {
                return self.engine.update().confirm_as_known(&node, now.mono);
            }
            EvictionEffect::SetDisruptionTarget { pod, version, .. } => {
                // Without a version, the engine would read the pod.
                let next = version.map_or(0, |version| version.0).saturating_add(1);
                EvictionInput::Marked { pod, result: Ok(Some(ResourceVersion(next))) }
            }
            EvictionEffect::ClearDisruptionTarget { pod, .. } => {
                EvictionInput::Unmarked { pod, result: Ok(()) }
            }
            EvictionEffect::ReadPod { pod, .. } => {
                EvictionInput::PodRead { pod, result: Ok(LiveRead::NotFound), half_deleted: false }
            }
            EvictionEffect::DeletePod { pod, name, grace_seconds, .. } => {
                self.accept(&pod, name, grace_seconds, now);
                EvictionInput::Deleted { pod, result: Ok(()) }
            }
            EvictionEffect::EvictPod { pod, name, grace_seconds, .. } => {
                let result = self.allow(&pod, &name, now);
                if result.is_ok() {
                    self.by_eviction_api.insert(pod.clone());
                    self.accept(&pod, name, grace_seconds, now);
                }
                EvictionInput::Evicted { pod, result }
            }
        };
        let is_unmarked = matches!(response, EvictionInput::Unmarked { .. });
        self.engine.handle(response, now);
        if is_unmarked {
            self.give_versions();
        }
    }

    /// The pod terminates from now on.
    fn accept(&mut self, pod: &PodRef, name: PodName, grace_seconds: Option<u32>, now: Now) {
        let template = self.engine.cache.template(pod).cloned().unwrap_or_default();
        let own = template.grace_seconds.unwrap_or(GRACE_SECONDS).max(0);
        let grace = grace_seconds.map_or(own, |most| own.min(i64::from(most)));
        self.templates.insert(pod.clone(), template);
        self.terminating.insert((now.mono.plus(Span::from_secs(grace)), pod.clone()), name);
    }

    /// The eviction API takes one disruption of the pod's budget, if it allows one.
    fn allow(&mut self, pod: &PodRef, name: &PodName, now: Now) -> Result<(), ApiFailure> {
        let template = self.engine.cache.template(pod).cloned().unwrap_or_default();
        let budgets = self.engine.state.queue.gate().budgets(name.namespace(), &template);
        match &budgets[..] {
            [] => Ok(()),
            // The default of `unhealthyPodEvictionPolicy`: a pod that is not ready takes no disruption of a budget whose
            // requirement is met.
            [only] if !self.engine.cache.is_ready(pod) && is_met(only) => Ok(()),
            [only] => {
                let left =
                    only.allowed.and_then(|allowed| allowed.checked_sub(1)).ok_or(ApiFailure::Budget)?;
                let healthy = |healthy: u32| healthy.saturating_sub(1);
                self.set_allowed(with_healthy(only.clone(), healthy), left, now);
                Ok(())
            }
            _ => Err(ApiFailure::Unavailable),
        }
    }

    fn set_allowed(&mut self, fact: BudgetFact, allowed: u32, now: Now) {
        // Of the same version, but another budget: that counts.
        let fact = BudgetFact { allowed: Some(allowed), ..fact };
        self.engine.handle(EvictionInput::Budgets(ObjectEvent::Applied { fact, listed: false }), now);
    }

    /// Pods whose grace period is over are gone.
    fn end_terminations(&mut self, now: Now) {
        while let Some(first) = self.terminating.first_entry().filter(|first| first.key().0 <= now.mono) {
            let ((_, pod), name) = first.remove_entry();
            let template = self.templates.remove(&pod).unwrap_or_default();
            self.engine.handle(EvictionInput::Pods(ObjectEvent::Deleted(pod.clone().into())), now);
            if self.readiness == ReplacementReadiness::Immediately {
                self.replace(&pod, &name, template, now);
            }
        }
    }

    /// A replacement is ready, on a node that no prediction is about.
    fn replace(&mut self, pod: &PodRef, name: &PodName, template: PodTemplateFact, now: Now) {
        let budgets = self.engine.state.queue.gate().budgets(name.namespace(), &template);
        for budget in budgets {
            let budget = with_healthy(budget, |healthy| healthy.saturating_add(1));
            let allowed = match budget.budget.status {
                Some(status) => status.healthy.saturating_sub(status.desired),
                None => budget.allowed.map_or(0, |allowed| allowed.saturating_add(1)),
            };
            self.set_allowed(budget, allowed, now);
        }
        if template.workload.is_none() {
            return;
        }
        let fact = PodFact {
            id: PodId::new(Uid::new(&format!("{} replacement", pod.uid)), name.clone()),
            node: NodeName::new("(replacements)"),
            version: None,
            generation: 0,
            tolerations: Vec::new(),
            priority: 0,
            node_critical: false,
            owner: PodOwnerKind::Other,
            life_phase: PodLifePhase::Live,
            mirror: false,
            marked: false,
            marked_by_another: false,
            arrival: BindingTimes::default(),
            ready: Some(true),
            template: Some(Box::new(template)),
            holds: None,
            ignores_holds: false,
        };
        self.engine.handle(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }), now);
    }
}

/// Whether as many pods are healthy as the budget requires, and at least one.
fn is_met(fact: &BudgetFact) -> bool {
    fact.budget.status.is_some_and(|status| status.desired > 0 && status.healthy >= status.desired)
}

fn with_healthy(mut fact: BudgetFact, change: impl Fn(u32) -> u32) -> BudgetFact {
    if let Some(status) = &mut fact.budget.status {
        status.healthy = change(status.healthy);
    }
    fact
}

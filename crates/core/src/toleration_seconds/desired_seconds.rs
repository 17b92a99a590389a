//! Decides which seconds pods get from their policies and the ceilings of their namespaces, and counts the progress.
//!
//! - Invariant: nothing is written before namespaces and policies were listed once; nor for a policy while one cannot
//!   be decoded, because it is unknown which namespaces that one is for (D11).
//! - Invariant: a pod whose node is silent, or that has a record of a hold, waits.

use super::held_pod_entry::HeldPodEntry;
use super::object_cache::SecondsCache;
use super::patch::{PatchPurpose, SecondsWrite};
use super::seconds_objects::{
    BackfillPolicyFact, BackfillProgress, BackfillSettings, GuardSettings, PolicyStatusWrite,
    SecondsNamespaceFact,
};
use crate::admission::pod_toleration_restriction::TolerationListAnnotation;
use crate::admission::policy::TolerationPolicy;
use crate::admission::policy::{decide, policy_for};
use crate::admission::request::NamespaceFact;
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::time::{Mono, Now, Span};
use crate::toleration_backfill::{BackfillVerdict, backfill};
use crate::toleration_guard::{GuardCeiling, guard_write};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// The interval between two writes of the policies' progress.
const PROGRESS_PAUSE: Span = Span::from_secs(5);

#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct NamespaceEntry {
    facts: NamespaceFact,
    ceiling: GuardCeiling,
    /// Its policy's position.
    policy: Option<usize>,
    list: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct PolicyEntry {
    fact: BackfillPolicyFact,
    list: u64,
}

/// The seconds that pods should have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct DesiredSeconds {
    /// `None`: no pod is backfilled.
    backfill: Option<BackfillSettings>,
    /// `None`: no pod gets a ceiling, and those that have one keep it.
    guard: Option<GuardSettings>,
    namespaces: BTreeMap<Box<str>, NamespaceEntry>,
    /// Sorted by name.
    policies: Vec<PolicyEntry>,
    /// The same without the fields that decide nothing.
    rules: Vec<TolerationPolicy>,
    /// Policies that cannot be decoded, and the list they were last in.
    undecodable: BTreeMap<Box<str>, u64>,
    namespace_list: u64,
    policy_list: u64,
    namespaces_synced: bool,
    policies_synced: bool,
    /// Namespaces whose pods have to be checked again.
    changed: BTreeSet<Box<str>>,
    policies_changed: bool,
    /// Progress may have changed since the last check.
    has_progressed: bool,
    progress_at: Option<Mono>,
    writes: Vec<PolicyStatusWrite>,
}

impl DesiredSeconds {
    /// `None` if there is nothing to do.
    pub(crate) fn new(backfill: Option<BackfillSettings>, guard: Option<GuardSettings>) -> Option<Self> {
        let has_work = backfill.is_some() || guard.is_some();
        has_work.then(|| Self { backfill, guard, ..Self::default() })
    }

    /// The maximum number of pods to patch per second.
    pub(crate) fn per_second(&self) -> Option<u32> {
        let guard = self.guard.map(|guard| guard.per_second);
        guard.or(self.backfill.as_ref().map(|backfill| backfill.per_second))
    }

    /// Whether pods get ceilings.
    pub(crate) fn guards(&self) -> bool {
        self.guard.is_some()
    }

    /// Whether it knows enough to decide.
    pub(crate) fn is_synced(&self) -> bool {
        self.namespaces_synced && (self.policies_synced || self.backfill.is_none())
    }

    fn can_backfill(&self) -> bool {
        self.backfill.is_some() && self.is_synced() && self.undecodable.is_empty()
    }

    /// Returns the patch that gives a pod its desired seconds, and the purpose; `None`: it has them, or they are
    /// unknown.
    pub(crate) fn write(&self, pod: &HeldPodEntry) -> Option<(SecondsWrite, PatchPurpose)> {
        let namespace = self.namespaces.get(pod.id().name().namespace()).filter(|_| self.is_synced())?;
        let record = pod.guard_record();
        let ceiling = match self.guard {
            Some(_) => namespace.ceiling,
            None if record.is_some() => return None,
            None => GuardCeiling::None,
        };
        let own = match self.verdict(pod) {
            Some(BackfillVerdict::Differs(changes)) => changes,
            Some(BackfillVerdict::Own | BackfillVerdict::Current) | None => Vec::new(),
        };
        let write = guard_write(pod.tolerations(), record, ceiling, &own)?;
        let is_guard = record.is_some() || write.record.is_some();
        Some((write.into(), if is_guard { PatchPurpose::Guard } else { PatchPurpose::Backfill }))
    }

    /// Whether a pod's seconds are those of a new pod.
    pub(crate) fn is_current(&self, pod: &HeldPodEntry) -> bool {
        self.verdict(pod) == Some(BackfillVerdict::Current)
    }

    /// The ceiling that a pod gets.
    pub(crate) fn ceiling(&self, pod: &HeldPodEntry) -> GuardCeiling {
        let namespace = self.namespaces.get(pod.id().name().namespace()).filter(|_| self.guards());
        namespace.map(|namespace| namespace.ceiling).unwrap_or_default()
    }

    /// Returns the result of backfill for a pod; `None`: unknown.
    fn verdict(&self, pod: &HeldPodEntry) -> Option<BackfillVerdict> {
        let namespaces = Some(&self.namespaces).filter(|_| self.can_backfill())?;
        let replaced = &self.backfill.as_ref()?.replaced;
        let namespace = namespaces.get(pod.id().name().namespace())?;
        let policy = namespace.policy.map(|at| &self.rules[at]);
        let last = replaced.first().copied().unwrap_or_default();
        let decision = decide(pod.requested(), &namespace.facts.requested, policy, last);
        let defaults = match &namespace.facts.lists.defaults {
            TolerationListAnnotation::Present(defaults) => &defaults[..],
            _ => &[],
        };
        Some(backfill(&pod.own_tolerations(), defaults, decision.durations(), replaced))
    }

    /// A pod was checked: the progress may have changed.
    pub(crate) fn pod_checked(&mut self) {
        self.has_progressed = true;
    }

    /// When to count the progress again.
    pub(crate) fn next_wakeup(&self) -> Option<Mono> {
        self.progress_at.filter(|_| self.can_backfill() && self.has_progressed)
    }

    /// Returns the namespaces whose pods have to be checked again.
    pub(crate) fn take_changed(&mut self) -> BTreeSet<Box<str>> {
        if !self.is_synced() {
            return BTreeSet::new();
        }
        if core::mem::take(&mut self.policies_changed) {
            self.rules = self.policies.iter().map(|entry| entry.fact.policy.clone()).collect();
            for (name, namespace) in &mut self.namespaces {
                namespace.policy = position(&self.rules, &namespace.facts);
                self.changed.insert(name.clone());
            }
        }
        core::mem::take(&mut self.changed)
    }

    /// Counts again, at most once per [`PROGRESS_PAUSE`], and queues a write for each policy whose status differs.
    pub(crate) fn count(&mut self, cache: &SecondsCache, now: Mono) {
        let is_early = self.progress_at.is_some_and(|at| now < at);
        if !self.has_progressed || is_early || !self.can_backfill() {
            return;
        }
        (self.has_progressed, self.progress_at) = (false, Some(now.plus(PROGRESS_PAUSE)));
        let mut all: Vec<BackfillProgress> = Vec::new();
        all.extend(self.policies.iter().map(|entry| BackfillProgress {
            generation: entry.fact.generation,
            ..BackfillProgress::default()
        }));
        for pod in cache.nodes().flat_map(|(_, node)| node.pods()) {
            let namespace = self.namespaces.get(pod.id().name().namespace());
            let Some(policy) = namespace.and_then(|namespace| namespace.policy) else { continue };
            match self.verdict(pod) {
                Some(BackfillVerdict::Current) => all[policy].current += 1,
                Some(BackfillVerdict::Differs(_)) => all[policy].pending += 1,
                Some(BackfillVerdict::Own) => all[policy].own += 1,
                None => {}
            }
        }
        self.writes = self
            .policies
            .iter()
            .zip(all)
            .filter(|(entry, progress)| entry.fact.progress != Some(*progress))
            .map(|(entry, progress)| {
                let BackfillPolicyFact { uid, policy, .. } = &entry.fact;
                PolicyStatusWrite { name: policy.name.clone(), uid: uid.clone(), progress }
            })
            .collect();
    }

    /// Returns the next status to write.
    pub(crate) fn pop_status(&mut self) -> Option<PolicyStatusWrite> {
        self.writes.pop()
    }

    /// Records whether it was written; `false`: the write is retried after a pause.
    pub(crate) fn status_done(&mut self, write: &PolicyStatusWrite, is_written: bool) {
        let entry = self.policies.iter_mut().find(|entry| entry.fact.uid == write.uid);
        match entry.filter(|_| is_written) {
            Some(entry) => entry.fact.progress = Some(write.progress),
            None => self.has_progressed = true,
        }
    }

    fn drop_policy(&mut self, name: &str) {
        let before = self.policies.len();
        self.policies.retain(|entry| *entry.fact.policy.name != *name);
        self.policies_changed |= before != self.policies.len();
    }
}

/// Returns the position of a namespace's policy.
fn position(rules: &[TolerationPolicy], facts: &NamespaceFact) -> Option<usize> {
    let policy = policy_for(rules, &facts.labels)?;
    rules.iter().position(|rule| rule.name == policy.name)
}

impl ObjectIndex<SecondsNamespaceFact> for DesiredSeconds {
    fn list_started(&mut self, _: Option<Mono>) {
        self.namespace_list += 1;
    }

    fn applied(&mut self, fact: SecondsNamespaceFact, _: bool, _: Now) {
        let SecondsNamespaceFact { name, facts } = fact;
        let list = self.namespace_list;
        if let Some(before) = self.namespaces.get_mut(&name)
            && before.facts == facts
        {
            before.list = list;
            return;
        }
        let (policy, ceiling) = (position(&self.rules, &facts), GuardCeiling::of(&facts.labels));
        self.namespaces.insert(name.clone(), NamespaceEntry { facts, ceiling, policy, list });
        self.changed.insert(name);
    }

    fn deleted(&mut self, object: ObjectRef, _: Now) {
        self.namespaces.remove(&object.name);
    }

    fn undecodable(&mut self, object: ObjectRef, now: Now) {
        ObjectIndex::<SecondsNamespaceFact>::deleted(self, object, now);
    }

    fn list_completed(&mut self, _: Now) {
        let list = self.namespace_list;
        self.namespaces.retain(|_, entry| entry.list == list);
        self.namespaces_synced = true;
    }
}

impl ObjectIndex<BackfillPolicyFact> for DesiredSeconds {
    fn list_started(&mut self, _: Option<Mono>) {
        self.policy_list += 1;
    }

    fn applied(&mut self, fact: BackfillPolicyFact, listed: bool, _: Now) {
        let name = fact.policy.name.clone();
        // Its policy was dropped when it could not be decoded, so this one is a new one below.
        self.undecodable.remove(&name);
        let list = self.policy_list;
        match self.policies.binary_search_by(|entry| entry.fact.policy.name.cmp(&name)) {
            Ok(at) => {
                self.policies[at].list = list;
                let before = &self.policies[at].fact;
                if !listed && fact.version.is_some() && fact.version < before.version {
                    return;
                }
                self.policies_changed |= before.policy != fact.policy;
                self.has_progressed |=
                    before.generation != fact.generation || before.progress != fact.progress;
                self.policies[at] = PolicyEntry { fact, list };
            }
            Err(at) => {
                self.policies.insert(at, PolicyEntry { fact, list });
                self.policies_changed = true;
            }
        }
    }

    fn deleted(&mut self, object: ObjectRef, _: Now) {
        self.policies_changed |= self.undecodable.remove(&object.name).is_some();
        self.drop_policy(&object.name);
    }

    fn undecodable(&mut self, object: ObjectRef, _: Now) {
        self.drop_policy(&object.name);
        self.undecodable.insert(object.name, self.policy_list);
        self.policies_changed = true;
    }

    fn list_completed(&mut self, _: Now) {
        let list = self.policy_list;
        self.policies.retain(|entry| entry.list == list);
        self.undecodable.retain(|_, seen| *seen == list);
        (self.policies_changed, self.policies_synced) = (true, true);
    }
}

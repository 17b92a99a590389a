//! Counts the available replicas of each workload, while a policy limits how many may be unavailable.

use crate::workload::Workload;
use alloc::collections::BTreeMap;

/// The pods of each workload.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Readiness {
    /// A policy needs the counts.
    is_counted: bool,
    /// Pods that are ready and not being deleted.
    ready: BTreeMap<Workload, u32>,
    /// Of these, pods whose eviction may be sent.
    leaving: BTreeMap<Workload, u32>,
}

impl Readiness {
    pub(crate) fn is_counted(&self) -> bool {
        self.is_counted
    }

    /// Counting starts, and every pod has to be counted; or it ends.
    pub(crate) fn set_counted(&mut self, on: bool) {
        *self = Self { is_counted: on, leaving: core::mem::take(&mut self.leaving), ..Self::default() };
    }

    /// A pod was ready for this workload, and is for that one now, while they are counted.
    pub(crate) fn change(&mut self, before: Option<&Workload>, after: Option<&Workload>) {
        before.into_iter().for_each(|workload| decrement(&mut self.ready, workload));
        after.into_iter().for_each(|workload| increment(&mut self.ready, workload));
    }

    /// The eviction of a ready pod may be sent.
    pub(crate) fn leave(&mut self, workload: &Workload) {
        increment(&mut self.leaving, workload);
    }

    /// That is over: the pod is deleted, or stays.
    pub(crate) fn end_leaving(&mut self, workload: &Workload) {
        decrement(&mut self.leaving, workload);
    }

    /// How many of so many replicas are unavailable, or are about to be.
    pub(crate) fn unavailable(&self, workload: &Workload, replicas: u32) -> u32 {
        let count = |counts: &BTreeMap<Workload, u32>| counts.get(workload).copied().unwrap_or(0);
        replicas.saturating_sub(count(&self.ready).saturating_sub(count(&self.leaving)))
    }
}

fn increment(counts: &mut BTreeMap<Workload, u32>, workload: &Workload) {
    match counts.get_mut(workload) {
        Some(count) => *count += 1,
        None => _ = counts.insert(workload.clone(), 1),
    }
}

fn decrement(counts: &mut BTreeMap<Workload, u32>, workload: &Workload) {
    if let Some(count) = counts.get_mut(workload) {
        *count -= 1;
        if *count == 0 {
            counts.remove(workload);
        }
    }
}

//! Sums up how eviction policies and the brake delay the evicted pods of a plan.

use super::paragraphs::at;
use super::{PlanReport, PlanRow};
use crate::messages::{at_moment, counted};
use crate::plan::eviction_schedule::PodDeparture;
use std::collections::BTreeMap;
use taintward_core::eviction::{EvictionOrder, PriorityClass};
use taintward_core::time::Mono;

/// The evicted pods that a policy governs, or that are delayed.
pub(crate) struct PlanDelays<'p> {
    departures: Vec<&'p PodDeparture>,
    /// How many of them may leave later than they are due.
    pub(crate) delayed: usize,
    /// How many are deleted in spite of their budgets if no replacement becomes ready.
    pub(crate) forced: usize,
    /// How many leave in neither prediction.
    pub(crate) never: usize,
    /// When the last one leaves that does, with replacements.
    pub(crate) last_with: Option<Mono>,
    /// How many leave only if replacements become ready.
    pub(crate) undecided: usize,
    /// When the last one leaves that does, without replacements.
    pub(crate) last_without: Option<Mono>,
}

/// Pods that leave in one wave, each on its node.
pub(crate) struct EvictionWave {
    pub(crate) order: EvictionOrder,
    pub(crate) pods: usize,
    /// When the first leaves at the earliest.
    pub(crate) first: Option<Mono>,
    /// When the last leaves at the latest; `None`: perhaps not within the prediction.
    pub(crate) last: Option<Mono>,
}

impl EvictionWave {
    /// The pods, in words.
    pub(crate) fn pods_of(&self) -> String {
        let pods = counted(self.pods, "pod");
        let priority = self.order.priority;
        match self.order.class {
            PriorityClass::Ordinary => format!("{pods} with priority {priority}"),
            PriorityClass::DaemonSet => format!("{pods} of DaemonSets with priority {priority}"),
            PriorityClass::NodeCritical => format!("{pods} that nodes need, with priority {priority}"),
        }
    }
}

impl<'p> PlanDelays<'p> {
    /// `None`: nothing governs or delays these pods.
    pub(crate) fn of(report: &PlanReport<'p>, rows: &[PlanRow<'p>]) -> Option<Self> {
        let governed = |row| report.departure(row).map(|departure| (report.due(row), departure));
        let governed: Vec<(Mono, &PodDeparture)> = rows.iter().filter_map(governed).collect();
        let departures: Vec<&PodDeparture> = governed.iter().map(|(_, departure)| *departure).collect();
        if departures.is_empty() {
            return None;
        }
        let count = |is_one: fn(&PodDeparture) -> bool| departures.iter().filter(|one| is_one(one)).count();
        Some(Self {
            delayed: governed.iter().filter(|(due, departure)| departure.is_delayed(*due)).count(),
            forced: count(|one| one.is_forced),
            never: count(|one| one.earliest().is_none()),
            undecided: count(|one| one.with_replacements.is_some() && one.without_replacements.is_none()),
            last_with: departures.iter().filter_map(|one| one.with_replacements).max(),
            last_without: departures.iter().filter_map(|one| one.without_replacements).max(),
            departures,
        })
    }

    /// How long it takes, and which pods are forced or may not leave.
    pub(crate) fn sentences(&self, report: &PlanReport<'_>) -> Vec<String> {
        let governed = counted(self.departures.len(), "pod");
        if self.delayed == 0 {
            return vec![format!("Eviction policies govern {governed}, and delay none.")];
        }
        let mut sentences =
            vec![format!("Eviction policies or the brake delay {} of {governed}.", self.delayed)];
        sentences.extend(self.last(report));
        match self.forced {
            0 => {}
            1 => sentences.push("1 pod is then deleted in spite of its disruption budgets.".to_owned()),
            many => {
                sentences.push(format!("{many} pods are then deleted in spite of their disruption budgets."))
            }
        }
        if self.never > 0 {
            sentences.push(format!("{} in either case.", Self::remaining(self.never, report)));
        }
        sentences
    }

    /// When the last pod leaves, in both cases.
    fn last(&self, report: &PlanReport<'_>) -> Vec<String> {
        let last = |last: Mono| format!("the last pod leaves {}.", at(&report.moment(last)));
        let Some(with) = self.last_with else { return Vec::new() };
        if self.undecided == 0 && self.last_without == Some(with) {
            return vec![format!("In any case, {}", last(with))];
        }
        let without = match self.last_without {
            Some(without) if self.undecided == 0 => last(without),
            _ => format!("{}.", Self::remaining(self.undecided, report)),
        };
        vec![
            format!("If each replacement is ready at once, {}", last(with)),
            format!("If no replacement becomes ready, {without}"),
        ]
    }

    /// `3 pods do not leave before 14:08:11, in 7d`
    fn remaining(count: usize, report: &PlanReport<'_>) -> String {
        let verb = if count == 1 { "does" } else { "do" };
        let until = at_moment(report.snapshot().now(), report.horizon());
        format!("{} {verb} not leave before {until}", counted(count, "pod"))
    }

    /// What the pods wait for that may not leave, each wait with its number of pods; most first.
    pub(crate) fn waits(&self, report: &PlanReport<'_>) -> Vec<(String, usize)> {
        let mut waits: BTreeMap<String, usize> = BTreeMap::new();
        for departure in self.departures.iter().filter(|one| one.latest().is_none()) {
            if let Some(delay) = &departure.waits_for {
                *waits.entry(delay.sentence(report.snapshot().now())).or_default() += 1;
            }
        }
        let mut waits: Vec<_> = waits.into_iter().collect();
        waits.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        waits
    }

    /// The waves in their order.
    pub(crate) fn waves(&self) -> Vec<EvictionWave> {
        let mut waves: BTreeMap<EvictionOrder, Vec<&PodDeparture>> = BTreeMap::new();
        for departure in &self.departures {
            if let Some(order) = departure.wave {
                waves.entry(order).or_default().push(departure);
            }
        }
        let wave = |(order, pods): (EvictionOrder, Vec<&PodDeparture>)| EvictionWave {
            order,
            pods: pods.len(),
            first: pods.iter().filter_map(|one| one.earliest()).min(),
            last: pods
                .iter()
                .map(|one| one.latest())
                .collect::<Option<Vec<Mono>>>()
                .and_then(|all| all.into_iter().max()),
        };
        waves.into_iter().map(wave).collect()
    }
}

//! # Ledger: who leaves, as it changes
//! Room:     an engine that is told everything and asked to do nothing, as the controller's in observe mode.
//! Comes in: news of nodes and pods, the time.
//! Goes out: rows; what has changed since they were last asked for.
//! Keeps:    a pod that is gone at its deadline was never overdue: it has a few seconds.
//! Not here: listening (`watch.rs`), showing (`screen.rs`).

use super::row::{Row, toleration};
use std::collections::BTreeMap;
use taintward_client::listen::Heard;
use taintward_controller::hear;
use taintward_core::engine::{Config, Engine, Pending, PodRef};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::matching::NumericOperators;
use taintward_core::names::NodeName;
use taintward_core::names::Uid;
use taintward_core::time::{Mono, Now, Span};
use taintward_core::verdict::{Exemption, Outcome, Stay};

/// How late a pod is before that is news: those who evict need a moment.
const LATE: Span = Span::from_secs(5);

/// What has happened to a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// It has a deadline now.
    Counting,
    /// Another deadline, or another taint.
    Changed,
    /// Its deadline is over, and it is there.
    Overdue,
    /// It stays after all.
    Cancelled,
    /// It is gone, or being deleted.
    Gone,
}

impl Event {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Counting => "Counting",
            Self::Changed => "Changed",
            Self::Overdue => "Overdue",
            Self::Cancelled => "Cancelled",
            Self::Gone => "Gone",
        }
    }
}

/// A row that was told, and whether it was told to be late.
#[derive(Clone, Debug)]
struct Told {
    pod: PodRef,
    row: Row,
    late: bool,
}

/// The engine, and what was told.
pub(super) struct Ledger {
    engine: Engine,
    namespace: String,
    told: BTreeMap<Uid, Told>,
}

impl Ledger {
    /// For the pods of one namespace; all if empty.
    pub(super) fn new(numeric: NumericOperators, namespace: &str) -> Self {
        let engine = Engine::new(Config { numeric, ..Config::default() });
        Self { engine, namespace: namespace.to_owned(), told: BTreeMap::new() }
    }

    pub(super) fn nodes(&mut self, batch: Vec<Heard<NodeFact>>, now: Now) {
        hear::nodes(batch, now, |_| {}).into_iter().for_each(|input| self.engine.handle(input, now));
    }

    pub(super) fn pods(&mut self, batch: Vec<Heard<PodFact>>, now: Now) {
        hear::pods(batch, now, |_| {}).into_iter().for_each(|input| self.engine.handle(input, now));
    }

    /// Whether both lists were complete once: before, nobody is known to leave or to stay.
    pub(super) fn is_synced(&self) -> bool {
        self.engine.is_synced()
    }

    /// All rows, who is due next first.
    pub(super) fn rows(&mut self, now: Now) -> Vec<Row> {
        let mut rows: Vec<Row> = self.current(now).into_values().map(|told| told.row).collect();
        rows.sort_by(|a, b| a.order().cmp(&b.order()));
        rows
    }

    /// What has changed since this was last asked, in the order of names.
    pub(super) fn changes(&mut self, now: Now) -> Vec<(Event, Row)> {
        let mut current = self.current(now);
        let before = std::mem::take(&mut self.told);
        let mut changes = Vec::new();
        for (uid, told) in &mut current {
            let late = told.row.at.plus(LATE) <= calendar(now).mono;
            match before.get(uid) {
                None => changes.push((Event::Counting, told.row.clone())),
                Some(known) if (known.row.at, &known.row.taint) != (told.row.at, &told.row.taint) => {
                    changes.push((Event::Changed, told.row.clone()));
                }
                Some(known) => told.late = known.late,
            }
            if late && !told.late {
                told.late = true;
                changes.push((Event::Overdue, told.row.clone()));
            }
        }
        let left = before.into_iter().filter(|(uid, _)| !current.contains_key(uid));
        changes.extend(left.map(|(_, told)| (self.end(&told.pod, now), told.row)));
        changes.sort_by(|(_, a), (_, b)| (&a.namespace, &a.pod).cmp(&(&b.namespace, &b.pod)));
        self.told = current;
        changes
    }

    /// Why a pod is no longer on the list.
    fn end(&self, pod: &PodRef, now: Now) -> Event {
        match self.engine.explain(pod, now) {
            None => Event::Gone,
            Some((_, verdict, _)) => match verdict.outcome {
                Outcome::Stays(Stay::Exempt(Exemption::Terminating | Exemption::Finished)) => Event::Gone,
                _ => Event::Cancelled,
            },
        }
    }

    fn current(&mut self, now: Now) -> BTreeMap<Uid, Told> {
        self.engine.tick(now.mono);
        // Nobody reads them here.
        drop(self.engine.notices());
        let all = self.engine.pending().chain(self.engine.waiting());
        all.filter_map(|pending| self.told(&pending, now)).collect()
    }

    fn told(&self, pending: &Pending<'_>, now: Now) -> Option<(Uid, Told)> {
        let name = pending.name;
        if !self.namespace.is_empty() && name.namespace() != self.namespace {
            return None;
        }
        let pod = PodRef { node: NodeName::new(pending.node.as_str()), uid: pending.uid.clone() };
        let (_, verdict, taints) = self.engine.explain(&pod, now)?;
        let decisive = verdict.decisive?;
        let reason = &verdict.reasons[decisive];
        let at = |moment| Mono::from_micros(now.wall_of(moment).as_micros());
        let row = Row {
            namespace: name.namespace().to_owned(),
            pod: name.name().to_owned(),
            uid: pod.uid.to_string(),
            node: pod.node.to_string(),
            at: to_second(at(pending.until)),
            taint: taints[decisive].taint.to_string(),
            toleration: toleration(reason),
            since: to_second(at(reason.counts_from)),
            workload: None,
            marked: None,
        };
        Some((pod.uid.clone(), Told { pod, row, late: false }))
    }
}

/// Both clocks wander a little against each other: a deadline that stays is shown as the same.
fn to_second(at: Mono) -> Mono {
    const SECOND: i64 = 1_000_000;
    Mono::from_micros(at.as_micros().saturating_add(SECOND / 2).div_euclid(SECOND).saturating_mul(SECOND))
}

/// The same moment, with the calendar in the place of the clock for waiting: what rows are compared with.
pub(super) const fn calendar(now: Now) -> Now {
    Now { mono: Mono::from_micros(now.wall.as_micros()), wall: now.wall }
}

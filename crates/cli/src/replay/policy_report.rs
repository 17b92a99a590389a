//! Reports what would have happened in a record under other eviction policies.

use super::text;
use crate::messages::counted;
use crate::output::{API_VERSION, PrintOptions, Printable, Table, TableCell, TableColumn, clock, dated};
use crate::record_files::{self, RecordFilesError};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use taintward_core::eviction_policy::EvictionPolicyFact;
use taintward_core::identity::{NodeName, PodName, PodRef, Uid};
use taintward_core::time::Wall;
use taintward_record::{PolicyReplay, RecordedProcess};

/// The pods that left in the record, or would have left.
#[derive(Default)]
pub(super) struct PolicyReport {
    /// The first and the last moment of the record; `None`: no decision is in it.
    times: Option<(Wall, Wall)>,
    pods: Vec<ReplayedPod>,
    /// What the record does not show.
    pub(super) notes: Vec<String>,
}

struct ReplayedPod {
    name: PodName,
    node: NodeName,
    uid: Uid,
    due: Wall,
    /// When its deletion was decided in the record.
    recorded: Option<Wall>,
    outcome: PolicyOutcome,
}

/// What would have happened.
enum PolicyOutcome {
    Evicted {
        at: Wall,
        is_forced: bool,
    },
    Delayed {
        reason: String,
        forced_at: Option<Wall>,
    },
    /// It would not have been due until the end of the record.
    NotDue,
}

impl PolicyReport {
    pub(super) fn of(record: &Path, policies: &[EvictionPolicyFact]) -> Result<Self, RecordFilesError> {
        let mut replay = PolicyReplay::default();
        record_files::read_all(record, |_, reader| {
            while let Some(frame) = reader.next_frame()? {
                replay.read(&frame)?;
            }
            Ok(ControlFlow::Continue(()))
        })?;
        let mut report = Self::default();
        replay.processes().for_each(|process| report.add(process, policies));
        Ok(report)
    }

    fn add(&mut self, process: &RecordedProcess, policies: &[EvictionPolicyFact]) {
        let (since, until) = process.times();
        let begin = self.times.map_or(since.wall, |(begin, _)| begin);
        self.times = Some((begin, until.wall));
        if !process.applies_policies() {
            self.note("the controller ran without --eviction-policies: the record has no labels of pods, and no policy delays one");
        }
        let predicted = process.under(policies);
        if predicted.lacks_budgets {
            self.note("no policy of the record respected disruption budgets, so the record has none: they delay nothing here");
        }
        if predicted.lacks_workloads {
            self.note("no policy of the record limited unavailable replicas, so the record has no replicas: they delay nothing here");
        }
        let wall = |mono| since.wall_of(mono);
        let mut pods = BTreeMap::new();
        for (pod, reason) in &process.evicted {
            let known = ReplayedPod::in_map(&mut pods, pod, &reason.name, wall(reason.due));
            known.recorded = Some(wall(reason.decided));
        }
        for delayed in predicted.prediction.delayed() {
            let (reason, forced_at) = (delayed.reason.to_string(), delayed.forced_at.map(wall));
            ReplayedPod::in_map(&mut pods, delayed.pod, delayed.name, wall(delayed.due)).outcome =
                PolicyOutcome::Delayed { reason, forced_at };
        }
        for one in &predicted.prediction.evictions {
            ReplayedPod::in_map(&mut pods, &one.pod, &one.name, wall(one.due)).outcome =
                PolicyOutcome::Evicted { at: wall(one.at), is_forced: one.is_forced };
        }
        let mut pods: Vec<ReplayedPod> = pods.into_values().collect();
        pods.sort_by(|one, other| (one.due, &one.name).cmp(&(other.due, &other.name)));
        self.pods.extend(pods);
    }

    fn note(&mut self, text: &str) {
        if !self.notes.iter().any(|known| known == text) {
            self.notes.push(text.to_owned());
        }
    }

    fn evicted(&self) -> usize {
        self.pods.iter().filter(|pod| matches!(pod.outcome, PolicyOutcome::Evicted { .. })).count()
    }
}

impl ReplayedPod {
    /// The pod's entry, which is new if it has none.
    fn in_map<'m>(
        pods: &'m mut BTreeMap<Uid, Self>,
        pod: &PodRef,
        name: &PodName,
        due: Wall,
    ) -> &'m mut Self {
        pods.entry(pod.uid.clone()).or_insert_with(|| {
            let (name, node, uid) = (name.clone(), pod.node.clone(), pod.uid.clone());
            Self { name, node, uid, due, recorded: None, outcome: PolicyOutcome::NotDue }
        })
    }
}

impl PolicyOutcome {
    fn cell(&self, time: impl Fn(Wall) -> String) -> String {
        match self {
            Self::Evicted { at, is_forced: false } => time(*at),
            Self::Evicted { at, is_forced: true } => format!("{}, in spite of its budgets", time(*at)),
            Self::Delayed { reason, forced_at: None } => reason.clone(),
            Self::Delayed { reason, forced_at: Some(at) } => format!("{reason}; deleted at {}", time(*at)),
            Self::NotDue => "not due".to_owned(),
        }
    }
}

impl Printable for PolicyReport {
    fn object(&self) -> Value {
        let pods = self.pods.iter().map(|pod| {
            let (evicted_at, is_forced) = match pod.outcome {
                PolicyOutcome::Evicted { at, is_forced } => (Some(at), is_forced),
                _ => (None, false),
            };
            let delay = match &pod.outcome {
                PolicyOutcome::Delayed { reason, forced_at } => {
                    Some(json!({ "message": reason, "forcedAt": forced_at.map(text) }))
                }
                _ => None,
            };
            json!({
                "namespace": pod.name.namespace(),
                "pod": pod.name.name(),
                "uid": pod.uid.to_string(),
                "node": pod.node.as_str(),
                "dueAt": text(pod.due),
                "recorded": { "evictedAt": pod.recorded.map(text) },
                "withPolicy": { "evictedAt": evicted_at.map(text), "forced": is_forced, "delay": delay },
            })
        });
        json!({
            "apiVersion": API_VERSION,
            "kind": "PolicyReplay",
            "beginsAt": self.times.map(|(begin, _)| text(begin)),
            "endsAt": self.times.map(|(_, end)| text(end)),
            "pods": pods.collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }

    fn names(&self) -> Vec<String> {
        self.pods.iter().map(|pod| format!("pod/{}", pod.name.name())).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        let Some((begin, end)) = self.times else {
            return "The record contains no decision of taint-eviction-controller.\n".to_owned();
        };
        let zone = TimeZone::system();
        let time = |at| clock(end, at, &zone);
        let columns = ["NAMESPACE", "POD", "NODE", "DUE", "RECORDED", "WITH POLICY"];
        let mut table = Table::new(columns.map(TableColumn::new).into());
        for pod in &self.pods {
            let cells = [
                pod.name.namespace().to_owned(),
                pod.name.name().to_owned(),
                pod.node.as_str().to_owned(),
                time(pod.due),
                pod.recorded.map_or_else(|| "-".to_owned(), time),
                pod.outcome.cell(time),
            ];
            table.push(cells.map(TableCell::new).into());
        }
        let recorded = self.pods.iter().filter(|pod| pod.recorded.is_some()).count();
        let summary = format!(
            "From {} to {}: {} evicted in the record, {} with the policy.\n",
            dated(begin, &zone),
            dated(end, &zone),
            counted(recorded, "pod"),
            self.evicted(),
        );
        match self.pods[..] {
            [] => summary,
            _ => table.print(view) + "\n" + &summary,
        }
    }
}

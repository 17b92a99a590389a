//! Adds what delays due pods to their rows, and says it in sentences.

use super::PendingRow;
use crate::active_controllers::ActiveControllers;
use crate::args::cluster_state::ClusterStateArgs;
use crate::cluster_state::{ClusterReader, ClusterState, NAMED_MAX, ObjectLists};
use crate::eviction_delays::{self, DelaySettings, EvictionFacts, PodDelay};
use crate::messages::{bullet, counted};
use crate::output::PrintOptions;
use std::collections::BTreeMap;
use taintward_core::forecast::{ForecastOptions, forecast};
use taintward_core::time::{Mono, Now};

/// What delays the due pods of a cluster.
pub(super) struct DelayedRows {
    /// By UID.
    delays: BTreeMap<String, PodDelay>,
    /// What could not be read, with its consequence.
    pub(super) unread: Vec<String>,
}

impl DelayedRows {
    /// `None`: no pod is due now, so nothing needs to be read.
    pub(super) async fn read(
        reader: &ClusterReader<'_>,
        controllers: &ActiveControllers,
        options: &ClusterStateArgs,
        state: &ClusterState,
    ) -> Option<Self> {
        if options.as_of.is_some() || !has_due_pods(state) {
            return None;
        }
        let lists = ObjectLists::Cluster(reader);
        let mut unread = Vec::new();
        let deployment =
            eviction_delays::deployment(lists, controllers.namespace()).await.unwrap_or_else(|error| {
                unread.push(format!("it is unknown whether the brake delays due pods: {error}"));
                None
            });
        let settings = DelaySettings::of(deployment.as_ref(), options.numeric());
        let mut delays = BTreeMap::new();
        let error = match EvictionFacts::read(lists, settings, state.snapshot.now().wall).await {
            Ok(facts) => {
                let read = facts.delays();
                let due = read.due_pods().into_iter();
                delays.extend(due.filter_map(|pod| Some((pod.uid.to_string(), pod.delay?))));
                read.unread
            }
            Err(error) => Some(error),
        };
        unread.extend(
            error.map(|error| format!("it is unknown whether an eviction policy delays due pods: {error}")),
        );
        Some(Self { delays, unread })
    }

    /// Adds each delay to the row of its pod.
    pub(super) fn add_to(&self, rows: &mut [PendingRow]) {
        for row in rows {
            row.delay = self.delays.get(&row.uid).cloned();
        }
    }
}

fn has_due_pods(state: &ClusterState) -> bool {
    let question = ForecastOptions { until: Mono::NEVER, places_max: 0, about: &state.about };
    let forecast = forecast(&state.snapshot, &[], question);
    let mut pods = forecast.nodes.iter().flat_map(|node| &node.pods);
    pods.any(|fate| fate.at().is_some_and(|at| at <= state.snapshot.now().mono))
}

/// What the delayed pods of the list wait for, each wait once.
pub(super) fn sentences(rows: &[PendingRow], now: Now, view: &PrintOptions) -> String {
    let mut waits: BTreeMap<(&str, Option<&str>), (&PendingRow, &PodDelay, usize)> = BTreeMap::new();
    // Without headers, the rows are for a program.
    for row in rows.iter().filter(|_| view.headers) {
        if let Some(delay) = &row.delay {
            waits.entry(delay.cause()).or_insert((row, delay, 0)).2 += 1;
        }
    }
    let mut waits: Vec<_> = waits.into_values().collect();
    waits.sort_by(|(a, ..), (b, ..)| a.order().cmp(&b.order()));
    let mut text = if waits.is_empty() { String::new() } else { "\n".to_owned() };
    for (first, delay, count) in waits.iter().take(NAMED_MAX) {
        let others = match count - 1 {
            0 => String::new(),
            more => format!(" (and {})", counted(more, "more pod")),
        };
        let (namespace, pod) = (&first.namespace, &first.pod);
        let sentence = format!("{namespace}/{pod} {}{others}", delay.sentence(now));
        bullet(&mut text, &sentence, view.paper.measure());
    }
    text
}

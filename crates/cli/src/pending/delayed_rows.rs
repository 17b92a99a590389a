//! Adds what delays due pods to their rows, and says it in sentences.

use super::PendingRow;
use crate::cluster_state::{ClusterState, NAMED_MAX};
use crate::eviction_delays::{DueDelays, PodWait};
use crate::messages::{bullet, counted};
use crate::output::PrintOptions;
use taintward_core::forecast::{ForecastOptions, forecast};
use taintward_core::time::{Mono, Now};

/// Adds each delay to the row of its pod.
pub(super) fn add_delays(delays: &DueDelays, rows: &mut [PendingRow]) {
    for row in rows {
        row.delay = delays.of(&row.uid).cloned();
    }
}

/// Whether a pod is due; otherwise nothing needs to be read.
pub(super) fn has_due_pods(state: &ClusterState) -> bool {
    let question = ForecastOptions { until: Mono::NEVER, places_max: 0, about: &state.about };
    let forecast = forecast(&state.snapshot, &[], question);
    let mut pods = forecast.nodes.iter().flat_map(|node| &node.pods);
    pods.any(|fate| fate.at().is_some_and(|at| at <= state.snapshot.now().mono))
}

/// What the delayed pods of the list wait for, each wait once.
pub(super) fn sentences(rows: &[PendingRow], now: Now, view: &PrintOptions) -> String {
    // Without headers, the rows are for a program.
    let mut delayed: Vec<&PendingRow> =
        rows.iter().filter(|row| view.headers && row.delay.is_some()).collect();
    delayed.sort_by(|a, b| a.order().cmp(&b.order()));
    let waits = PodWait::of(delayed.into_iter().filter_map(|row| Some((row, row.delay.clone()?))));
    let mut text = if waits.is_empty() { String::new() } else { "\n".to_owned() };
    for PodWait { first, delay, pods } in waits.iter().take(NAMED_MAX) {
        let others = match pods - 1 {
            0 => String::new(),
            more => format!(" (and {})", counted(more, "more pod")),
        };
        let sentence = format!("{}/{} {}{others}", first.namespace, first.pod, delay.sentence(now));
        bullet(&mut text, &sentence, view.paper.measure());
    }
    text
}

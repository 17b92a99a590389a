//! Judges the deletions of an episode by the history of the cluster, independently of Taintward's code.
//!
//! - Pure. A deletion is right if the pod was due at a moment that its decision may have rested on: between five seconds before the API
//!   server received the request (S2) and its response.
//! - Lateness counts from the latest moment at which the pod was due, and from the end of a fault in which no pod can be deleted.

use super::history::{CampaignHistory, NodeVersion, ObservedPod, PodVersion, TaintRecord};
use std::collections::{BTreeMap, BTreeSet};

/// The largest age of the read of a node that a deletion may rest on (S2).
const READ_AGE_MAX: f64 = 5.0;
/// How long a request may be on its way: the slowest link of a campaign, and a busy machine.
const TRANSIT_MAX: f64 = 1.5;

/// A deletion of a pod that took effect.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct JudgedDeletion {
    pub(crate) uid: String,
    /// The resourceVersion that it demands.
    pub(crate) version: Option<String>,
    pub(crate) received: f64,
    pub(crate) completed: f64,
    /// Whether the audit log has it: an API server that is killed loses its last entries.
    pub(crate) is_logged: bool,
}

/// When a fault was there, and when the controller was.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EpisodeWindow {
    /// The audit log was empty.
    pub(crate) opened: f64,
    /// The controller was ready.
    pub(crate) started: f64,
    pub(crate) begin: f64,
    pub(crate) end: f64,
    /// Whether no pod can be deleted in the meantime.
    pub(crate) excuses: bool,
    /// Whether the store was restored, so that a pod may be deleted twice.
    pub(crate) restored: bool,
}

/// What a controller did wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Misdeed {
    /// S3: the pod was not due yet.
    Early,
    /// S3, S11: no taint of its node would have evicted the pod.
    Wrong,
    /// S10: the pod was terminating already, or had been deleted before.
    Twice,
    /// S2: no read of its node preceded.
    Unconfirmed,
    /// L1: the pod was due, and stayed.
    Missing,
}

/// What a controller did in an episode.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EpisodeVerdict {
    pub(crate) evicted: usize,
    /// With a sentence for people.
    pub(crate) misdeeds: Vec<(Misdeed, String)>,
    /// The lateness of each deletion since the begin of the fault, in seconds.
    pub(crate) late: Vec<f64>,
}

/// When a pod may leave because of a state of its node: at the earliest and at the latest.
fn due(
    node: &NodeVersion,
    pod: &ObservedPod,
    tolerations: &BTreeMap<String, Option<u32>>,
) -> Option<(f64, f64)> {
    let of_taint = |(key, taint): (&String, &TaintRecord)| {
        let seconds = match tolerations.get(key) {
            Some(None) => return None,
            Some(Some(seconds)) => f64::from(*seconds),
            None => 0.0,
        };
        let earliest = taint.start.earliest.max(pod.created.earliest) + seconds;
        // Without a time of its own, a taint may count from the last change of the node's taints, if the controller was started since.
        let start = if taint.has_time { taint.start.latest } else { node.since.latest };
        Some((earliest, start.max(pod.created.latest) + seconds))
    };
    let all = node.taints.iter().filter_map(of_taint);
    all.reduce(|one, other| (one.0.min(other.0), one.1.min(other.1)))
}

/// Since when a pod has been due at `until`, judged by the latest possible times; `None` if it is not.
fn due_since(history: &CampaignHistory, pod: &ObservedPod, until: f64) -> Option<f64> {
    let nodes = history.node(&pod.node);
    let of_pod = pod.states.iter().map(|state| state.at);
    let mut moments: Vec<f64> = nodes.iter().map(|node| node.since.latest).chain(of_pod).collect();
    moments.sort_by(f64::total_cmp);
    let (mut last, mut since) = (None, None);
    for moment in moments.into_iter().take_while(|moment| *moment <= until) {
        let node = nodes.iter().rfind(|node| node.since.latest <= moment);
        let state = pod.states.iter().rfind(|state| state.at <= moment);
        let due = node.zip(state).and_then(|(node, state)| Some(due(node, pod, &state.tolerations)?.1));
        if due != last {
            since = due.map(|due| due.max(moment));
            last = due;
        }
    }
    since.filter(|since| *since <= until)
}

/// The pods that are due now, and still there.
pub(crate) fn overdue(history: &CampaignHistory, now: f64) -> Vec<String> {
    let is_overdue = |pod: &&ObservedPod| {
        let is_there = pod.gone.is_none() && pod.states.last().is_some_and(|state| !state.is_terminating);
        is_there && due_since(history, pod, now).is_some()
    };
    history.pods().values().filter(is_overdue).map(|pod| pod.name.clone()).collect()
}

/// Judges all deletions. `reads` are the times of the controller's reads of nodes; `None` if it need not read.
pub(crate) fn judge(
    history: &CampaignHistory,
    deletions: &[JudgedDeletion],
    reads: Option<&BTreeMap<String, Vec<f64>>>,
    window: EpisodeWindow,
) -> EpisodeVerdict {
    let mut verdict = EpisodeVerdict { evicted: deletions.len(), ..EpisodeVerdict::default() };
    let mut deleted = BTreeSet::new();
    for deletion in deletions {
        let Some(pod) = history.pods().get(&deletion.uid) else {
            verdict.misdeeds.push((Misdeed::Wrong, format!("deleted an unknown pod: {deletion:?}")));
            continue;
        };
        let mut found = misdeed(history, pod, deletion, window.restored).into_iter().collect::<Vec<_>>();
        if !deleted.insert(&deletion.uid) && !window.restored {
            found.push((Misdeed::Twice, "it was deleted before".to_owned()));
        }
        let finishes = finishes(&demanded(pod, deletion, window.restored));
        if let Some(reads) = reads.filter(|_| deletion.is_logged && !finishes) {
            let ages = reads.get(&pod.node).into_iter().flatten().map(|read| deletion.received - read);
            let age = ages.filter(|age| *age >= 0.0).fold(f64::INFINITY, f64::min);
            if age > READ_AGE_MAX + TRANSIT_MAX {
                found.push((
                    Misdeed::Unconfirmed,
                    format!("its node {} was read {age:.2} s before", pod.node),
                ));
            }
        }
        let describe = |(misdeed, why)| {
            let (name, at, facts) = (&pod.name, deletion.received, facts(history, pod));
            (misdeed, format!("pod {name}: {why}; deleted at {at:.3}; {facts}"))
        };
        verdict.misdeeds.extend(found.into_iter().map(describe));
        if let Some(since) = due_since(history, pod, deletion.completed) {
            let is_during = (window.begin..=window.end).contains(&since);
            let since = if is_during && window.excuses { window.end } else { since.max(window.started) };
            if since >= window.begin {
                verdict.late.push((deletion.completed - since).max(0.0));
            }
        }
    }
    verdict
}

/// What is known about a pod and its node, for people who look into a violation.
fn facts(history: &CampaignHistory, pod: &ObservedPod) -> String {
    let of_node = |node: &NodeVersion| {
        let taint =
            |(key, taint): (&String, &TaintRecord)| format!("{key} since {:.3}", taint.start.earliest);
        let taints: Vec<String> = node.taints.iter().map(taint).collect();
        format!("from {:.3} to {:.3} [{}]", node.since.earliest, node.since.latest, taints.join(", "))
    };
    let nodes: Vec<String> = history.node(&pod.node).iter().map(of_node).collect();
    let tolerations = pod.states.last().map(|state| &state.tolerations);
    format!("its node {}; it tolerates {tolerations:?}", nodes.join(", "))
}

/// What is wrong with a deletion, if anything.
fn misdeed(
    history: &CampaignHistory,
    pod: &ObservedPod,
    deletion: &JudgedDeletion,
    restored: bool,
) -> Option<(Misdeed, String)> {
    let begin = deletion.received - READ_AGE_MAX;
    let lasts = |states: &[NodeVersion], index: usize| {
        states.get(index + 1).map_or(f64::INFINITY, |next| next.since.latest)
    };
    let nodes = history.node(&pod.node);
    let possible = nodes
        .iter()
        .enumerate()
        .filter(|(index, node)| node.since.earliest <= deletion.completed && lasts(nodes, *index) >= begin);
    let states = demanded(pod, deletion, restored);
    if !states.is_empty() && states.iter().all(|state| state.is_terminating && !state.is_half_deleted) {
        return Some((Misdeed::Twice, "it was terminating".to_owned()));
    }
    if finishes(&states) {
        return None;
    }
    let pairs = possible.flat_map(|(_, node)| states.iter().map(move |state| (node, state)));
    let first =
        pairs.filter_map(|(node, state)| Some(due(node, pod, &state.tolerations)?.0)).reduce(f64::min);
    match first {
        None => Some((Misdeed::Wrong, format!("no taint of node {} evicts it", pod.node))),
        Some(due) if due > deletion.completed => {
            Some((Misdeed::Early, format!("it was due at {due:.3}, {:.3} s later", due - deletion.completed)))
        }
        Some(_) => None,
    }
}

/// Whether a deletion finishes what an interrupted API server began (P31): that needs no read of the node, and whether the taint is
/// still there does not matter.
fn finishes(states: &[&PodVersion]) -> bool {
    !states.is_empty() && states.iter().all(|state| state.is_half_deleted)
}

/// The versions of a pod that a deletion may rest on.
fn demanded<'p>(pod: &'p ObservedPod, deletion: &JudgedDeletion, restored: bool) -> Vec<&'p PodVersion> {
    let by_version = |state: &&PodVersion| deletion.version.as_ref() == Some(&state.version);
    // A restored store gives out versions a second time.
    let exact: Vec<&PodVersion> = pod.states.iter().filter(by_version).collect();
    if !exact.is_empty() {
        return exact;
    }
    // It may delete again what the store brought back before the watch shows that.
    let begin = if restored { 0.0 } else { deletion.received - READ_AGE_MAX };
    let until = |index: usize| pod.states.get(index + 1).map_or(f64::INFINITY, |next| next.at);
    let is_possible = |(index, state): &(usize, &PodVersion)| {
        until(*index) >= begin
            && (*index == 0 || pod.states[index - 1].at <= deletion.completed)
            && !state.is_terminating
    };
    pod.states.iter().enumerate().filter(is_possible).map(|(_, state)| state).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    const WINDOW: EpisodeWindow =
        EpisodeWindow { opened: 0.0, started: 0.0, begin: 20.0, end: 25.0, excuses: true, restored: false };

    /// A node with a taint that was sent at 10 and observed at 10.5, and a pod that tolerates it for these seconds.
    fn history(seconds: Option<i64>) -> CampaignHistory {
        let mut history = CampaignHistory::default();
        let created = history.send(1.0);
        history.pod_applied(&pod(created, "5", seconds), 1.5);
        let tainted = history.send(10.0);
        history.node_applied(&node(tainted, &["down"]), 10.5);
        history
    }

    fn node(change: u64, keys: &[&str]) -> Value {
        let taints: Vec<Value> = keys.iter().map(|key| json!({"key": key, "effect": "NoExecute"})).collect();
        json!({"metadata": {"name": "n1", "uid": "n", "annotations": {CHANGE_OF: change.to_string()}}, "spec": {"taints": taints}})
    }

    const CHANGE_OF: &str = super::super::history::CHANGE;

    fn pod(change: u64, version: &str, seconds: Option<i64>) -> Value {
        let mut toleration = json!({"key": "down", "operator": "Exists", "effect": "NoExecute"});
        if let Some(seconds) = seconds {
            toleration["tolerationSeconds"] = seconds.into();
        }
        json!({
            "metadata": {"name": "p1", "uid": "p", "resourceVersion": version, "annotations": {CHANGE_OF: change.to_string()}},
            "spec": {"nodeName": "n1", "tolerations": [toleration]},
        })
    }

    fn deletion(received: f64) -> JudgedDeletion {
        let version = Some("5".to_owned());
        JudgedDeletion { uid: "p".into(), version, received, completed: received + 0.1, is_logged: true }
    }

    fn misdeeds(history: &CampaignHistory, deletions: &[JudgedDeletion]) -> Vec<Misdeed> {
        judge(history, deletions, None, WINDOW).misdeeds.into_iter().map(|(misdeed, _)| misdeed).collect()
    }

    #[test]
    fn a_deletion_is_early_until_the_earliest_possible_end_of_the_toleration() {
        let history = history(Some(7));
        assert_eq!(misdeeds(&history, &[deletion(16.8)]), [Misdeed::Early]);
        assert_eq!(misdeeds(&history, &[deletion(16.95)]), []);
    }

    #[test]
    fn a_deletion_without_a_reason_is_wrong_and_a_reason_of_five_seconds_ago_is_one() {
        assert_eq!(misdeeds(&history(None), &[deletion(30.0)]), [Misdeed::Wrong]);
        let mut history = history(Some(0));
        let removed = history.send(12.0);
        history.node_applied(&node(removed, &[]), 12.5);
        assert_eq!(misdeeds(&history, &[deletion(17.4)]), []);
        assert_eq!(misdeeds(&history, &[deletion(17.6)]), [Misdeed::Wrong]);
    }

    #[test]
    fn a_taint_that_was_removed_and_added_again_counts_from_its_return() {
        let mut history = history(Some(7));
        for (at, keys) in [(12.0, &[][..]), (13.0, &["down"][..])] {
            let change = history.send(at);
            history.node_applied(&node(change, keys), at + 0.5);
        }
        assert_eq!(misdeeds(&history, &[deletion(18.5)]), [Misdeed::Early]);
        assert_eq!(misdeeds(&history, &[deletion(20.0)]), []);
    }

    #[test]
    fn a_restored_state_has_the_times_of_its_taints_again() {
        let mut history = history(Some(7));
        let removed = history.send(12.0);
        history.node_applied(&node(removed, &[]), 12.5);
        history.list_nodes(&[node(2, &["down"])], 30.0);
        assert_eq!(misdeeds(&history, &[deletion(31.0)]), []);
        let is_overdue = |at| !overdue(&history, at).is_empty();
        assert_eq!((is_overdue(36.9), is_overdue(37.1)), (false, true), "the taint came back at 30");
    }

    #[test]
    fn a_pod_that_a_restored_store_brings_back_may_have_its_whole_time_again() {
        let mut history = history(Some(7));
        history.pod_gone("p", 15.0);
        history.pod_applied(&pod(1, "5", Some(7)), 30.0);
        let is_overdue = |at| !overdue(&history, at).is_empty();
        assert_eq!((is_overdue(36.9), is_overdue(37.1)), (false, true));
        assert_eq!(misdeeds(&history, &[deletion(31.0)]), [], "and has had it already");
    }

    #[test]
    fn a_pod_is_deleted_once_and_not_while_it_terminates() {
        let mut history = history(Some(0));
        assert_eq!(misdeeds(&history, &[deletion(20.0), deletion(21.0)]), [Misdeed::Twice]);
        let restored = EpisodeWindow { restored: true, ..WINDOW };
        assert_eq!(judge(&history, &[deletion(20.0), deletion(21.0)], None, restored).misdeeds, []);
        let mut ending = pod(1, "6", Some(0));
        ending["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
        history.pod_applied(&ending, 22.0);
        let again = JudgedDeletion { version: Some("6".into()), ..deletion(23.0) };
        assert_eq!(misdeeds(&history, std::slice::from_ref(&again)), [Misdeed::Twice]);
        ending["metadata"]["deletionGracePeriodSeconds"] = 0.into();
        ending["metadata"]["resourceVersion"] = "8".into();
        history.pod_applied(&ending, 22.5);
        let finished = JudgedDeletion { version: Some("8".into()), ..again };
        let unread = judge(&history, std::slice::from_ref(&finished), Some(&BTreeMap::new()), WINDOW);
        assert_eq!(unread.misdeeds, [], "nor needs it a read of the node");
        let unseen = JudgedDeletion { version: Some("7".into()), ..deletion(30.0) };
        assert_eq!(misdeeds(&history, std::slice::from_ref(&unseen)), [Misdeed::Wrong]);
        assert_eq!(judge(&history, &[unseen], None, restored).misdeeds, []);
        let removed = history.send(22.6);
        history.node_applied(&node(removed, &[]), 22.7);
        let late = JudgedDeletion { received: 40.0, completed: 40.1, ..finished };
        assert_eq!(misdeeds(&history, &[late]), [], "nor the taint");
    }

    #[test]
    fn a_deletion_rests_on_a_read_of_the_node() {
        let history = history(Some(0));
        let of = |at: f64| {
            let reads = BTreeMap::from([("n1".to_owned(), vec![at])]);
            judge(&history, &[deletion(20.0)], Some(&reads), WINDOW).misdeeds.len()
        };
        assert_eq!((of(13.4), of(13.6), of(20.1)), (1, 0, 1));
    }

    #[test]
    fn lateness_counts_from_the_end_of_a_fault_that_excuses() {
        let late = |seconds, received, window| {
            judge(&history(Some(seconds)), &[deletion(received)], None, window).late
        };
        let lasting = EpisodeWindow { excuses: false, ..WINDOW };
        let close = |late: Vec<f64>, expected: f64| late.len() == 1 && (late[0] - expected).abs() < 1e-6;
        assert!(close(late(12, 26.0, WINDOW), 1.1));
        assert!(close(late(12, 26.0, lasting), 3.6));
        assert!(close(late(17, 28.0, WINDOW), 0.6));
        assert_eq!(late(1, 12.0, WINDOW), [] as [f64; 0]);
    }

    #[test]
    fn a_shorter_toleration_makes_a_pod_due_when_it_is_shortened() {
        let mut history = history(Some(60));
        assert_eq!(overdue(&history, 40.0), [] as [&str; 0]);
        history.pod_applied(&pod(1, "6", Some(2)), 30.0);
        assert_eq!(overdue(&history, 30.0), ["p1"]);
        let shortened = JudgedDeletion { version: Some("6".into()), ..deletion(31.0) };
        let verdict = judge(&history, &[shortened], None, WINDOW);
        assert_eq!((verdict.misdeeds.len(), verdict.late.len()), (0, 1));
        assert!((verdict.late[0] - 1.1).abs() < 1e-6);
        history.pod_gone("p", 32.0);
        assert_eq!(overdue(&history, 40.0), [] as [&str; 0]);
    }
}

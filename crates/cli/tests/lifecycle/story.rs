//! Checks S6, S7 and L7 over the whole record, against the times at which nodes were silenced.

use super::fleet::Rate;
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;
use std::sync::Mutex;
use taintward_envtest::node_history::{HistoryPosition, NodeHistory};

/// How far the record's clock may lag behind the API server.
const BLUR: SignedDuration = SignedDuration::from_millis(400);

/// Since when a node is silent; `None` while it is alive.
type Silence = Option<Timestamp>;

/// Silencings and revivals, in order.
#[derive(Default)]
pub(crate) struct Story {
    turns: Mutex<Vec<(Timestamp, String, Silence)>>,
}

impl Story {
    pub(crate) fn silenced<N: AsRef<str>>(&self, nodes: impl IntoIterator<Item = N>) {
        let now = Timestamp::now();
        let turns = nodes.into_iter().map(|node| (now, node.as_ref().to_owned(), Some(now)));
        self.turns.lock().unwrap().extend(turns);
    }

    /// Recorded before the revival: a taint removed in between is removed rightly.
    pub(crate) fn revived<N: AsRef<str>>(&self, nodes: impl IntoIterator<Item = N>) {
        let now = Timestamp::now();
        let turns = nodes.into_iter().map(|node| (now, node.as_ref().to_owned(), None));
        self.turns.lock().unwrap().extend(turns);
    }

    /// Since when the node was silent at this time.
    fn silence(&self, node: &str, at: Timestamp) -> Silence {
        let turns = self.turns.lock().unwrap();
        turns
            .iter()
            .rev()
            .find(|(when, name, _)| *when <= at && name == node)
            .and_then(|(_, _, since)| *since)
    }

    /// S7: a node that got a NoExecute taint was silent for its grace period; one that lost it was alive. `lifted` are
    /// the periods in which all nodes were down, so that the taints of dead ones had to be removed (NL-27).
    pub(crate) fn check(
        &self,
        record: &NodeHistory,
        since: HistoryPosition,
        rate: Rate,
        lifted: &[(Timestamp, Timestamp)],
    ) {
        let grace = SignedDuration::try_from(rate.grace.saturating_sub(rate.renew)).unwrap();
        let mut was: BTreeMap<String, bool> = BTreeMap::new();
        let mut wrong = Vec::new();
        for change in record.since(since) {
            let before = was.get(&change.node).copied().unwrap_or_else(|| {
                record.before(since, &change.node).is_some_and(|sight| sight.is_evicting())
            });
            let Some(sight) = &change.sight else {
                was.remove(&change.node);
                continue;
            };
            let (node, at) = (&change.node, change.at);
            was.insert(node.clone(), sight.is_evicting());
            match (before, sight.is_evicting(), self.silence(node, at)) {
                (false, true, None) => wrong.push(format!("{at}: {node} was tainted, and is alive")),
                (false, true, Some(silent)) if at.duration_since(silent) + BLUR < grace => {
                    wrong.push(format!("{at}: {node} was tainted, and is silent only since {silent}"));
                }
                (true, false, Some(silent)) if !lifted.iter().any(|(from, to)| *from <= at && at <= *to) => {
                    wrong.push(format!("{at}: {node} was un-tainted, and is silent since {silent}"));
                }
                _ => {}
            }
        }
        assert!(wrong.is_empty(), "S7, NL-40:\n{}", wrong.join("\n"));
    }
}

/// When nodes got NoExecute taints since a position, in order.
pub(crate) fn tainted_at(record: &NodeHistory, since: HistoryPosition) -> Vec<(Timestamp, String)> {
    let mut was: BTreeMap<String, bool> = BTreeMap::new();
    let mut all = Vec::new();
    for change in record.since(since) {
        let is = change.sight.as_ref().is_some_and(|sight| sight.is_evicting());
        let before = was
            .insert(change.node.clone(), is)
            .unwrap_or_else(|| record.before(since, &change.node).is_some_and(|sight| sight.is_evicting()));
        if is && !before {
            all.push((change.at, change.node));
        }
    }
    all
}

/// S6: in any period at most `1 + rate · length` nodes of one zone get NoExecute taints. If they are seconds apart, the
/// record's clock may lag by half of that: a token that did not exist still shows.
pub(crate) fn check_rate(tainted: &[(Timestamp, String)], rate: f64) {
    let blur = BLUR.as_secs_f64().max(0.5 / rate);
    for (first, (from, node)) in tainted.iter().enumerate() {
        for (count, (to, other)) in tainted[first..].iter().enumerate() {
            let allowed = 1.0 + rate * (to.duration_since(*from).as_secs_f64() + blur);
            assert!(
                (count + 1) as f64 <= allowed,
                "S6: {} nodes from {node} at {from} to {other} at {to}, {allowed:.1} are allowed",
                count + 1,
            );
        }
    }
}

//! Checks S6, S7, S8, L7 and the node lifecycle rules (NL-16, NL-21, NL-26, NL-27, NL-40) on the commit log,
//! independently of the core.

mod checked_node;

use super::log::{LogKind, LoggedCommit};
use checked_node::{CheckedNode, Sign};
use jiff::{SignedDuration, Timestamp};
use std::collections::BTreeMap;

/// `--node-monitor-grace-period`; the pause between two nodes of a zone; the longest interruption of a watch that does
/// not count (S7).
const GRACE: f64 = 50.0;
const TURN: f64 = 10.0;
const GAP: f64 = 17.5;

/// The largest age of the evidence for a write: a live read of two seconds, plus the longest request. If nothing ever
/// fails, requests take no time, but simultaneous events have no order.
const AGE: f64 = 7.0;
const MOMENT: f64 = 0.02;

/// How long a controller may miss a commit: a silent stream is detected within 75 s, and pauses are 30 s at most; lost
/// events are found within five minutes (L4).
const BLIND: f64 = 110.0;
const DEAF: f64 = 330.0;

/// L7.
const WELL: f64 = 5.0;

/// How late a node may be declared silent if nothing fails: after a relist of leases without any renewal, the
/// controller observes them for a full grace period more.
const LATE: f64 = GRACE + 1.0;

/// Pending writes are finished this long after faults have ended; after that there are none.
const SETTLED: f64 = 600.0;

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

pub(crate) struct NodeChecker {
    nodes: BTreeMap<String, CheckedNode>,
    /// The last renewal of each lease, by node.
    words: BTreeMap<String, Timestamp>,
    renewals: BTreeMap<String, String>,
    /// When a zone's nodes were tainted.
    turns: BTreeMap<String, Vec<Timestamp>>,
    begun: Vec<(usize, Timestamp)>,
    woken: Vec<Timestamp>,
    calm_at: Timestamp,
    /// Nothing fails, and watches deliver everything.
    strict: bool,
    hears_all: bool,
    /// Since when all nodes are down; the last time at which they were, before one came back.
    down_since: Option<Timestamp>,
    down_until: Option<Timestamp>,
    pub(crate) tainted: u64,
    pub(crate) faults: Vec<String>,
}

impl NodeChecker {
    pub(crate) fn new(strict: bool, hears_all: bool, calm_at: Timestamp) -> Self {
        Self {
            nodes: BTreeMap::new(),
            words: BTreeMap::new(),
            renewals: BTreeMap::new(),
            turns: BTreeMap::new(),
            begun: Vec::new(),
            woken: Vec::new(),
            calm_at,
            strict,
            hears_all,
            down_since: None,
            down_until: None,
            tainted: 0,
            faults: Vec::new(),
        }
    }

    pub(crate) fn began(&mut self, which: usize, at: Timestamp) {
        self.begun.push((which, at));
    }

    /// Records that the controllers slept for `slept`; a short sleep is not a gap.
    pub(crate) fn woke(&mut self, at: Timestamp, slept: std::time::Duration) {
        if slept.as_secs_f64() > GAP {
            self.woken.push(at);
        }
    }

    pub(crate) fn receive(&mut self, commit: &LoggedCommit) {
        if commit.by.is_some() && self.hears_all && seconds(self.calm_at, commit.at) > SETTLED {
            let what = format!(
                "REST: {:?} {} written at {:.3}",
                commit.kind, commit.object["metadata"]["name"], commit.at
            );
            self.faults.push(what);
        }
        match commit.kind {
            LogKind::Lease => self.lease(commit),
            LogKind::Node => self.observe_node(commit),
            LogKind::Pod | LogKind::Policy | LogKind::Other => {}
        }
    }

    /// A renewal that differs from the previous one is a heartbeat (NL-10).
    fn lease(&mut self, commit: &LoggedCommit) {
        let name = commit.object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let Some(renewed) = commit.object["spec"]["renewTime"].as_str().filter(|_| !commit.gone) else {
            return;
        };
        if self.renewals.insert(name.clone(), renewed.to_owned()).is_none_or(|before| before != renewed) {
            self.words.insert(name, commit.at);
        }
    }

    fn observe_node(&mut self, commit: &LoggedCommit) {
        let name = commit.object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
        let before = self.nodes.get(&name).cloned().filter(|before| before.is_same(&commit.object));
        if commit.gone {
            self.nodes.remove(&name);
            return self.survey(commit.at);
        }
        let now = CheckedNode::new(commit, before.as_ref());
        if let (Some(before), Some(by)) = (&before, commit.by) {
            self.judge_write(&name, before, &now, (by, commit.at));
        }
        if let Some(before) = &before {
            self.judge_rate(&name, before, &now, commit.at);
        }
        self.nodes.insert(name, now);
        self.survey(commit.at);
    }

    /// Whether the conditions of all nodes say that they are down.
    fn is_all_down(&self) -> bool {
        !self.nodes.is_empty() && self.nodes.values().all(|one| one.ready != "True")
    }

    fn survey(&mut self, at: Timestamp) {
        match (self.is_all_down(), self.down_since) {
            (true, None) => self.down_since = Some(at),
            (false, Some(_)) => (self.down_since, self.down_until) = (None, Some(at)),
            _ => {}
        }
    }

    /// How long a controller may miss a commit.
    const fn lag(&self) -> f64 {
        match (self.strict, self.hears_all) {
            (true, _) => MOMENT,
            (false, true) => BLIND,
            (false, false) => DEAF,
        }
    }

    const fn age(&self) -> f64 {
        if self.strict { MOMENT } else { AGE }
    }

    fn wrong(&mut self, what: String) {
        self.faults.push(what);
    }

    /// Checks one write of a controller to a node.
    fn judge_write(
        &mut self,
        name: &str,
        before: &CheckedNode,
        now: &CheckedNode,
        (by, at): (usize, Timestamp),
    ) {
        if before.others != now.others {
            let (was, is) = (&before.others, &now.others);
            self.wrong(format!(
                "S8: at {at:.3} {name} was changed in what the controller does not manage: {was} {is}"
            ));
        }
        if now.away.len() > 1 && before.away.len() < 2 {
            self.wrong(format!("NL-21: at {at:.3} {name} has both NoExecute taints"));
        }
        match (before.away.first(), now.away.first()) {
            (None, Some(sign)) => self.judge_taint(name, before, *sign, (by, at)),
            (Some(_), None) => self.judge_lift(name, before, at),
            _ => {}
        }
    }

    /// Checks a NoExecute taint on a node without one: S6, S7.
    fn judge_taint(&mut self, name: &str, before: &CheckedNode, sign: Sign, (by, at): (usize, Timestamp)) {
        self.tainted += 1;
        let turns = self.turns.entry(before.zone.clone()).or_default();
        turns.push(at);
        let slack = if self.strict { MOMENT } else { AGE };
        let count = turns.len();
        let fast =
            (0..count - 1).any(|first| seconds(turns[first], at) + slack < TURN * (count - 1 - first) as f64);
        if fast {
            let all = turns.clone();
            self.wrong(format!("S6: zone {} at {all:?}", before.zone));
        }
        let wanted = if sign == Sign::Unreachable { "Unknown" } else { "False" };
        if before.ready != wanted {
            self.wrong(format!("NL-16: at {at:.3} {name} became {sign:?}, and Ready was {:?}", before.ready));
        }
        if self.down_since.is_some_and(|since| seconds(since, at) > self.lag()) {
            self.wrong(format!("S6: at {at:.3} {name} was tainted while everything is down"));
        }
        self.judge_zone(name, before, at);
        if sign == Sign::Unreachable {
            self.judge_silence(name, by, at);
        }
    }

    /// NL-26: no node is tainted in a small zone of which most is down. All zones are small here.
    fn judge_zone(&mut self, name: &str, before: &CheckedNode, at: Timestamp) {
        if !self.strict {
            return;
        }
        let zone: Vec<&CheckedNode> = self.nodes.values().filter(|one| one.zone == before.zone).collect();
        let settled = zone.iter().all(|one| seconds(one.since, at) > MOMENT);
        if settled && is_partly_down(&zone) {
            let zone = before.zone.clone();
            self.wrong(format!("NL-26: at {at:.3} {name} was tainted though most of {zone} is down"));
        }
    }

    /// S7: there was no heartbeat for a full grace period, all of which the writing controller observed.
    fn judge_silence(&mut self, name: &str, by: usize, at: Timestamp) {
        let grace = GRACE - MOMENT;
        let posted = self.nodes.get(name).and_then(|one| one.posted);
        let word = self.words.get(name).copied().max(posted);
        if let Some(word) = word.filter(|word| (self.age()..grace).contains(&seconds(*word, at))) {
            self.wrong(format!("S7: at {at:.3} {name} was tainted though it spoke at {word:.3}"));
        }
        let begun =
            self.begun.iter().filter(|(which, began)| *which == by && *began <= at).map(|(_, began)| *began);
        let since = begun.max();
        if let Some(since) = since.filter(|since| seconds(*since, at) < grace) {
            self.wrong(format!("S7: at {at:.3} {name} was tainted by a replica that began at {since:.3}"));
        }
        let woke = self.woken.iter().copied().filter(|woke| *woke <= at).max();
        if let Some(woke) = woke.filter(|woke| seconds(*woke, at) < grace) {
            self.wrong(format!("S7: at {at:.3} {name} was tainted by a replica that woke at {woke:.3}"));
        }
    }

    /// NL-40: a NoExecute taint is removed when the node is ready, or all nodes are down.
    fn judge_lift(&mut self, name: &str, before: &CheckedNode, at: Timestamp) {
        if !self.hears_all {
            // After lost events, a controller may conclude that all nodes are down though they never were, and remove
            // the taints.
            return;
        }
        // A controller that does not know yet that one node came back may observe the others fall silent, and conclude
        // that all nodes are down at a time at which they never were.
        let lag = self.lag();
        let seems_down =
            |one: &CheckedNode| one.down_until(at).is_some_and(|until| seconds(until, at) <= lag);
        let all_down = self.nodes.values().all(seems_down);
        if before.ready != "True" && !all_down {
            self.wrong(format!("NL-40: at {at:.3} {name} was freed, and Ready was {:?}", before.ready));
        }
    }

    /// L7, NL-13: if nothing fails, due writes happen soon.
    fn judge_rate(&mut self, name: &str, before: &CheckedNode, now: &CheckedNode, at: Timestamp) {
        if !self.strict {
            return;
        }
        if let Some(since) = before.freed_since.filter(|since| seconds(*since, at) > WELL) {
            self.wrong(format!("L7: {name} was ready at {since:.3} and had its taints until {at:.3}"));
        }
        if before.ready == "True" && now.ready == "Unknown" {
            let due = self.dead_at(name, before);
            if seconds(due, at) > LATE {
                self.wrong(format!("NL-13: {name} was silent by {due:.3} and called so at {at:.3}"));
            }
        }
    }

    /// The earliest end of its grace period that a controller can know.
    fn dead_at(&self, name: &str, checked_node: &CheckedNode) -> Timestamp {
        let word = self.words.get(name).copied().max(checked_node.posted).max(self.down_until);
        let begun = self.begun.iter().map(|(_, at)| *at).min();
        let since = word.max(begun).unwrap_or(checked_node.born).max(checked_node.born);
        since.saturating_add(SignedDuration::from_secs_f64(GRACE)).unwrap_or(since)
    }

    /// After a long calm, all nodes are in their desired state.
    pub(crate) fn judge_end(&mut self, now: Timestamp) {
        let all_down = self.is_all_down();
        let mut found = Vec::new();
        for (name, one) in &self.nodes {
            let mut reported = |what: &str| found.push(format!("L7: at the end {name} {what}: {one:?}"));
            if one.away.len() > 1 {
                reported("has both NoExecute taints");
            }
            if one.ready == "True" && seconds(self.dead_at(name, one), now) > SETTLED / 2.0 {
                reported("is dead, and its conditions do not say so");
            }
            if one.keeping != one.wanted {
                reported("has not the NoSchedule taints that its conditions call for");
            }
            if (one.ready == "True" || all_down) && !one.away.is_empty() {
                reported("has a NoExecute taint for no reason");
            }
            let zone: Vec<&CheckedNode> =
                self.nodes.values().filter(|other| other.zone == one.zone).collect();
            let sign = match one.ready.as_str() {
                "Unknown" => Sign::Unreachable,
                "False" => Sign::NotReady,
                _ => continue,
            };
            let stopped = all_down || is_partly_down(&zone);
            if !stopped && one.away != [sign] || stopped && !one.away.iter().all(|away| *away == sign) {
                reported("has not the NoExecute taint that it should have");
            }
        }
        self.faults.append(&mut found);
    }
}

/// NL-25: more than two nodes and 55 % of a zone, but not all of it.
fn is_partly_down(zone: &[&CheckedNode]) -> bool {
    let down = zone.iter().filter(|one| one.ready != "True").count();
    down > 2 && down < zone.len() && down * 100 >= zone.len() * 55
}

//! # Teller: what operators read about nodes
//! Room:     notices of the health engine as log lines, metrics and events; complaints about requests that failed.
//! Comes in: notices, refusals, zones.
//! Goes out: one line per decision with the reason; events after the fact, a few at a time, and few lines when much goes
//!           wrong.
//! Keeps:    nothing beyond fixed bounds; an event that finds no room is dropped and counted.
//! Not here: the wording (`words.rs`, the core's `health/words.rs`).

use super::hands::Done;
use super::words;
use crate::metrics::{self, Metrics};
use crate::teller::Quota;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use std::collections::VecDeque;
use taintward_client::act::{Actor, Refusal};
use taintward_client::clock::Clock;
use taintward_client::event::EventNote;
use taintward_core::engine::PodRef;
use taintward_core::health::{Engine, NodeRef, Notice, OwnTaints, Why, ZoneKey};
use taintward_core::names::PodName;
use taintward_core::time::{Mono, Now};

/// Events that wait at most.
const WAITING_MAX: usize = 1_000;

/// Events being written at once, at most.
const AT_ONCE: usize = 2;

/// Zones that are named at start, at most.
const ZONES_NAMED: usize = 50;

/// What became of an event, and when it was sent.
pub(super) type Sent = (Mono, Result<(), Refusal>);

/// What is still to be said, and how often what may be said.
pub(super) struct Teller {
    waiting: VecDeque<EventNote>,
    sending: FuturesUnordered<BoxFuture<'static, Sent>>,
    dropped: u64,
    complaints: Quota,
}

impl Teller {
    pub(super) fn new() -> Self {
        let (waiting, sending) = (VecDeque::new(), FuturesUnordered::new());
        Self { waiting, sending, dropped: 0, complaints: Quota::per_second(5) }
    }

    /// Says one thing; events only by whoever acts, so that replicas do not say it twice.
    pub(super) fn tell(&mut self, notice: &Notice, acting: bool, now: Now, metrics: &Metrics) {
        match notice {
            Notice::Tainted { node, zone, add, remove, why } => {
                tell_tainted(node, zone, (*add, *remove), *why, now, metrics);
            }
            Notice::Declared { node, silent_since } => tracing::warn!(
                node = node.name.as_str(),
                uid = %node.uid,
                reason = words::why(Why::Silent { since: *silent_since }, now),
                "conditions of node set to Unknown"
            ),
            Notice::WouldTaint { node, zone, add, remove, why } => {
                would_taint(node, zone, (*add, *remove), *why, now, metrics);
            }
            Notice::WouldDeclare { node, silent_since } => tracing::info!(
                node = node.name.as_str(),
                uid = %node.uid,
                reason = words::why(Why::Silent { since: *silent_since }, now),
                "would set conditions of node to Unknown now"
            ),
            Notice::EverythingDown(true) => tracing::warn!(
                "all zones are down: no node gets a NoExecute taint for that, and those that are there go"
            ),
            Notice::EverythingDown(false) => tracing::info!(
                "not all zones are down any more: who is silent has a whole grace period from now on"
            ),
            Notice::HoldCountdowns(true) => {
                tracing::warn!("no node is heard of, or all are down: countdowns for that stand still");
            }
            Notice::HoldCountdowns(false) => tracing::info!("countdowns go on"),
            Notice::ZoneChanged { zone, from, to } => {
                let (zone, from, to) = (zone.to_string(), words::state(*from), words::state(*to));
                tracing::warn!(zone, from, to, "zone changed");
            }
            Notice::NotUnderstood(node) => tracing::warn!(
                node = node.as_str(),
                "node, or its lease, makes no sense: its taints stay as they are"
            ),
            Notice::ObservedAfresh => tracing::warn!(
                "observation was interrupted: nodes are silent only if they are for a whole grace period from now on"
            ),
            Notice::Failed { node, failure, .. } => {
                tracing::debug!(node = node.as_str(), ?failure, "tried again later");
            }
            Notice::Registered(node) | Notice::Removed(node) | Notice::BecameNotReady(node) => {
                tell_about(node, notice);
            }
            Notice::PodMarked { pod, name } => {
                tracing::debug!(pod = name.as_str(), uid = %pod.uid, "pod marked not ready: its node is not");
            }
        }
        if acting {
            self.write(event(notice, now));
        }
    }

    fn write(&mut self, note: Option<EventNote>) {
        let Some(note) = note else { return };
        match self.waiting.len() < WAITING_MAX {
            true => self.waiting.push_back(note),
            false => self.dropped += 1,
        }
    }

    /// Starts writing events, as long as there is room.
    pub(super) fn send(&mut self, actor: &Actor, now: Mono, metrics: &Metrics) {
        while self.sending.len() < AT_ONCE {
            let Some(note) = self.waiting.pop_front() else { break };
            metrics.effects.began();
            let actor = actor.clone();
            self.sending.push(Box::pin(async move { (now, actor.post_event(&note).await) }));
        }
    }

    /// The next event that was written, or was not; waits for ever while none is under way.
    pub(super) async fn sent(&mut self) -> Sent {
        match self.sending.next().await {
            Some(sent) => sent,
            None => std::future::pending().await,
        }
    }

    pub(super) fn was_sent(&self, (sent, result): Sent, clock: &Clock, metrics: &Metrics) {
        if let Err(refusal) = &result {
            tracing::debug!(err = %refusal.message, "event lost");
        }
        let outcome = result.map_err(|refusal| refusal.failure);
        metrics.effects.ended(metrics::Effect::Event, outcome, clock.now().mono.since(sent));
    }

    /// Waits for the events under way.
    pub(super) async fn finish(&mut self) {
        while self.sending.next().await.is_some() {}
    }

    /// How many were given up since the last call.
    pub(super) fn take_dropped(&mut self) -> u64 {
        std::mem::take(&mut self.dropped)
    }

    /// Says that a request failed and will be tried again; not for every one of thousands.
    pub(super) fn complain(&mut self, done: &Done, refusal: &Refusal, now: Mono) {
        let Some(withheld) = self.complaints.take(now) else { return };
        tracing::warn!(
            request = done.kind.as_str(),
            object = done.object,
            err = %refusal.message,
            withheld,
            "request about a node failed; it is tried again as long as there is reason to"
        );
    }
}

fn tell_tainted(
    node: &NodeRef,
    zone: &ZoneKey,
    (add, remove): (OwnTaints, OwnTaints),
    why: Why,
    now: Now,
    metrics: &Metrics,
) {
    if matches!(why, Why::NotReady | Why::Silent { .. }) && !add.no_execute().is_empty() {
        metrics.node_health.evicted(zone.as_str());
    }
    tracing::info!(
        node = node.name.as_str(),
        uid = %node.uid,
        zone = zone.to_string(),
        add = words::taints(add),
        remove = words::taints(remove),
        reason = words::why(why, now),
        "node tainted"
    );
}

/// In observe mode (S14).
fn would_taint(
    node: &NodeRef,
    zone: &ZoneKey,
    (add, remove): (OwnTaints, OwnTaints),
    why: Why,
    now: Now,
    metrics: &Metrics,
) {
    if !add.no_execute().is_empty() {
        metrics.node_health.would_taint.inc();
    }
    tracing::info!(
        node = node.name.as_str(),
        uid = %node.uid,
        zone = zone.to_string(),
        add = words::taints(add),
        remove = words::taints(remove),
        reason = words::why(why, now),
        "would taint node now"
    );
}

fn tell_about(node: &NodeRef, notice: &Notice) {
    let (name, uid) = (node.name.as_str(), &node.uid);
    match notice {
        Notice::Registered(_) => tracing::debug!(node = name, %uid, "node seen for the first time"),
        Notice::Removed(_) => tracing::info!(node = name, %uid, "node is gone"),
        _ => tracing::info!(node = name, %uid, "node is not ready any more"),
    }
}

/// Upstream's events (NL-17, NL-19).
fn event(notice: &Notice, now: Now) -> Option<EventNote> {
    match notice {
        Notice::Registered(node) => Some(EventNote::registered(node, now.wall)),
        Notice::Removed(node) => Some(EventNote::removing(node, now.wall)),
        Notice::BecameNotReady(node) => Some(EventNote::node_not_ready(node, now.wall)),
        Notice::PodMarked { pod: PodRef { node, uid }, name } => {
            let pod: &PodName = name;
            Some(EventNote::pod_not_ready(pod, uid, node, now.wall))
        }
        _ => None,
    }
}

/// Says which zones there are, how they are, and how fast their nodes may be tainted.
pub(super) fn zones(engine: &Engine, now: Now) {
    let census = engine.census();
    let zones = engine.zones().count();
    tracing::info!(nodes = census.nodes, zones, tainted = census.tainted, "node health synced");
    for zone in engine.zones().take(ZONES_NAMED) {
        tracing::info!(
            zone = zone.zone.to_string(),
            nodes = zone.size,
            not_ready = zone.unhealthy,
            excluded = zone.excluded,
            mode = words::state(zone.state),
            rate = words::rate(zone.rate),
            "zone"
        );
    }
    if zones > ZONES_NAMED {
        tracing::info!(more = zones - ZONES_NAMED, "further zones");
    }
    if let Some(doubt) = engine.doubt(now.mono) {
        tracing::info!(?doubt, "no node is called silent yet");
    }
}

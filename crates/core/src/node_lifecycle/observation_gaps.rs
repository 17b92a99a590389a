//! Tracks since when this process has observed without interruption: watches, requests and the process itself (S7,
//! P37).
//!
//! - Invariant: time in which this process could not observe a node never counts as the node's silence.

use super::TICK;
use super::config::NodeLifecycleConfig;
use crate::time::{Mono, Span};

/// The kinds that are listed and watched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WatchedKind {
    /// Nodes.
    Nodes,
    /// Leases in `kube-node-lease`.
    Leases,
    /// Pods that are bound to a node.
    Pods,
}

/// Why a node that looks dead is not declared silent, or not tainted NoExecute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObservationDoubt {
    /// Nodes or leases were never listed completely.
    NotSynced,
    /// A stream of nodes or leases is lost.
    WatchLost,
    /// The requests of this process have not succeeded lately: this process may be the one that is disconnected.
    NoResponse,
    /// No node at all sent a heartbeat lately: this node is not the cause.
    NoNodeRenewed,
}

/// An update of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamUpdate {
    /// The list is complete.
    ListCompleted,
    /// A list was aborted.
    ListAborted,
    /// The watch delivered an event that is not part of a list.
    Event,
    /// There have been no reliable events since then.
    Lost { since: Mono },
    /// The stream delivers events again.
    Recovered,
}

/// The state of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct StreamState {
    complete_once: bool,
    /// While a list runs: the last moment of complete knowledge, if there ever was one.
    listing: Option<Option<Mono>>,
    /// There have been no reliable events since then.
    lost: Option<Mono>,
    /// Since when it has been watched without a significant gap.
    since: Option<Mono>,
}

impl StreamState {
    fn begin(&mut self, silent_since: Option<Mono>) {
        self.listing = Some(silent_since);
    }

    /// Completes a list. Returns whether one was running.
    fn end(&mut self, now: Mono, config: &NodeLifecycleConfig) -> bool {
        let Some(silent_since) = self.listing.take() else { return false };
        let known_until = match (silent_since, self.lost.take()) {
            (Some(silent), Some(lost)) => Some(silent.min(lost)),
            (silent, lost) => silent.or(lost),
        };
        self.gap(known_until, now, config);
        self.complete_once = true;
        true
    }

    /// Aborts a list. Without a complete one before it there is no watch that could continue.
    fn abort(&mut self, now: Mono, config: &NodeLifecycleConfig) -> bool {
        let Some(known_until) = self.listing.take().filter(|_| self.complete_once) else { return false };
        self.gap(known_until, now, config);
        true
    }

    /// The watch delivered an event that is not part of a list. While a list runs, that shows that the watch continues
    /// alongside it: there is no gap up to now. Items of the list itself show nothing of the kind, because they arrive
    /// one after the other: if the watch is dead, no node may be declared silent before the last one has arrived.
    fn event_seen(&mut self, now: Mono) {
        if let Some(known_until) = &mut self.listing {
            *known_until = Some(now);
        }
    }

    /// Whether it is lost, or a list has been running for so long that the time without watch events is a gap.
    fn is_blind(&self, now: Mono, config: &NodeLifecycleConfig) -> bool {
        let late = |silent: Option<Mono>| silent.is_none_or(|since| now.since(since) > config.gap_max());
        self.lost.is_some() || self.listing.is_some_and(late)
    }

    fn lose(&mut self, since: Mono) {
        self.lost = Some(self.lost.map_or(since, |lost| lost.min(since)));
    }

    fn find(&mut self, now: Mono, config: &NodeLifecycleConfig) {
        if let Some(lost) = self.lost.take() {
            self.gap(Some(lost), now, config);
        }
    }

    fn gap(&mut self, known_until: Option<Mono>, now: Mono, config: &NodeLifecycleConfig) {
        let is_gap = known_until.is_none_or(|until| now.since(until) > config.gap_max());
        if is_gap || self.since.is_none() {
            self.since = Some(now);
        }
    }
}

/// The API server accepts the requests of this process: the successes follow each other without a gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct RequestSuccesses {
    since: Mono,
    last: Mono,
}

/// How well this process can observe: streams, requests, and the process itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Observation {
    nodes: StreamState,
    leases: StreamState,
    pods: StreamState,
    requests: Option<RequestSuccesses>,
    /// Silence before this moment does not count: the process stood still, or all zones were down.
    afresh: Option<Mono>,
    /// The last call.
    called: Option<Mono>,
    /// When the last heartbeat of any node was observed.
    last_renewal: Option<Mono>,
}

impl Observation {
    /// Whether both lists that nodes are judged by were complete once (NL-4).
    pub(crate) const fn is_synced(&self) -> bool {
        self.nodes.complete_once && self.leases.complete_once
    }

    /// Records a call. Returns whether the process stood still before it: then missing heartbeats prove nothing.
    pub(crate) fn call(&mut self, now: Mono, config: &NodeLifecycleConfig) -> bool {
        // The longest pause between two calls that is not a gap.
        let pause_max = config.monitor_period().saturating_add(config.gap_max());
        let before = self.called.replace(now);
        let paused = before.is_some_and(|before| now.since(before) > pause_max);
        if paused {
            self.afresh = Some(now);
        }
        paused
    }

    /// Returns the time of the last call.
    pub(crate) const fn called(&self) -> Option<Mono> {
        self.called
    }

    /// Every node gets a whole grace period from now on.
    pub(crate) fn begin_afresh(&mut self, now: Mono) {
        self.afresh = Some(now);
    }

    /// The process stood still since then. Returns whether that is a gap.
    pub(crate) fn pause(&mut self, since: Mono, now: Mono, config: &NodeLifecycleConfig) -> bool {
        let paused = now.since(since) > config.gap_max();
        if paused {
            self.afresh = Some(now);
        }
        paused
    }

    /// Starts a list, with the last moment of complete knowledge, if there ever was one.
    pub(crate) fn start_list(&mut self, stream: WatchedKind, silent_since: Option<Mono>) {
        self.stream_mut(stream).begin(silent_since);
    }

    /// Applies an update of a stream. Returns, for a completed list, whether one was running; for an aborted one,
    /// whether the watch continues.
    pub(crate) fn update(
        &mut self,
        stream: WatchedKind,
        update: StreamUpdate,
        now: Mono,
        config: &NodeLifecycleConfig,
    ) -> bool {
        let stream = self.stream_mut(stream);
        match update {
            StreamUpdate::ListCompleted => return stream.end(now, config),
            StreamUpdate::ListAborted => return stream.abort(now, config),
            StreamUpdate::Event => stream.event_seen(now),
            StreamUpdate::Lost { since } => stream.lose(since),
            StreamUpdate::Recovered => stream.find(now, config),
        }
        true
    }

    const fn stream_mut(&mut self, stream: WatchedKind) -> &mut StreamState {
        match stream {
            WatchedKind::Nodes => &mut self.nodes,
            WatchedKind::Leases => &mut self.leases,
            WatchedKind::Pods => &mut self.pods,
        }
    }

    /// Whether a list of this kind is running.
    pub(crate) const fn is_listing(&self, stream: WatchedKind) -> bool {
        let stream = match stream {
            WatchedKind::Nodes => &self.nodes,
            WatchedKind::Leases => &self.leases,
            WatchedKind::Pods => &self.pods,
        };
        stream.listing.is_some()
    }

    /// A request of this process, sent at this moment, has succeeded. Returns whether that ends a gap.
    pub(crate) fn request_succeeded(&mut self, sent: Mono, now: Mono, config: &NodeLifecycleConfig) -> bool {
        let sent = sent.min(now);
        match &mut self.requests {
            Some(requests) if sent.since(requests.last) <= config.gap_max() => {
                requests.last = requests.last.max(sent);
                false
            }
            requests => {
                *requests = Some(RequestSuccesses { since: sent, last: sent });
                true
            }
        }
    }

    /// A heartbeat of a node was observed.
    pub(crate) fn node_renewed(&mut self, now: Mono) {
        self.last_renewal = Some(now);
    }

    /// Since when silence is a node's own (S7): the streams that would have delivered a heartbeat, the API server
    /// and this process were all working. A node with a lease shows a heartbeat there; one without, in its object.
    pub(crate) fn since(&self, has_lease: bool) -> Option<Mono> {
        let (leases, requests) = (self.leases.since?, self.requests?.since);
        let nodes = if has_lease { None } else { Some(self.nodes.since?) };
        Some(leases.max(requests)).max(nodes).max(self.afresh)
    }

    /// Why no node may be declared silent now.
    pub(crate) fn doubt(&self, now: Mono, config: &NodeLifecycleConfig) -> Option<ObservationDoubt> {
        let has_response = self.requests.is_some_and(|requests| now.since(requests.last) <= config.gap_max());
        match [&self.nodes, &self.leases] {
            _ if !self.is_synced() => Some(ObservationDoubt::NotSynced),
            watches if watches.iter().any(|watch| watch.is_blind(now, config)) => {
                Some(ObservationDoubt::WatchLost)
            }
            _ if !has_response => Some(ObservationDoubt::NoResponse),
            _ => None,
        }
    }

    /// When the last heartbeat of any node will be older than this; `None`: there never was one.
    pub(crate) fn all_silent_at(&self, span: Span) -> Option<Mono> {
        Some(self.last_renewal?.plus(span).plus(TICK))
    }
}

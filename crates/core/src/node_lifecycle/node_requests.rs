//! Tracks the request in flight for a node, and failures.
//!
//! - Invariant: a node has one request at a time; after a failure it is read before it is written to again (P31).

use super::effect::TaintCause;
use super::managed_taints::ManagedTaints;
use super::zone::ZoneKey;
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::identity::{NodeName, Uid};
use crate::time::{Mono, Span};
use alloc::boxed::Box;

/// The maximum age of the live reads by which a node is declared silent or tainted.
const CONFIRM_AGE_MAX: Span = Span::from_secs(2);

/// A request for a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum NodeRequest {
    /// A read; on behalf of a turn in this zone, if any.
    Read { turn: Option<ZoneKey> },
    /// A write of taints; with this zone's token, if any, which is returned (`returns`) if it was certainly not used.
    Taints {
        add: ManagedTaints,
        remove: ManagedTaints,
        token: Option<ZoneKey>,
        returns: bool,
        why: TaintCause,
    },
    /// A write of conditions.
    Conditions { since: Mono },
    /// A write of labels.
    Labels,
}

/// The requests for one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct NodeRequests {
    /// Boxed: few nodes have one.
    in_flight: Option<Box<NodeRequest>>,
    /// The request is for a node that has been replaced or is gone.
    void: bool,
    /// A write failed: the node is read before anything else (P31).
    stale: bool,
    failures: u32,
    retry_at: Option<Mono>,
    /// When the last successful live read was sent.
    read_sent: Option<Mono>,
}

impl NodeRequests {
    /// Starts a request.
    pub(crate) fn begin(&mut self, request: NodeRequest) {
        assert!(self.in_flight.is_none(), "one request at a time for each node");
        self.in_flight = Some(Box::new(request));
        self.void = false;
    }

    /// Ends a live read, or a write. Returns which it was, and whether it was for the current node.
    pub(crate) fn end(&mut self, is_read: bool) -> Option<(NodeRequest, bool)> {
        let request =
            self.in_flight.take_if(|request| is_read == matches!(**request, NodeRequest::Read { .. }))?;
        Some((*request, !core::mem::take(&mut self.void)))
    }

    /// Whether no request is in flight.
    pub(crate) const fn is_idle(&self) -> bool {
        self.in_flight.is_none()
    }

    /// The node is gone, or another node has its name.
    pub(crate) fn node_removed(&mut self) {
        *self = Self { void: self.in_flight.is_some(), in_flight: self.in_flight.take(), ..Self::default() };
    }

    /// The token of the request in flight must not be returned.
    pub(crate) fn keep_token(&mut self) {
        if let Some(NodeRequest::Taints { returns, .. }) = self.in_flight.as_deref_mut() {
            *returns = false;
        }
    }

    /// A live read, sent at this moment, agrees with what is known now.
    pub(crate) fn confirm(&mut self, sent: Mono) {
        self.read_sent = Some(sent);
        self.stale = false;
    }

    /// Whether a live read was sent after the fact it has to confirm, and is recent.
    pub(crate) fn is_confirmed(&self, since: Mono, now: Mono) -> bool {
        self.read_sent.is_some_and(|sent| since <= sent && now <= sent.plus(CONFIRM_AGE_MAX))
    }

    /// A write was committed; without its version the current state of the node is unknown.
    pub(crate) fn committed(&mut self, has_version: bool) {
        self.failures = 0;
        self.stale = !has_version;
    }

    /// Schedules a retry after a pause; the node is read first, because what is known about it may be outdated. Returns
    /// the time.
    pub(crate) fn failed(&mut self, name: &NodeName, failure: ApiFailure, now: Mono) -> Mono {
        self.stale = true;
        self.failures = self.failures.saturating_add(1);
        let retry_at = now.plus(backoff(name.as_str(), &Uid::new(""), self.failures, failure));
        self.retry_at = Some(retry_at);
        retry_at
    }

    /// Whether the node has to be read before anything else.
    pub(crate) const fn needs_read(&self) -> bool {
        self.stale
    }

    /// When it is retried.
    pub(crate) const fn retry_at(&self) -> Option<Mono> {
        self.retry_at
    }

    /// Ends the pause after a failure.
    pub(crate) fn end_pause(&mut self) {
        self.retry_at = None;
    }

    /// There is nothing to do for the node: earlier failures no longer count.
    pub(crate) fn settle(&mut self) {
        if self.is_idle() {
            self.failures = 0;
        }
    }

    /// Whether it waits between two attempts.
    pub(crate) const fn is_failing(&self) -> bool {
        self.failures > 0
    }
}

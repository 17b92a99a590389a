//! Keeps the request that is out for a node, and what failed.
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

/// How old the live reads may be when a node is declared silent or tainted by them.
const CONFIRM_AGE_MAX: Span = Span::from_secs(2);

/// A request for a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum NodeRequest {
    /// Reading; on behalf of a turn in this zone, if any.
    Read { turn: Option<ZoneKey> },
    /// Writing taints; with this zone's token, if any, which it `returns` if it was certainly not used.
    Taints {
        add: ManagedTaints,
        remove: ManagedTaints,
        token: Option<ZoneKey>,
        returns: bool,
        why: TaintCause,
    },
    /// Writing conditions.
    Conditions { since: Mono },
    /// Writing labels.
    Labels,
}

/// The requests for one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct NodeRequests {
    /// Boxed: few nodes have one.
    in_flight: Option<Box<NodeRequest>>,
    /// The node that the request is for is not the one that is here now.
    void: bool,
    /// A write did not go as it should: read before anything else (P31).
    stale: bool,
    failures: u32,
    retry_at: Option<Mono>,
    /// When the last live read that succeeded was sent.
    read_sent: Option<Mono>,
}

impl NodeRequests {
    /// A request goes out.
    pub(crate) fn begin(&mut self, request: NodeRequest) {
        assert!(self.in_flight.is_none(), "one request at a time for each node");
        self.in_flight = Some(Box::new(request));
        self.void = false;
    }

    /// A live read, or a write, came back: which that was, and whether it was for the node that is here now.
    pub(crate) fn end(&mut self, is_read: bool) -> Option<(NodeRequest, bool)> {
        let request =
            self.in_flight.take_if(|request| is_read == matches!(**request, NodeRequest::Read { .. }))?;
        Some((*request, !core::mem::take(&mut self.void)))
    }

    /// Whether none is out.
    pub(crate) const fn is_idle(&self) -> bool {
        self.in_flight.is_none()
    }

    /// The node is gone, or another one has its name.
    pub(crate) fn node_removed(&mut self) {
        *self = Self { void: self.in_flight.is_some(), in_flight: self.in_flight.take(), ..Self::default() };
    }

    /// A token that is out is not to come back.
    pub(crate) fn keep_token(&mut self) {
        if let Some(NodeRequest::Taints { returns, .. }) = self.in_flight.as_deref_mut() {
            *returns = false;
        }
    }

    /// A live read, sent at this moment, said what is known now.
    pub(crate) fn confirm(&mut self, sent: Mono) {
        self.read_sent = Some(sent);
        self.stale = false;
    }

    /// Whether a live read was sent after what it is to confirm, and is young.
    pub(crate) fn is_confirmed(&self, since: Mono, now: Mono) -> bool {
        self.read_sent.is_some_and(|sent| since <= sent && now <= sent.plus(CONFIRM_AGE_MAX))
    }

    /// A write was committed; without its version it is not known what the node is like now.
    pub(crate) fn committed(&mut self, has_version: bool) {
        self.failures = 0;
        self.stale = !has_version;
    }

    /// Tried again after a pause, and not before the node was read: what is known of it may not be so. When that is.
    pub(crate) fn failed(&mut self, name: &NodeName, failure: ApiFailure, now: Mono) -> Mono {
        self.stale = true;
        self.failures = self.failures.saturating_add(1);
        let retry_at = now.plus(backoff(name.as_str(), &Uid::new(""), self.failures, failure));
        self.retry_at = Some(retry_at);
        retry_at
    }

    /// Whether the node is to be read before anything else.
    pub(crate) const fn needs_read(&self) -> bool {
        self.stale
    }

    /// When it is tried again.
    pub(crate) const fn retry_at(&self) -> Option<Mono> {
        self.retry_at
    }

    /// The pause after a failure is over.
    pub(crate) fn end_pause(&mut self) {
        self.retry_at = None;
    }

    /// Nothing is to be done about the node: what failed before does not count any more.
    pub(crate) fn settle(&mut self) {
        if self.is_idle() {
            self.failures = 0;
        }
    }

    /// Whether it is between two tries.
    pub(crate) const fn is_failing(&self) -> bool {
        self.failures > 0
    }
}

//! Defines an eviction in progress ([`EvictionAttempt`]): its next step, its request in flight, and its rejections.

use super::next_step::{InFlightRequest, NextStep};
use super::rejection::{Rejection, RejectionReason, RequestScope};
use crate::api_error::ApiFailure;
use crate::eviction::notice::EvictionReason;
use crate::eviction::order::EvictionOrder;
use crate::identity::{PodRef, ResourceVersion};
use crate::time::Mono;
use alloc::boxed::Box;
use alloc::sync::Arc;

/// After this many conflicts, each followed by a read of the pod, a DELETE has only the UID as precondition and no
/// longer the version: a pod whose status changes faster than it can be read is still evicted (P45).
const VERSION_CONFLICTS_MAX: u32 = 5;

/// A place in the queue: earliest due date first; at the same instant lower rank first; then by node and UID.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct QueueKey {
    pub(crate) due: Mono,
    pub(crate) rank: EvictionOrder,
    pub(crate) pod: PodRef,
}

/// A live read of a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct PodReading {
    pub(crate) sent: Mono,
    /// When its response arrived.
    pub(crate) received: Option<Mono>,
    /// The version that was known when it was sent.
    pub(crate) known: Option<ResourceVersion>,
}

/// An eviction in progress.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct EvictionAttempt {
    pub(crate) key: QueueKey,
    pub(crate) step: NextStep,
    /// The request in flight, if any.
    pub(crate) in_flight: Option<InFlightRequest>,
    /// When that was sent.
    pub(crate) sent: Mono,
    /// It is one of the few slow deletions.
    pub(crate) is_slow_delete: bool,
    /// The pod's namespace, once a request was sent.
    pub(crate) namespace: Option<Arc<str>>,
    /// When it is retried, if it waits for that.
    pub(crate) retry_at: Option<Mono>,
    /// The end of which rejections gives it its turn before that.
    pub(crate) waits_in: Option<RequestScope>,
    /// Its retry comes before its time, because rejections may have ended.
    pub(crate) is_early: bool,
    /// Its rejections, by verb: each has pauses of its own.
    rejections: [Option<Rejection>; RequestScope::VERBS],
    /// The verb of the last one.
    last_rejected: usize,
    pub(crate) failures: u32,
    pub(crate) conflicts: u32,
    pub(crate) last_failure: Option<ApiFailure>,
    /// The last read of the pod.
    pub(crate) pod_read: Option<PodReading>,
    /// A request got no response.
    pub(crate) slow: bool,
    /// One of these was a DELETE: it is unknown whether it was carried out, wholly or in part.
    pub(crate) delete_lost: bool,
    /// The latest possible time at which the pod got the mark.
    pub(crate) marked_at: Option<Mono>,
    /// This attempt set it, and has not removed it.
    pub(crate) marked_here: bool,
    /// The watch delivered the pod's deletion while the engine's DELETE was in flight.
    pub(crate) deleted_by_other: bool,
    /// While the mark is being removed ([`NextStep::Rest`]): when the next attempt is.
    pub(crate) clear_mark_at: Option<Mono>,
    /// While the pod is not due: when it will be.
    pub(crate) deadline: Option<Mono>,
    /// The watch delivered that the pod is gone while a request was in flight.
    pub(crate) vanished: bool,
    /// When it was known to be due.
    pub(crate) known_due: Option<Mono>,
    /// It was not due in between, and has not been seen to be due again since.
    pub(crate) wavered: bool,
    /// Why it is being deleted, kept for the report.
    pub(crate) reason: Option<Box<EvictionReason>>,
}

impl EvictionAttempt {
    pub(crate) fn new(key: QueueKey, step: NextStep) -> Self {
        Self {
            key,
            step,
            in_flight: None,
            sent: Mono::from_micros(0),
            is_slow_delete: false,
            namespace: None,
            retry_at: None,
            waits_in: None,
            is_early: false,
            rejections: [const { None }; RequestScope::VERBS],
            last_rejected: 0,
            failures: 0,
            conflicts: 0,
            last_failure: None,
            pod_read: None,
            slow: false,
            delete_lost: false,
            marked_at: None,
            marked_here: false,
            deleted_by_other: false,
            clear_mark_at: None,
            deadline: None,
            vanished: false,
            known_due: None,
            wavered: false,
            reason: None,
        }
    }

    /// Whether its DELETE no longer has a version as precondition.
    pub(crate) fn is_by_uid_only(&self) -> bool {
        self.conflicts >= VERSION_CONFLICTS_MAX
    }

    /// Whether it neither has a request in flight nor waits for a retry.
    pub(crate) fn is_idle(&self) -> bool {
        self.in_flight.is_none() && self.retry_at.is_none()
    }

    /// Whether no request was rejected or lost so far.
    pub(crate) fn is_first(&self) -> bool {
        self.last_failure.is_none()
    }

    /// Whether every request got a response, and none failed except because the pod had changed or was gone.
    pub(crate) fn is_smooth(&self) -> bool {
        !self.slow && matches!(self.last_failure, None | Some(ApiFailure::Conflict | ApiFailure::NotFound))
    }

    /// The kind of the request in flight.
    pub(crate) fn scope(&self, request: InFlightRequest) -> RequestScope {
        let namespace = || self.namespace.clone().unwrap_or_default();
        match request {
            InFlightRequest::ReadPod => RequestScope::Reads,
            InFlightRequest::Mark | InFlightRequest::ClearMark => RequestScope::Marks(namespace()),
            InFlightRequest::Delete => RequestScope::Deletes(namespace()),
            InFlightRequest::Evict => RequestScope::Evictions(namespace()),
        }
    }

    /// A request of this kind was rejected.
    pub(crate) fn rejected(&mut self, scope: RequestScope, reason: RejectionReason, now: Mono) {
        self.last_rejected = scope.verb();
        let slot = &mut self.rejections[scope.verb()];
        *slot = Some(Rejection::next(slot.as_ref(), scope, reason, now));
    }

    /// A request of this kind succeeded.
    pub(crate) fn succeeded(&mut self, scope: &RequestScope) {
        self.rejections[scope.verb()] = None;
    }

    /// The rejection that it waits for the end of.
    pub(crate) fn rejection(&self) -> Option<&Rejection> {
        self.rejections[self.last_rejected].as_ref()
    }

    /// The same.
    pub(crate) fn rejection_mut(&mut self) -> Option<&mut Rejection> {
        self.rejections[self.last_rejected].as_mut()
    }

    /// The kind of request for the end of whose rejections it waits.
    pub(crate) fn rejected_in(&self) -> Option<RequestScope> {
        self.rejection().map(|rejection| rejection.scope.clone())
    }
}

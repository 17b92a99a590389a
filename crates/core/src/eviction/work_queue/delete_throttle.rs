//! Remembers in which namespaces deletions take long, because an admission webhook does, and sends few of them at a time.
//!
//! - Invariant: few slow deletions are in flight, so that they leave room for other requests (L6).
//! - Invariant: none waits to find out whether deletions are slow, so that equals leave in order (TE-46).

use crate::time::{Mono, Span};
use alloc::collections::BTreeMap;
use alloc::sync::Arc;

/// A deletion without a response for this long takes long: an API server alone needs less.
const UNANSWERED_MAX: Span = Span::from_millis(500);

/// A deletion that took this long did so because of a webhook, or the API server is overloaded.
pub(crate) const SLOW_MIN: Span = Span::from_secs(1);

/// How long it is remembered that deletions take long in a namespace.
const SLOW_REMEMBERED: Span = Span::from_secs(600);

/// The largest number of slow deletions in flight, and how long another pod waits before it asks again for room.
const SLOW_MAX: usize = 96;
const ROOM_AWAITED: Span = Span::from_millis(250);

/// How long deletions take in a namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct NamespaceThrottle {
    slow_until: Option<Mono>,
    /// When the first of the deletions was sent that have got no response yet.
    unanswered: Option<Mono>,
}

/// How a deletion is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeleteAdmission {
    /// Like every other request.
    Usual,
    /// As one of a few slow ones.
    Slow,
    /// Not before this moment: enough slow ones are in flight.
    Wait(Mono),
}

/// How long deletions take, by namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct DeleteThrottle {
    namespaces: BTreeMap<Arc<str>, NamespaceThrottle>,
    slow_in_flight: usize,
}

impl DeleteThrottle {
    /// Whether deletions are known to take long in this namespace.
    pub(crate) fn is_slow(&self, namespace: &str, now: Mono) -> bool {
        self.namespaces
            .get(namespace)
            .is_some_and(|throttle| throttle.slow_until.is_some_and(|until| now < until))
    }

    /// Decides how a pod of this namespace is deleted; `slow`: an earlier request for it got no response.
    pub(crate) fn admit(&mut self, namespace: &Arc<str>, slow: bool, now: Mono) -> DeleteAdmission {
        let throttle = self.namespaces.entry(namespace.clone()).or_default();
        if throttle.unanswered.is_some_and(|sent| sent.plus(UNANSWERED_MAX) <= now) {
            throttle.slow_until = Some(now.plus(SLOW_REMEMBERED));
        }
        if !slow && throttle.slow_until.is_none_or(|until| until <= now) {
            throttle.unanswered.get_or_insert(now);
            return DeleteAdmission::Usual;
        }
        if self.slow_in_flight >= SLOW_MAX {
            return DeleteAdmission::Wait(now.plus(ROOM_AWAITED));
        }
        self.slow_in_flight += 1;
        DeleteAdmission::Slow
    }

    /// A deletion ended; `has_response`: by a response that shows its result.
    pub(crate) fn ended(
        &mut self,
        namespace: &Arc<str>,
        sent: Mono,
        was_slow: bool,
        has_response: bool,
        now: Mono,
    ) {
        let throttle = self.namespaces.entry(namespace.clone()).or_default();
        if now.since(sent) >= SLOW_MIN {
            throttle.slow_until = Some(now.plus(SLOW_REMEMBERED));
        } else if has_response {
            throttle.slow_until = None;
        }
        if throttle.unanswered == Some(sent) {
            throttle.unanswered = None;
        }
        self.slow_in_flight = self.slow_in_flight.saturating_sub(usize::from(was_slow));
    }

    /// No eviction is in progress: only slow namespaces are remembered.
    pub(crate) fn clear(&mut self) {
        self.namespaces.retain(|_, throttle| throttle.slow_until.is_some());
        self.namespaces.values_mut().for_each(|throttle| throttle.unanswered = None);
        self.slow_in_flight = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Mono {
        Mono::from_secs(second)
    }

    #[test]
    fn a_namespace_is_slow_for_ten_minutes_after_a_slow_deletion() {
        let (mut throttle, shop, other) = (DeleteThrottle::default(), Arc::from("shop"), Arc::from("other"));
        throttle.admit(&shop, false, at(0));
        throttle.admit(&other, false, at(0));
        throttle.ended(&shop, at(0), false, true, at(1));
        throttle.ended(&other, at(0), false, true, at(0));
        let is_slow = |throttle: &DeleteThrottle, second| throttle.is_slow("shop", at(second));
        assert_eq!((is_slow(&throttle, 600), is_slow(&throttle, 601)), (true, false));
        assert!(!throttle.is_slow("other", at(1)));
        assert_eq!(throttle.admit(&shop, false, at(2)), DeleteAdmission::Slow);
        throttle.clear();
        assert!(is_slow(&throttle, 2), "that is remembered");
        assert_eq!((throttle.namespaces.len(), throttle.slow_in_flight), (1, 0));
    }
}

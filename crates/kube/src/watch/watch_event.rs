//! Defines all events of the objects of a kind, and of the knowledge about them.
//!
//! - See `watch.rs` for the order in which events come, and `decode/watch_event.rs` for their bytes.

use crate::decode::{ObjectIdentity, UndecodableObject};
use std::time::Duration;
use taintward_core::identity::Uid;
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::time::{Mono, Span};

/// An event of a watch or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent<F> {
    /// A list starts, from nothing or again. A relist runs alongside the watch: events of the watch are not `listed`,
    /// and arrive between the items.
    ListStarted {
        /// How long ago the stream was last known to be complete, on a clock that may stop while the machine sleeps;
        /// `None` the first time.
        silent_for: Option<Duration>,
    },
    /// The current state of an object.
    Applied {
        /// The object.
        fact: F,
        /// It is part of a list: the change itself was not observed.
        listed: bool,
    },
    /// An object was deleted, or is a pod without a node.
    Deleted {
        /// Its UID.
        uid: Uid,
        /// The rest of its last known identity.
        identity: ObjectIdentity,
    },
    /// An object that cannot be understood; the others continue (D11, S11). If its identity is known, it exists: a
    /// completed list must not remove it, and its previous state must not be acted on.
    Undecodable(UndecodableObject),
    /// The list is complete: an object that was neither applied nor undecodable since [`WatchEvent::ListStarted`],
    /// listed or not, is gone.
    ListCompleted,
    /// The list was aborted and removes nothing: every change since the watch stopped, if it did, follows in order.
    ListAborted,
    /// Activity without a change: every change up to this moment has been delivered.
    Bookmark,
}

impl<F> WatchEvent<F> {
    /// Converts to the input of engines, at the time at which it was received; `None` for events without an object.
    ///
    /// A span measured by a clock that stopped in between is too short, and so the moment before a list is too late:
    /// starts are taken later, never earlier (S3).
    pub fn into_object_event(self, now: Mono) -> Option<ObjectEvent<F>> {
        Some(match self {
            Self::ListStarted { silent_for } => {
                let micros = |silent: Duration| i64::try_from(silent.as_micros()).unwrap_or(i64::MAX);
                let silent_since = silent_for.map(|silent| now.minus(Span::from_micros(micros(silent))));
                ObjectEvent::ListStarted { silent_since }
            }
            Self::Applied { fact, listed } => ObjectEvent::Applied { fact, listed },
            Self::Deleted { uid, identity } => {
                ObjectEvent::Deleted(ObjectRef { uid: Some(uid), ..identity.into() })
            }
            Self::Undecodable(UndecodableObject { identity, .. }) => {
                ObjectEvent::Undecodable(identity?.into())
            }
            Self::ListCompleted => ObjectEvent::ListCompleted,
            Self::ListAborted => ObjectEvent::ListAborted,
            Self::Bookmark => return None,
        })
    }
}

impl From<ObjectIdentity> for ObjectRef {
    fn from(ObjectIdentity { uid, name, node, .. }: ObjectIdentity) -> Self {
        Self { name: name.into(), uid, node }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::identity::NodeName;

    #[test]
    fn an_event_keeps_what_engines_need_and_its_time() {
        let now = Mono::from_secs(100);
        let event = |event: WatchEvent<u8>| event.into_object_event(now);
        let started = |silent_for, silent_since| {
            let event = event(WatchEvent::ListStarted { silent_for });
            assert_eq!(event, Some(ObjectEvent::ListStarted { silent_since }));
        };
        started(None, None);
        started(Some(Duration::from_secs(3)), Some(Mono::from_secs(97)));
        let applied = WatchEvent::Applied { fact: 7, listed: true };
        assert_eq!(event(applied), Some(ObjectEvent::Applied { fact: 7, listed: true }));
        assert_eq!(event(WatchEvent::ListCompleted), Some(ObjectEvent::ListCompleted));
        assert_eq!(event(WatchEvent::ListAborted), Some(ObjectEvent::ListAborted));
        assert_eq!(event(WatchEvent::Bookmark), None);
    }

    #[test]
    fn d11_an_undecodable_object_keeps_its_identity_if_known() {
        let event = |event: WatchEvent<u8>| event.into_object_event(Mono::from_secs(1));
        let (uid, node) = (Uid::new("u1"), Some(NodeName::new("n1")));
        let identity = ObjectIdentity { name: "p".into(), node: node.clone(), ..ObjectIdentity::default() };
        let deleted = WatchEvent::Deleted { uid: uid.clone(), identity: identity.clone() };
        let object = ObjectRef { name: "p".into(), uid: Some(uid), node: node.clone() };
        assert_eq!(event(deleted), Some(ObjectEvent::Deleted(object)));
        let undecodable =
            |identity| WatchEvent::Undecodable(UndecodableObject { identity, why: "odd".into() });
        let object = ObjectRef { name: "p".into(), uid: None, node };
        assert_eq!(event(undecodable(Some(identity))), Some(ObjectEvent::Undecodable(object)));
        assert_eq!(event(undecodable(None)), None);
    }
}

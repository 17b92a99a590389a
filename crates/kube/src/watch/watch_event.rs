//! Names everything that may happen to the objects of a kind, and to the knowledge of them.
//!
//! - See `watch.rs` for the order in which events come, and `decode/watch_event.rs` for their bytes.

use crate::decode::{ObjectIdentity, UndecodableObject};
use std::time::Duration;
use taintward_core::identity::Uid;
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::time::{Mono, Span};

/// One thing that was heard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WatchEvent<F> {
    /// A list starts, from nothing or again. One that only checks is made beside the watch: what that tells meanwhile is
    /// not `listed`, and comes between the items.
    ListStarted {
        /// How long ago the stream was last known to be complete, on a clock that may stand still while the machine
        /// sleeps; `None` the first time.
        silent_for: Option<Duration>,
    },
    /// An object as it is.
    Applied {
        /// The object.
        fact: F,
        /// It is part of a list, so what it says was not seen happening.
        listed: bool,
    },
    /// An object was deleted, or is a pod on no node.
    Deleted {
        /// Which incarnation.
        uid: Uid,
        /// What else the last word on it said.
        identity: ObjectIdentity,
    },
    /// An object that can't be understood; the others go on (D11, S11). If it is known who it is, it exists: a sweep
    /// must not take it for vanished, and what was known of it before is not to be acted on.
    Undecodable(UndecodableObject),
    /// The list is complete: what was neither `Seen` nor `UndecodableObject` since [`WatchEvent::ListStarted`], listed or not, has
    /// vanished.
    ListCompleted,
    /// The list was given up, and nothing was swept: every change since the watch stopped, if it did, follows in order.
    ListAborted,
    /// Proof of life without news: every change up to this moment has been delivered.
    Bookmark,
}

impl<F> WatchEvent<F> {
    /// What engines take in, at the time at which it was received; `None` for what says nothing of objects.
    ///
    /// A span measured by a clock that stood still in between is too short, and so the moment before a list too late:
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
    fn d11_what_cannot_be_decoded_keeps_its_identity_where_there_is_one() {
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

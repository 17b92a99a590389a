//! Defines the events of a watch for objects of a kind, and the one way in which state follows them.

use crate::identity::{NodeName, PodRef, Uid};
use crate::time::{Mono, Now};
use alloc::boxed::Box;
use core::convert::Infallible;

/// An event of a watch for objects of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ObjectEvent<F> {
    /// A list starts. A relist runs alongside the watch: events of the watch are not `listed`, and arrive between the
    /// items.
    ListStarted {
        /// The last moment at which the objects were known completely; `None` the first time.
        silent_since: Option<Mono>,
    },
    /// The current state of an object.
    Applied {
        /// The object.
        fact: F,
        /// It is part of a list: the change itself was not observed.
        listed: bool,
    },
    /// An object is gone.
    Deleted(ObjectRef),
    /// An object exists and cannot be decoded (D11): its previous state must not be acted on.
    Undecodable(ObjectRef),
    /// The list is complete: an object that was neither applied nor undecodable since it started, listed or not, is
    /// gone.
    ListCompleted,
    /// The list was aborted and removes nothing: every change since the watch stopped, if it did, follows.
    ListAborted,
}

/// An object that an event does not contain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ObjectRef {
    /// `metadata.name`.
    pub name: Box<str>,
    /// Its UID, if known.
    pub uid: Option<Uid>,
    /// The node of a pod, if known.
    pub node: Option<NodeName>,
}

impl ObjectRef {
    /// A node, or an object with a node's name; with `uid`, the deletion of an old object does not affect a new one.
    pub fn node(name: &NodeName, uid: Option<Uid>) -> Self {
        Self { name: name.as_str().into(), uid, node: None }
    }

    /// A pod, whose name is not needed.
    pub fn pod(uid: Uid, node: Option<NodeName>) -> Self {
        Self { name: "".into(), uid: Some(uid), node }
    }

    /// The name as that of a node.
    pub fn node_name(&self) -> NodeName {
        NodeName::new(&self.name)
    }

    /// The object as a pod of a node; `None` if it was never on a node.
    pub fn into_pod(self) -> Option<PodRef> {
        Some(PodRef { node: self.node?, uid: self.uid? })
    }
}

impl From<PodRef> for ObjectRef {
    fn from(PodRef { node, uid }: PodRef) -> Self {
        Self::pod(uid, Some(node))
    }
}

impl<F> ObjectEvent<F> {
    /// Returns the object and whether it is listed; or the event, which fits objects of any type.
    pub fn into_object<G>(self) -> Result<(F, bool), ObjectEvent<G>> {
        Err(match self {
            Self::Applied { fact, listed } => return Ok((fact, listed)),
            Self::ListStarted { silent_since } => ObjectEvent::ListStarted { silent_since },
            Self::Deleted(object) => ObjectEvent::Deleted(object),
            Self::Undecodable(object) => ObjectEvent::Undecodable(object),
            Self::ListCompleted => ObjectEvent::ListCompleted,
            Self::ListAborted => ObjectEvent::ListAborted,
        })
    }

    /// The same by reference.
    pub fn as_object<G>(&self) -> Result<(&F, bool), ObjectEvent<G>> {
        Err(match self {
            Self::Applied { fact, listed } => return Ok((fact, *listed)),
            Self::ListStarted { silent_since } => ObjectEvent::ListStarted { silent_since: *silent_since },
            Self::Deleted(object) => ObjectEvent::Deleted(object.clone()),
            Self::Undecodable(object) => ObjectEvent::Undecodable(object.clone()),
            Self::ListCompleted => ObjectEvent::ListCompleted,
            Self::ListAborted => ObjectEvent::ListAborted,
        })
    }

    /// The same event for another type of the object.
    pub fn map<G>(self, form: impl FnOnce(F) -> G) -> ObjectEvent<G> {
        match self.into_object() {
            Ok((fact, listed)) => ObjectEvent::Applied { fact: form(fact), listed },
            Err(event) => event,
        }
    }

    /// The same event for two types of the object.
    pub fn split<A, B>(self, forms: impl FnOnce(F) -> (A, B)) -> (ObjectEvent<A>, ObjectEvent<B>) {
        match self.into_object::<Infallible>() {
            Ok((fact, listed)) => {
                let (first, second) = forms(fact);
                (ObjectEvent::Applied { fact: first, listed }, ObjectEvent::Applied { fact: second, listed })
            }
            Err(event) => (event.clone().map(|never| match never {}), event.map(|never| match never {})),
        }
    }
}

/// State that follows the events of a watch for objects of a kind.
pub trait ObjectIndex<F> {
    /// A list starts.
    fn list_started(&mut self, silent_since: Option<Mono>);

    /// The current state of an object.
    fn applied(&mut self, fact: F, listed: bool, now: Now);

    /// An object is gone.
    fn deleted(&mut self, object: ObjectRef, now: Now);

    /// An object cannot be decoded.
    fn undecodable(&mut self, object: ObjectRef, now: Now);

    /// An object that was not in the list is gone.
    fn list_completed(&mut self, now: Now);

    /// The list was aborted.
    fn list_aborted(&mut self, _: Now) {}

    /// Applies an event, at a time that never goes backwards.
    fn apply(&mut self, event: ObjectEvent<F>, now: Now) {
        match event {
            ObjectEvent::ListStarted { silent_since } => self.list_started(silent_since),
            ObjectEvent::Applied { fact, listed } => self.applied(fact, listed, now),
            ObjectEvent::Deleted(object) => self.deleted(object, now),
            ObjectEvent::Undecodable(object) => self.undecodable(object, now),
            ObjectEvent::ListCompleted => self.list_completed(now),
            ObjectEvent::ListAborted => self.list_aborted(now),
        }
    }
}

//! Defines what the engine of dedicated pools reports to logs, metrics and events.

use super::fact::{PoolCondition, PoolFact};
use crate::admission::pool::{NodeRecordAnnotation, UnauthorizedPod};
use crate::identity::{NodeName, Uid};
use alloc::boxed::Box;

/// What people may want to know. Losing one changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DedicatedPoolNotice {
    /// Everything was listed once.
    Synced {
        /// Pools there are.
        pools: usize,
        /// Nodes there are.
        nodes: usize,
    },
    /// So many nodes are to be written now.
    NodesPlanned(usize),
    /// The condition `Ready` of a pool was written with another reason.
    ReadyChanged {
        /// Its name.
        pool: Box<str>,
        /// Which incarnation.
        uid: Uid,
        /// The reason that it had.
        before: Option<Box<str>>,
        /// The condition.
        ready: Box<PoolCondition>,
    },
    /// A node was written.
    NodeWritten {
        /// The node.
        node: Box<str>,
        /// Which incarnation.
        uid: Uid,
        /// The pool it belongs to now, by the record on it.
        pool: Option<Box<str>>,
    },
    /// The API server has accepted that a pod of others is evicted.
    PodEvicted {
        /// The pool whose node it is on.
        pool: Box<str>,
        /// The pod.
        pod: UnauthorizedPod,
    },
    /// A pool is gone, and nothing of it is left on nodes.
    PoolGone {
        /// Its name.
        pool: Box<str>,
    },
}

impl DedicatedPoolNotice {
    /// A pool's status was written.
    pub(crate) fn of_status(before: &PoolFact, after: &PoolFact) -> Option<Self> {
        let ready = after.ready_condition()?;
        let before = before.ready_condition().map(|before| &before.reason);
        (before != Some(&ready.reason)).then(|| Self::ReadyChanged {
            pool: after.pool.name.clone(),
            uid: after.uid.clone(),
            before: before.cloned(),
            ready: Box::new(ready.clone()),
        })
    }

    /// A node of this name was written, and has this record.
    pub(crate) fn of_node(node: &NodeName, uid: &Uid, record: Option<&str>) -> Self {
        let pool = record.map(|text| NodeRecordAnnotation::parse(text).pool);
        Self::NodeWritten { node: node.as_str().into(), uid: uid.clone(), pool }
    }
}

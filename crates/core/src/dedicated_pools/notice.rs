//! Defines what the engine of dedicated pools reports to logs, metrics and events.

use super::fact::PoolFact;
use crate::admission::pool::{NodeRecordAnnotation, UnauthorizedPod};
use crate::identity::{NodeName, Uid};
use crate::status_condition::StatusCondition;
use alloc::boxed::Box;

/// A report for users. Losing one changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DedicatedPoolNotice {
    /// All objects were listed once.
    Synced {
        /// The number of pools.
        pools: usize,
        /// The number of nodes.
        nodes: usize,
    },
    /// The controller has yet to write this many nodes.
    NodesPlanned(usize),
    /// The condition `Ready` of a pool was written with another reason.
    ReadyChanged {
        /// Its name.
        pool: Box<str>,
        /// Its UID.
        uid: Uid,
        /// The previous reason.
        before: Option<Box<str>>,
        /// The condition.
        ready: Box<StatusCondition>,
    },
    /// A node was written.
    NodeWritten {
        /// The node.
        node: Box<str>,
        /// Its UID.
        uid: Uid,
        /// The pool that it now belongs to, by its record.
        pool: Option<Box<str>>,
    },
    /// The API server has accepted the eviction of an unauthorized pod.
    PodEvicted {
        /// The pool whose node it is on.
        pool: Box<str>,
        /// The pod.
        pod: UnauthorizedPod,
    },
    /// A pool is gone, and none of its marks are left on nodes.
    PoolGone {
        /// Its name.
        pool: Box<str>,
    },
}

impl DedicatedPoolNotice {
    /// The report of a written status.
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

    /// The report of a written node with this record.
    pub(crate) fn of_node(node: &NodeName, uid: &Uid, record: Option<&str>) -> Self {
        let pool = record.map(|text| NodeRecordAnnotation::parse(text).pool);
        Self::NodeWritten { node: node.as_str().into(), uid: uid.clone(), pool }
    }
}

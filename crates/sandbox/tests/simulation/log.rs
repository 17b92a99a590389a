//! Records every relevant commit with its time and writer.

use super::delays::policies;
use super::harness::{leases, nodes, pods};
use fakekube::api::ApiServer;
use fakekube::resource::ResourceId;
use fakekube::store::{ChangeKind, ListRange, StoredObject};
use jiff::Timestamp;
use serde_json::Value;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What a commit is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogKind {
    Node,
    Pod,
    /// The lease of a node.
    Lease,
    /// The eviction policy.
    Policy,
    /// Any other object, for which only the writing controller matters.
    Other,
}

/// One commit.
#[derive(Clone, Debug)]
pub(crate) struct LoggedCommit {
    pub(crate) at: Timestamp,
    pub(crate) kind: LogKind,
    pub(crate) gone: bool,
    pub(crate) object: Value,
    /// Whether the script wrote it, not a controller.
    pub(crate) ours: bool,
    /// The controller that wrote it; `None`: another writer.
    pub(crate) by: Option<usize>,
}

/// All commits.
#[derive(Default)]
pub(crate) struct SimulationLog {
    pub(crate) commits: Arc<Mutex<Vec<LoggedCommit>>>,
    hash: Arc<Mutex<DefaultHasher>>,
    /// Whether the script is writing.
    pub(crate) by_hand: Arc<AtomicBool>,
    /// The controller whose request is carried out: its number plus one, or zero.
    pub(crate) writer: Arc<AtomicUsize>,
}

impl SimulationLog {
    pub(crate) fn hash(&self) -> u64 {
        self.hash.lock().unwrap().finish()
    }

    pub(crate) fn follow(&self, server: &ApiServer) {
        let (log, hash) = (Arc::clone(&self.commits), Arc::clone(&self.hash));
        let (by_hand, writer) = (Arc::clone(&self.by_hand), Arc::clone(&self.writer));
        let clock = server.clock().clone();
        let everything = ListRange { namespace: None, after: None };
        let first = server.store().list(nodes(), everything, None);
        let at = clock.now();
        log.lock().unwrap().extend(first.into_iter().flat_map(|listed| listed.objects).map(|(_, object)| {
            LoggedCommit {
                at,
                kind: LogKind::Node,
                gone: false,
                object: object.value(),
                ours: true,
                by: None,
            }
        }));
        server.store().follow(Box::new(move |number, event| {
            let (at, gone) = (clock.now(), event.change == ChangeKind::Deleted);
            (at, gone, &event.object.json).hash(&mut *hash.lock().unwrap());
            let ours = by_hand.load(Ordering::Relaxed);
            let by = writer.load(Ordering::Relaxed).checked_sub(1).filter(|_| !ours);
            let Some((kind, object)) = of_interest(number, &event.object, by) else { return };
            log.lock().unwrap().push(LoggedCommit { at, kind, gone, object, ours, by });
        }));
    }
}

/// The kind of a commit, if it matters to the checks.
fn of_interest(number: ResourceId, object: &StoredObject, by: Option<usize>) -> Option<(LogKind, Value)> {
    if number == nodes() {
        return Some((LogKind::Node, object.value()));
    }
    if number == pods() {
        return Some((LogKind::Pod, object.value()));
    }
    if number == policies() {
        return Some((LogKind::Policy, object.value()));
    }
    if number == leases() {
        let lease = object.value();
        // The other leases are those of the election.
        return (lease["metadata"]["namespace"] == "kube-node-lease").then_some((LogKind::Lease, lease));
    }
    by.map(|_| (LogKind::Other, Value::Null))
}

//! Tells what node-lifecycle-controller decided, by the notices in a record.

use super::entry::{EntryLog, HistoryEvent, HistoryObject};
use super::filter::HistoryFilter;
use super::sentences;
use taintward_core::identity::NodeName;
use taintward_core::node_lifecycle::{
    ManagedTaints, NodeLifecycleEngine, NodeLifecycleNotice, TaintCause, ZoneState,
};
use taintward_core::time::Now;
use taintward_record::{CallVisitor, EngineCall, RecordError, RecordedCall};

/// The entries of node-lifecycle-controller so far, about all nodes.
pub(super) struct NodeEntries {
    pub(super) log: EntryLog,
}

impl NodeEntries {
    pub(super) const fn new(filter: HistoryFilter) -> Self {
        Self { log: EntryLog::new(filter) }
    }

    fn add_node(&mut self, node: &NodeName, event: HistoryEvent, message: String, now: Now) {
        self.log.add(now, HistoryObject::Node(node.clone()), event, message);
    }

    fn add_cluster(&mut self, event: HistoryEvent, message: String, now: Now) {
        self.log.add(now, HistoryObject::Cluster, event, message);
    }

    fn notice(&mut self, notice: NodeLifecycleNotice, now: Now) {
        match notice {
            NodeLifecycleNotice::BecameNotReady(node) => {
                self.add_node(
                    &node.name,
                    HistoryEvent::NodeNotReady,
                    "is not ready any more".to_owned(),
                    now,
                );
            }
            NodeLifecycleNotice::Declared { node, silent_since } => {
                let since = sentences::time(silent_since, now);
                let message =
                    format!("has been silent since {since}, so that Taintward set its conditions to Unknown");
                self.add_node(&node.name, HistoryEvent::NodeSilent, message, now);
            }
            NodeLifecycleNotice::Tainted { node, add, remove, why, .. } => {
                let message = format!("{} by Taintward: {}", changes(add, remove), cause(why, now));
                self.add_node(&node.name, HistoryEvent::NodeTainted, message, now);
            }
            NodeLifecycleNotice::WouldTaint { node, add, remove, why, .. } => {
                let message = format!(
                    "would be changed ({}), if this were not observe mode: {}",
                    changes(add, remove),
                    cause(why, now)
                );
                self.add_node(&node.name, HistoryEvent::NodeWouldBeTainted, message, now);
            }
            NodeLifecycleNotice::NotUnderstood(node) => {
                let message =
                    "or its lease cannot be decoded, so that its taints stay as they are".to_owned();
                self.add_node(&node, HistoryEvent::NodeUndecodable, message, now);
            }
            NodeLifecycleNotice::Failed { node, failure, .. } if self.log.filter.is_detailed() => {
                let message =
                    format!("a request about it failed, and is retried: {}", sentences::failure(failure));
                self.add_node(&node, HistoryEvent::RequestFailed, message, now);
            }
            NodeLifecycleNotice::ZoneChanged { zone, from, to } => {
                let message = format!("zone {zone} went from {} to {}", state(from), state(to));
                self.add_cluster(HistoryEvent::ZoneChanged, message, now);
            }
            NodeLifecycleNotice::EverythingDown(is_down) => {
                let message = match is_down {
                    true => {
                        "all zones are fully disrupted, so Taintward removes NoExecute taints and adds none"
                    }
                    false => "a zone is no longer fully disrupted",
                };
                self.add_cluster(HistoryEvent::ZoneChanged, message.to_owned(), now);
            }
            NodeLifecycleNotice::ObservedAfresh => {
                let message = "the observation of nodes was interrupted: each node gets a new grace period";
                self.add_cluster(HistoryEvent::ObservationInterrupted, message.to_owned(), now);
            }
            NodeLifecycleNotice::Registered(_)
            | NodeLifecycleNotice::Removed(_)
            | NodeLifecycleNotice::PodMarked { .. }
            | NodeLifecycleNotice::HoldCountdowns(_)
            | NodeLifecycleNotice::WouldDeclare { .. }
            | NodeLifecycleNotice::Failed { .. } => {}
        }
    }
}

impl CallVisitor<NodeLifecycleEngine> for NodeEntries {
    type Error = RecordError;

    fn begin(&mut self, _: &NodeLifecycleEngine, _: Option<&NodeLifecycleEngine>) {}

    /// The recorded notices contain everything that the history needs: the engine need not follow.
    fn call(
        &mut self,
        _: &mut NodeLifecycleEngine,
        call: RecordedCall<NodeLifecycleEngine>,
        now: Now,
    ) -> Result<(), RecordError> {
        if let EngineCall::Notices(notices) = call {
            notices.into_iter().for_each(|notice| self.notice(notice, now));
        }
        Ok(())
    }
}

fn changes(add: ManagedTaints, remove: ManagedTaints) -> String {
    let got = add.iter().map(|taint| format!("got taint {taint}"));
    let lost = remove.iter().map(|taint| format!("lost taint {taint}"));
    lost.chain(got).collect::<Vec<_>>().join(", ")
}

fn cause(cause: TaintCause, now: Now) -> String {
    match cause {
        TaintCause::Conditions => "its conditions or spec.unschedulable require it".to_owned(),
        TaintCause::Recovered => "it is ready".to_owned(),
        TaintCause::Swap => "one NoExecute taint replaces the other".to_owned(),
        TaintCause::EverythingDown => "all zones are fully disrupted".to_owned(),
        TaintCause::NotReady => "it reports that it is not ready".to_owned(),
        TaintCause::Silent { since } => format!("it has been silent since {}", sentences::time(since, now)),
    }
}

const fn state(state: ZoneState) -> &'static str {
    match state {
        ZoneState::Normal => "Normal",
        ZoneState::PartialDisruption => "PartialDisruption",
        ZoneState::FullDisruption => "FullDisruption",
    }
}

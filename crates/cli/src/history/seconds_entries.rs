//! Tells which tolerationSeconds hold, backfill and the guard changed, by the notices in a record.

use super::entry::{EntryLog, HistoryEvent, HistoryObject};
use super::filter::HistoryFilter;
use super::sentences;
use taintward_core::identity::{NodeName, PodId};
use taintward_core::time::Now;
use taintward_core::toleration_seconds::{TolerationSecondsEngine, TolerationSecondsNotice};
use taintward_record::{CallVisitor, EngineCall, RecordError, RecordedCall};

/// The entries of these controllers so far.
pub(super) struct SecondsEntries {
    pub(super) log: EntryLog,
}

impl SecondsEntries {
    pub(super) const fn new(filter: HistoryFilter) -> Self {
        Self { log: EntryLog::new(filter) }
    }

    fn add_pod(&mut self, pod: &PodId, node: &NodeName, message: String, now: Now) {
        if self.log.filter.admits_pod(pod.name(), node) {
            let object =
                HistoryObject::Pod { name: pod.name().clone(), uid: pod.uid().clone(), node: node.clone() };
            self.log.add(now, object, HistoryEvent::SecondsChanged, message);
        }
    }

    fn notice(&mut self, notice: TolerationSecondsNotice, now: Now) {
        match notice {
            TolerationSecondsNotice::PodHeld { pod, node, until } => {
                let until = sentences::wall_time(until, now);
                self.add_pod(
                    &pod,
                    &node,
                    format!("is held until {until}: its tolerationSeconds are cleared"),
                    now,
                );
            }
            TolerationSecondsNotice::PodReleased { pod, node, seconds } => {
                let message = format!("is not held any more: it has tolerationSeconds {seconds}");
                self.add_pod(&pod, &node, message, now);
            }
            TolerationSecondsNotice::PodBackfilled { pod, node } => {
                let message = "got the tolerationSeconds of new pods (backfill)".to_owned();
                self.add_pod(&pod, &node, message, now);
            }
            TolerationSecondsNotice::PodGuarded { pod, node, is_guarded } => {
                let message = match is_guarded {
                    true => "got the guard's ceiling as tolerationSeconds",
                    false => "got its own tolerationSeconds back from the guard",
                };
                self.add_pod(&pod, &node, message.to_owned(), now);
            }
            TolerationSecondsNotice::SecondsContested { pod, node } => {
                let message = "had its tolerationSeconds changed by another client; Taintward restored them";
                self.add_pod(&pod, &node, message.to_owned(), now);
            }
            TolerationSecondsNotice::RecordMissing { pod, node, .. } => {
                let message = "lost the annotation with its own tolerationSeconds: another client removed it";
                self.add_pod(&pod, &node, message.to_owned(), now);
            }
            TolerationSecondsNotice::Synced { .. }
            | TolerationSecondsNotice::LimitChanged(_)
            | TolerationSecondsNotice::RecordUndecodable(_) => {}
        }
    }
}

impl CallVisitor<TolerationSecondsEngine> for SecondsEntries {
    type Error = RecordError;

    fn begin(&mut self, _: &TolerationSecondsEngine, _: Option<&TolerationSecondsEngine>) {}

    /// The recorded notices contain everything that the history needs: the engine need not follow.
    fn call(
        &mut self,
        _: &mut TolerationSecondsEngine,
        call: RecordedCall<TolerationSecondsEngine>,
        now: Now,
    ) -> Result<(), RecordError> {
        if let EngineCall::Notices(notices) = call {
            notices.into_iter().for_each(|notice| self.notice(notice, now));
        }
        Ok(())
    }
}

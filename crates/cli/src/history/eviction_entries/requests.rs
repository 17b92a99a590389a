//! Tells which requests taint-eviction-controller sent, and how the API server responded.

use super::super::entry::HistoryEvent;
use super::super::history_pod::request_text;
use super::super::sentences;
use super::EvictionEntries;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::LiveRead;
use taintward_core::eviction::{EvictionEffect, EvictionEngine, EvictionInput};
use taintward_core::identity::PodRef;
use taintward_core::time::Now;

impl EvictionEntries {
    /// Tells how the API server responded. `done`: the message about a success; `None`: a notice reports it.
    fn response<T>(&mut self, pod: &PodRef, result: &Result<T, ApiFailure>, done: Option<&str>, now: Now) {
        let Some(tracked) = self.pods.get_mut(&pod.uid) else { return };
        let Some((request, sent)) = tracked.request.take() else { return };
        let after = sentences::after(sent, now);
        let (event, message) = match (result, done) {
            (Ok(_), None) => return,
            (Ok(_), Some(done)) => {
                (HistoryEvent::RequestSucceeded, format!("{done}, {after} after Taintward requested that"))
            }
            (Err(why), _) => {
                let why = sentences::failure(*why);
                let message = format!("Taintward requested {request}, and {after} later it failed: {why}");
                (HistoryEvent::RequestFailed, message)
            }
        };
        self.add_pod(now, pod, event, message);
    }

    pub(super) fn input(&mut self, engine: &EvictionEngine, input: &EvictionInput, now: Now) {
        match input {
            EvictionInput::Nodes(event) if !self.is_listing => self.node_event(engine, event, now),
            EvictionInput::Pods(event) => self.pod_event(engine, event, now),
            EvictionInput::NodeConfirmed { node, result, .. } if self.includes_node(node) => {
                let what = match result {
                    Ok(LiveRead::Found(_)) => return,
                    Ok(LiveRead::NotFound) => "it does not exist any more".to_owned(),
                    Ok(LiveRead::Undecodable) => "it cannot be decoded".to_owned(),
                    Err(why) => sentences::failure(*why),
                };
                let message = format!("was read before an eviction, which waits: {what}");
                self.add_node(now, node, HistoryEvent::NodeUnreadable, message);
            }
            EvictionInput::Marked { pod, result } => {
                self.response(pod, result, Some("has the condition DisruptionTarget"), now);
            }
            EvictionInput::Deleted { pod, result } | EvictionInput::Evicted { pod, result } => {
                if let (Some(tracked), Err(why)) = (self.pods.get_mut(&pod.uid), result) {
                    tracked.is_evicted &= *why == ApiFailure::Unavailable;
                }
                self.response(pod, result, None, now);
            }
            EvictionInput::PodRead { pod, result, .. } => {
                let found = match result {
                    Ok(LiveRead::NotFound) => "does not exist any more",
                    _ => "still exists",
                };
                self.response(pod, result, Some(found), now);
            }
            EvictionInput::Unmarked { pod, result } => {
                self.response(
                    pod,
                    result,
                    Some("does not have the condition DisruptionTarget any more"),
                    now,
                );
            }
            _ => {}
        }
    }

    pub(super) fn effect(&mut self, effect: &EvictionEffect, now: Now) {
        let pod = match effect {
            EvictionEffect::ReadNode { .. } => return,
            EvictionEffect::SetDisruptionTarget { pod, .. }
            | EvictionEffect::DeletePod { pod, .. }
            | EvictionEffect::EvictPod { pod, .. }
            | EvictionEffect::ReadPod { pod, .. }
            | EvictionEffect::ClearDisruptionTarget { pod, .. } => pod,
        };
        if let Some(tracked) = self.pods.get_mut(&pod.uid) {
            let deletes =
                matches!(effect, EvictionEffect::DeletePod { .. } | EvictionEffect::EvictPod { .. });
            tracked.is_evicted |= deletes;
            tracked.request = request_text(effect).map(|request| (request, now.mono));
        }
    }
}

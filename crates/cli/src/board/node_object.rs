//! Decodes a node with the fields that the board shows in addition: notes, conditions in words, managers of its taints.

use super::views::{NodeHealth, NodeStatusView, NodeTaintView, seconds};
use crate::cluster_state::details::{ConditionDetails, NodeDetails};
use crate::taint_note::TaintNote;
use taintward_core::fact::NodeFact;
use taintward_core::identity::ResourceVersion;
use taintward_core::taint::Taint;
use taintward_core::time::Wall;
use taintward_kube::decode::{ApiResource, Decoded, DecodedNode, Encoding, ObjectIdentity, WatchedObject};

/// A node as its watch delivers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NodeObject {
    decoded: DecodedNode,
    details: NodeDetails,
}

impl WatchedObject for NodeObject {
    const RESOURCE: ApiResource = ApiResource::NODES;
    const JSON_ONLY: bool = true;

    /// If a server sends protobuf anyway, the board shows the node without details.
    fn decode(encoding: Encoding, bytes: &[u8]) -> Decoded<Self> {
        let details = match encoding {
            Encoding::Json => NodeDetails::of(bytes).unwrap_or_default(),
            Encoding::Protobuf => NodeDetails::default(),
        };
        DecodedNode::decode(encoding, bytes).map(|decoded| Self { decoded, details })
    }

    fn identity(&self) -> ObjectIdentity {
        self.decoded.taints.identity()
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.decoded.taints.version
    }
}

/// Whether the condition `Ready` says that the kubelet sends no heartbeats.
fn is_silent(ready: &ConditionDetails) -> bool {
    ready.status == "Unknown"
}

impl NodeObject {
    /// The facts that decide about its pods.
    pub(super) fn fact(&self) -> &NodeFact {
        &self.decoded.taints
    }

    /// The node as the board shows it. A taint without a known start counts from `seen`.
    pub(super) fn view(&self, seen: Wall) -> NodeStatusView {
        let health = &self.decoded.health;
        let (region, zone) = health.zone.parts();
        let silenced = self.details.annotations.contains_key(taintward_sandbox::controllers::SILENCE);
        NodeStatusView {
            id: health.uid.to_string(),
            name: health.name.as_str().to_owned(),
            zone: if zone.is_empty() { region } else { zone }.to_owned(),
            health: self.health(),
            state: self.health().in_words(health.unschedulable, silenced),
            reason: self.complaints(),
            since: self.ready().filter(|one| is_silent(one)).and_then(|one| one.since).map(seconds),
            unschedulable: health.unschedulable,
            silenced,
            taints: self.decoded.taints.taints.iter().map(|taint| self.taint(taint, seen)).collect(),
        }
    }

    fn health(&self) -> NodeHealth {
        NodeHealth::of(self.ready().map(|condition| condition.status.as_str()))
    }

    fn ready(&self) -> Option<&ConditionDetails> {
        self.details.conditions.iter().find(|condition| condition.kind == "Ready")
    }

    /// The conditions that differ from those of a healthy node, in words. All conditions of a silent node are unknown for
    /// the same reason, which counts once.
    fn complaints(&self) -> String {
        let healthy = |kind: &str| if kind == "Ready" { "True" } else { "False" };
        let silent = self.ready().filter(|one| is_silent(one)).map(|_| "silent".to_owned());
        let is_new = |one: &&ConditionDetails| silent.is_none() || one.status != "Unknown";
        let bad =
            self.details.conditions.iter().filter(|one| one.status != healthy(&one.kind)).filter(is_new);
        let reasons = bad.map(|one| {
            let why = if one.message.is_empty() { &one.reason } else { &one.message };
            format!("{} is {}: {why}", one.kind, one.status).trim_end_matches([':', ' ', '.']).to_owned()
        });
        silent.clone().into_iter().chain(reasons).collect::<Vec<_>>().join("; ")
    }

    fn taint(&self, taint: &Taint, seen: Wall) -> NodeTaintView {
        let writer = self.details.writers.first();
        let note = TaintNote::about(taint, |key| self.details.annotations.get(key).map(String::as_str));
        let since = taint.time_added.or(writer.and_then(|(_, at)| *at)).unwrap_or(seen);
        NodeTaintView {
            text: taint.to_string(),
            key: taint.key.to_string(),
            value: taint.value.to_string(),
            effect: taint.effect.as_str().to_owned(),
            added_at: seconds(since),
            manager: writer.map(|(manager, _)| manager.clone()).unwrap_or_default(),
            note: note.and_then(|note| note.reason).unwrap_or_default(),
        }
    }
}

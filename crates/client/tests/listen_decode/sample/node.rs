//! # Sample nodes
//! Room:     one node, written three ways.
//! Comes in: proptest's choices.
//! Goes out: protobuf bytes, JSON bytes, and the fact both must give.
//! Not here: metadata and small values (`sample.rs`).

use super::{SampleMeta, api, api_time, moment, option, pb, pb_time, sample_meta, text, vec, wall};
use proptest::prelude::*;
use prost::Message;
use taintward_core::fact::NodeFact;
use taintward_core::names::{NodeName, Uid, Version};
use taintward_core::taint::{Effect, Taint};

type SampleTaint = (String, Option<String>, String, Option<i64>);

#[derive(Clone, Debug)]
pub(crate) struct SampleNode {
    meta: SampleMeta,
    taints: Vec<SampleTaint>,
}

pub(crate) fn sample_node() -> impl Strategy<Value = SampleNode> {
    let taint = (
        text(&["dedicated", "node.kubernetes.io/unreachable"]),
        option::of(text(&["", "v"])),
        text(&["NoExecute", "NoSchedule", "PreferNoSchedule", "noexecute"]),
        option::of(moment()),
    );
    (sample_meta(), vec(taint, 0..4)).prop_map(|(meta, taints)| SampleNode { meta, taints })
}

impl SampleNode {
    pub(crate) fn protobuf(&self) -> Vec<u8> {
        let taint = |of: &SampleTaint| pb::Taint {
            key: Some(of.0.clone()),
            value: of.1.clone(),
            effect: Some(of.2.clone()),
            time_added: pb_time(of.3),
        };
        pb::Node {
            metadata: Some(self.meta.pb()),
            spec: Some(pb::NodeSpec {
                pod_cidr: Some("10.1.0.0/24".to_owned()),
                taints: self.taints.iter().map(taint).collect(),
                ..pb::NodeSpec::default()
            }),
            status: Some(pb::NodeStatus { phase: Some("Running".to_owned()), ..pb::NodeStatus::default() }),
        }
        .encode_to_vec()
    }

    pub(crate) fn json(&self) -> Vec<u8> {
        let taint = |of: &SampleTaint| api::Taint {
            key: of.0.clone(),
            value: of.1.clone(),
            effect: of.2.clone(),
            time_added: api_time(of.3),
        };
        let node = api::Node {
            metadata: self.meta.api(),
            spec: Some(api::NodeSpec {
                taints: Some(self.taints.iter().map(taint).collect()),
                ..api::NodeSpec::default()
            }),
            status: None,
        };
        serde_json::to_vec(&node).unwrap()
    }

    pub(crate) fn fact(&self) -> NodeFact {
        let taint = |of: &SampleTaint| Taint {
            key: of.0.as_str().into(),
            value: of.1.as_deref().unwrap_or_default().into(),
            effect: Effect::new(&of.2),
            time_added: wall(of.3),
        };
        let needs = self.taints.iter().any(|of| of.2 == "NoExecute" && of.3.is_none());
        let owning = self.meta.managed.iter().filter(|(_, fields, sub)| {
            sub.is_empty() && fields.get("f:spec").is_some_and(|spec| spec.get("f:taints").is_some())
        });
        NodeFact {
            name: NodeName::new(&self.meta.name),
            uid: Uid::new(&self.meta.uid),
            version: Version::parse(&self.meta.version),
            created: wall(self.meta.created),
            taints: self.taints.iter().map(taint).collect(),
            taints_changed: wall(owning.filter_map(|(at, _, _)| *at).max().filter(|_| needs)),
        }
    }
}

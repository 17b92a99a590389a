//! Labels with a meaning of their own, and one without.

use super::{SampleMeta, api, api_time, moment, option, pb, pb_time, sample_meta, text, vec, wall};
use proptest::collection::btree_map;
use proptest::prelude::*;
use prost::Message;
use taintward_core::admission::no_execute_guard::ALLOW;
use taintward_core::fact::{NodeFact, RESPECT_BUDGETS};
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{
    self, ConditionKind, ConditionStatus, NodeCondition, PlatformLabels, ZoneKey, ZoneLabels,
};
use taintward_core::taint::keys::OUT_OF_SERVICE;
use taintward_core::taint::{Taint, TaintEffect};
use taintward_kube::decode::DecodedNode;
use taintward_kube::hold_request::{HOLD, decode_periods};
use taintward_kube::respect_annotation::decode_respects;

type SampleTaint = (String, Option<String>, String, Option<i64>);
type NodeConditionSample = (String, String, Option<i64>);

/// Labels of which each has a meaning of its own, and one that has none.
const LABELS: [&str; 10] = [
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
    "node.kubernetes.io/exclude-disruption",
    "kubernetes.io/os",
    "beta.kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/arch",
    "kubernetes.io/hostname",
];

#[derive(Clone, Debug)]
pub(crate) struct SampleNode {
    meta: SampleMeta,
    taints: Vec<SampleTaint>,
    unschedulable: Option<bool>,
    conditions: Vec<NodeConditionSample>,
}

pub(crate) fn sample_node() -> impl Strategy<Value = SampleNode> {
    let taint = (
        text(&["dedicated", "node.kubernetes.io/unreachable", OUT_OF_SERVICE]),
        option::of(text(&["", "v"])),
        text(&["NoExecute", "NoSchedule", "PreferNoSchedule", "noexecute"]),
        option::of(moment()),
    );
    let kind = text(&[
        "Ready",
        "MemoryPressure",
        "DiskPressure",
        "PIDPressure",
        "NetworkUnavailable",
        "ready",
        "KernelDeadlock",
    ]);
    let condition = (kind, text(&["True", "False", "Unknown", "true"]), option::of(moment()));
    let labels = btree_map(proptest::sample::select(&LABELS[..]), text(&["z1", "linux", ""]), 0..8);
    let spec = (vec(taint, 0..4), option::of(any::<bool>()));
    (sample_meta(), labels, spec, vec(condition, 0..6)).prop_map(
        |(mut meta, labels, (taints, unschedulable), conditions)| {
            meta.labels.extend(labels.into_iter().map(|(key, value)| (key.to_owned(), value)));
            SampleNode { meta, taints, unschedulable, conditions }
        },
    )
}

impl SampleNode {
    pub(crate) fn protobuf(&self) -> Vec<u8> {
        let taint = |of: &SampleTaint| pb::Taint {
            key: Some(of.0.clone()),
            value: of.1.clone(),
            effect: Some(of.2.clone()),
            time_added: pb_time(of.3),
        };
        let condition = |of: &NodeConditionSample| pb::NodeCondition {
            r#type: Some(of.0.clone()),
            status: Some(of.1.clone()),
            last_heartbeat_time: pb_time(of.2),
            last_transition_time: pb_time(Some(7)),
            ..pb::NodeCondition::default()
        };
        pb::Node {
            metadata: Some(self.meta.pb()),
            spec: Some(pb::NodeSpec {
                pod_cidr: Some("10.1.0.0/24".to_owned()),
                taints: self.taints.iter().map(taint).collect(),
                unschedulable: self.unschedulable,
                ..pb::NodeSpec::default()
            }),
            status: Some(pb::NodeStatus {
                phase: Some("Running".to_owned()),
                conditions: self.conditions.iter().map(condition).collect(),
                ..pb::NodeStatus::default()
            }),
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
        let condition = |of: &NodeConditionSample| api::NodeCondition {
            type_: of.0.clone(),
            status: of.1.clone(),
            last_heartbeat_time: api_time(of.2),
            last_transition_time: api_time(Some(7)),
            ..api::NodeCondition::default()
        };
        let node = api::Node {
            metadata: self.meta.api(),
            spec: Some(api::NodeSpec {
                taints: Some(self.taints.iter().map(taint).collect()),
                unschedulable: self.unschedulable,
                ..api::NodeSpec::default()
            }),
            status: Some(api::NodeStatus {
                conditions: Some(self.conditions.iter().map(condition).collect()),
                ..api::NodeStatus::default()
            }),
        };
        serde_json::to_vec(&node).unwrap()
    }

    fn label(&self, key: &str) -> Option<&str> {
        self.meta.labels.get(key).map(String::as_str)
    }

    fn health(&self) -> node_lifecycle::NodeHealthFact {
        let NodeFact { name, uid, version, created, taints, .. } = self.fact();
        let own = |key: &str| self.label(key).map(Box::from);
        let condition = |of: &NodeConditionSample| {
            let kind = ConditionKind::ALL.into_iter().find(|kind| kind.as_str() == of.0)?;
            Some(NodeCondition { kind, status: ConditionStatus::new(&of.1), heartbeat: wall(of.2) })
        };
        node_lifecycle::NodeHealthFact {
            name,
            uid,
            version,
            created,
            zone: ZoneKey::of(ZoneLabels {
                beta_region: self.label(LABELS[0]),
                beta_zone: self.label(LABELS[1]),
                region: self.label(LABELS[2]),
                zone: self.label(LABELS[3]),
            }),
            excluded: self.label(LABELS[4]).is_some(),
            unschedulable: self.unschedulable == Some(true),
            taints,
            conditions: self.conditions.iter().filter_map(condition).collect(),
            platform: PlatformLabels {
                os: own(LABELS[5]),
                beta_os: own(LABELS[6]),
                arch: own(LABELS[7]),
                beta_arch: own(LABELS[8]),
            },
        }
    }

    pub(crate) fn seen(&self) -> DecodedNode {
        let hold = self.meta.annotation(HOLD).map(Box::from);
        DecodedNode { taints: self.fact(), health: self.health(), hold }
    }

    pub(crate) fn fact(&self) -> NodeFact {
        let taint = |of: &SampleTaint| Taint {
            key: of.0.as_str().into(),
            value: of.1.as_deref().unwrap_or_default().into(),
            effect: TaintEffect::new(&of.2),
            time_added: wall(of.3),
        };
        let needs = self.taints.iter().any(|of| of.2 == "NoExecute" && of.3.is_none());
        let owning = self.meta.managed.iter().filter(|(_, fields, sub)| {
            sub.is_empty() && fields.get("f:spec").is_some_and(|spec| spec.get("f:taints").is_some())
        });
        NodeFact {
            name: NodeName::new(&self.meta.name),
            uid: Uid::new(&self.meta.uid),
            version: ResourceVersion::parse(&self.meta.version),
            created: wall(self.meta.created),
            taints: self.taints.iter().map(taint).collect(),
            taints_changed: wall(owning.filter_map(|(at, _, _)| *at).max().filter(|_| needs)),
            ready_out_of_service: self.taints.iter().any(|of| of.0 == OUT_OF_SERVICE) && self.is_ready(),
            labels: None,
            allow_no_execute: self.meta.annotation(ALLOW).map(Box::from),
            respect_budgets: self
                .meta
                .annotation(RESPECT_BUDGETS)
                .map(|text| Box::new(decode_respects(text))),
            holds: self.meta.annotation(HOLD).and_then(decode_periods),
        }
    }

    /// All its conditions `Ready` are True, and there is one.
    fn is_ready(&self) -> bool {
        let mut statuses =
            self.conditions.iter().filter(|of| of.0 == "Ready").map(|of| of.1.as_str()).peekable();
        statuses.peek().is_some() && statuses.all(|status| status == "True")
    }
}

//! # Shapes: the fields that are read
//! Room:     narrow structs that borrow from the text; other fields are skipped, `null` is "not set" as in Go.
//! Comes in: serde_json's events.
//! Goes out: to `read.rs`.
//! Not here: what a field means.

use crate::review::{Fields, Text};
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::fmt;
use taintward_core::admission::no_execute_guard::ALLOW;
use taintward_core::admission::policy::{NOT_READY_SECONDS, UNREACHABLE_SECONDS};
use taintward_core::admission::pool::MADE_FOR;
use taintward_core::fact::PodOwnerKind;
use taintward_core::quantity::Quantity;
use taintward_core::scheduling::Labels;

/// The shadow of a static pod has it.
const MIRROR: &str = "kubernetes.io/config.mirror";

#[derive(Deserialize)]
pub(super) struct PodShape<'a> {
    pub(super) metadata: Option<Fields<MetadataShape>>,
    #[serde(borrow)]
    pub(super) spec: Option<Fields<SpecShape<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MetadataShape {
    pub(super) labels: Option<Marks>,
    pub(super) annotations: Option<Annotations>,
    pub(super) owner_references: Option<Controller>,
    pub(super) deletion_timestamp: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpecShape<'a> {
    #[serde(borrow)]
    pub(super) tolerations: Option<&'a RawValue>,
    pub(super) node_selector: Option<Pairs>,
    #[serde(borrow)]
    pub(super) affinity: Option<Fields<AffinityShape<'a>>>,
    #[serde(borrow)]
    pub(super) node_name: Option<Text<'a>>,
    pub(super) scheduling_gates: Option<Vec<IgnoredAny>>,
    pub(super) host_network: Option<bool>,
    #[serde(borrow)]
    pub(super) service_account_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) priority_class_name: Option<Text<'a>>,
    pub(super) containers: Option<Vec<Fields<ContainerShape>>>,
    pub(super) init_containers: Option<Vec<Fields<ContainerShape>>>,
    /// Of the pod as a whole.
    pub(super) resources: Option<Fields<ResourcesShape>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AffinityShape<'a> {
    #[serde(borrow)]
    pub(super) node_affinity: Option<Fields<NodeAffinityShape<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct NodeAffinityShape<'a> {
    #[serde(borrow, rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub(super) required: Option<Fields<RequiredShape<'a>>>,
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    pub(super) preferred: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RequiredShape<'a> {
    #[serde(borrow)]
    pub(super) node_selector_terms: Option<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TermShape<'a> {
    #[serde(borrow)]
    pub(super) match_expressions: Option<Vec<Fields<RequirementShape<'a>>>>,
    #[serde(borrow)]
    pub(super) match_fields: Option<Vec<Fields<RequirementShape<'a>>>>,
}

#[derive(Deserialize)]
pub(super) struct RequirementShape<'a> {
    #[serde(borrow)]
    pub(super) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) operator: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) values: Option<Vec<Text<'a>>>,
}

/// A toleration, or a taint, which has some of its fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TolerationShape<'a> {
    #[serde(borrow)]
    pub(super) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) operator: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) value: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) effect: Option<Text<'a>>,
    pub(super) toleration_seconds: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct ContainerShape {
    pub(super) resources: Option<Fields<ResourcesShape>>,
}

#[derive(Deserialize)]
pub(super) struct ResourcesShape {
    pub(super) requests: Option<Amounts>,
    pub(super) limits: Option<Amounts>,
}

impl ResourcesShape {
    /// Some CPU or memory is asked for or limited: the pod is not BestEffort.
    pub(super) fn have_a_class(&self) -> bool {
        [&self.requests, &self.limits].into_iter().flatten().any(|amounts| amounts.classed)
    }
}

#[derive(Deserialize)]
pub(super) struct OldPodShape<'a> {
    pub(super) metadata: Option<Fields<MetadataShape>>,
    #[serde(borrow)]
    pub(super) spec: Option<Fields<OldSpecShape<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct OldSpecShape<'a> {
    #[serde(borrow)]
    pub(super) tolerations: Option<&'a RawValue>,
    pub(super) scheduling_gates: Option<Vec<IgnoredAny>>,
}

#[derive(Deserialize)]
pub(super) struct NodeShape<'a> {
    pub(super) metadata: Option<Fields<NodeMetadataShape>>,
    #[serde(borrow)]
    pub(super) spec: Option<Fields<NodeSpecShape<'a>>>,
    #[serde(borrow)]
    pub(super) status: Option<Fields<NodeStatusShape<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct NodeMetadataShape {
    pub(super) annotations: Option<Annotations>,
}

#[derive(Deserialize)]
pub(super) struct NodeSpecShape<'a> {
    #[serde(borrow)]
    pub(super) taints: Option<Vec<Fields<TolerationShape<'a>>>>,
}

#[derive(Deserialize)]
pub(super) struct NodeStatusShape<'a> {
    #[serde(borrow)]
    pub(super) conditions: Option<Vec<Fields<ConditionShape<'a>>>>,
}

#[derive(Deserialize)]
pub(super) struct ConditionShape<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) status: Option<Text<'a>>,
}

/// A map, entry by entry.
struct Entries<T>(T);

/// What is kept of a map.
trait Keep: Default {
    const WHAT: &'static str = "a map of texts";

    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

impl<'de, T: Keep> Visitor<'de> for Entries<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::WHAT)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<T, A::Error> {
        while let Some(Text(key)) = map.next_key::<Text<'de>>()? {
            self.0.entry(&key, &mut map)?;
        }
        Ok(self.0)
    }
}

fn value<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Box<str>, A::Error> {
    let text = map.next_value::<Option<Text<'de>>>()?;
    Ok(text.map_or_else(Box::default, |Text(text)| text.as_ref().into()))
}

macro_rules! kept {
    ($($kept:ty),+) => {$(
        impl<'de> Deserialize<'de> for $kept {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map(Entries(<$kept>::default()))
            }
        }
    )+};
}

kept!(Pairs, Marks, Annotations, Amounts);

/// Labels, all of them; of a key given twice the last counts, as in Go.
#[derive(Default)]
pub(super) struct Pairs(pub(super) Labels);

impl Keep for Pairs {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        self.0.insert(key.into(), value(map)?);
        Ok(())
    }
}

/// The label that matters.
#[derive(Default)]
pub(super) struct Marks {
    pub(super) control_plane: bool,
}

impl Keep for Marks {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        if key == "tier" {
            self.control_plane = *value(map)? == *"control-plane";
            return Ok(());
        }
        map.next_value::<IgnoredAny>().map(drop)
    }
}

/// The annotations that matter.
#[derive(Default)]
pub(super) struct Annotations {
    pub(super) mirror: bool,
    pub(super) not_ready: Option<Box<str>>,
    pub(super) unreachable: Option<Box<str>>,
    pub(super) allow: Option<Box<str>>,
    pub(super) made_for: Option<Box<str>>,
}

impl Keep for Annotations {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        match key {
            MIRROR => {
                self.mirror = true;
                map.next_value::<IgnoredAny>()?;
            }
            NOT_READY_SECONDS => self.not_ready = Some(value(map)?),
            UNREACHABLE_SECONDS => self.unreachable = Some(value(map)?),
            ALLOW => self.allow = Some(value(map)?),
            MADE_FOR => self.made_for = Some(value(map)?),
            _ => _ = map.next_value::<IgnoredAny>()?,
        }
        Ok(())
    }
}

/// Amounts of resources.
#[derive(Default)]
pub(super) struct Amounts {
    /// Names that have a domain: special hardware may be among them.
    pub(super) special: Vec<Box<str>>,
    /// There is CPU or memory, and not none of it.
    pub(super) classed: bool,
}

impl Keep for Amounts {
    const WHAT: &'static str = "a map of amounts";

    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        if key.contains('/') {
            self.special.push(key.into());
        }
        if !["cpu", "memory"].contains(&key) {
            return map.next_value::<IgnoredAny>().map(drop);
        }
        let amount: serde_json::Value = map.next_value()?;
        let text = amount.as_str().map_or_else(|| amount.to_string(), str::to_owned);
        self.classed |= !amount.is_null() && Quantity::parse(&text).is_ok_and(Quantity::is_positive);
        Ok(())
    }
}

/// The kind of the controlling owner: of the first that has `controller: true`.
#[derive(Default)]
pub(super) struct Controller(pub(super) PodOwnerKind);

impl<'de> Deserialize<'de> for Controller {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Reference<'a> {
            #[serde(borrow)]
            api_version: Option<Text<'a>>,
            #[serde(borrow)]
            kind: Option<Text<'a>>,
            controller: Option<bool>,
        }

        struct References;

        impl<'de> Visitor<'de> for References {
            type Value = Controller;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of owners")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Controller, A::Error> {
                let mut found = None;
                while let Some(Fields(one)) = list.next_element::<Fields<Reference<'de>>>()? {
                    if one.controller == Some(true) && found.is_none() {
                        found = Some(owner(one.api_version.as_ref(), one.kind.as_ref()));
                    }
                }
                Ok(Controller(found.unwrap_or_default()))
            }
        }

        deserializer.deserialize_seq(References)
    }
}

fn owner(version: Option<&Text<'_>>, kind: Option<&Text<'_>>) -> PodOwnerKind {
    let text =
        |text: Option<&'_ Text<'_>>| text.map(|Text(text)| text.as_ref().to_owned()).unwrap_or_default();
    let (version, kind) = (text(version), text(kind));
    match (version.split_once('/').map(|(group, _)| group), &*kind) {
        (Some("apps"), "DaemonSet") => PodOwnerKind::DaemonSet,
        (Some("batch"), "Job") => PodOwnerKind::Job,
        _ => PodOwnerKind::Other,
    }
}

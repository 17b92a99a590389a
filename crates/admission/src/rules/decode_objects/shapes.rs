//! # Shapes: the fields that are read
//! Room:     narrow structs that borrow from the text; other fields are skipped, `null` is "not set" as in Go.
//! Comes in: serde_json's events.
//! Goes out: to `read.rs`.
//! Not here: what a field means.

use crate::review::{BorrowedText, LenientFields};
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
    pub(super) metadata: Option<LenientFields<MetadataShape>>,
    #[serde(borrow)]
    pub(super) spec: Option<LenientFields<SpecShape<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MetadataShape {
    pub(super) labels: Option<ControlPlaneLabels>,
    pub(super) annotations: Option<ReviewedAnnotations>,
    pub(super) owner_references: Option<ControllerKind>,
    pub(super) deletion_timestamp: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SpecShape<'a> {
    #[serde(borrow)]
    pub(super) tolerations: Option<&'a RawValue>,
    pub(super) node_selector: Option<LabelPairs>,
    #[serde(borrow)]
    pub(super) affinity: Option<LenientFields<AffinityShape<'a>>>,
    #[serde(borrow)]
    pub(super) node_name: Option<BorrowedText<'a>>,
    pub(super) scheduling_gates: Option<Vec<IgnoredAny>>,
    pub(super) host_network: Option<bool>,
    #[serde(borrow)]
    pub(super) service_account_name: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) priority_class_name: Option<BorrowedText<'a>>,
    pub(super) containers: Option<Vec<LenientFields<ContainerShape>>>,
    pub(super) init_containers: Option<Vec<LenientFields<ContainerShape>>>,
    /// Of the pod as a whole.
    pub(super) resources: Option<LenientFields<ResourcesShape>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AffinityShape<'a> {
    #[serde(borrow)]
    pub(super) node_affinity: Option<LenientFields<NodeAffinityShape<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct NodeAffinityShape<'a> {
    #[serde(borrow, rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub(super) required: Option<LenientFields<RequiredShape<'a>>>,
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
    pub(super) match_expressions: Option<Vec<LenientFields<RequirementShape<'a>>>>,
    #[serde(borrow)]
    pub(super) match_fields: Option<Vec<LenientFields<RequirementShape<'a>>>>,
}

#[derive(Deserialize)]
pub(super) struct RequirementShape<'a> {
    #[serde(borrow)]
    pub(super) key: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) operator: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) values: Option<Vec<BorrowedText<'a>>>,
}

/// A toleration, or a taint, which has some of its fields.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TolerationShape<'a> {
    #[serde(borrow)]
    pub(super) key: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) operator: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) value: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) effect: Option<BorrowedText<'a>>,
    pub(super) toleration_seconds: Option<i64>,
}

#[derive(Deserialize)]
pub(super) struct ContainerShape {
    pub(super) resources: Option<LenientFields<ResourcesShape>>,
}

#[derive(Deserialize)]
pub(super) struct ResourcesShape {
    pub(super) requests: Option<SpecialResources>,
    pub(super) limits: Option<SpecialResources>,
}

impl ResourcesShape {
    /// Some CPU or memory is asked for or limited: the pod is not BestEffort.
    pub(super) fn have_a_class(&self) -> bool {
        [&self.requests, &self.limits].into_iter().flatten().any(|amounts| amounts.classed)
    }
}

#[derive(Deserialize)]
pub(super) struct OldPodShape<'a> {
    pub(super) metadata: Option<LenientFields<MetadataShape>>,
    #[serde(borrow)]
    pub(super) spec: Option<LenientFields<OldSpecShape<'a>>>,
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
    pub(super) metadata: Option<LenientFields<NodeMetadataShape>>,
    #[serde(borrow)]
    pub(super) spec: Option<LenientFields<NodeSpecShape<'a>>>,
    #[serde(borrow)]
    pub(super) status: Option<LenientFields<NodeStatusShape<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct NodeMetadataShape {
    pub(super) annotations: Option<ReviewedAnnotations>,
}

#[derive(Deserialize)]
pub(super) struct NodeSpecShape<'a> {
    #[serde(borrow)]
    pub(super) taints: Option<Vec<LenientFields<TolerationShape<'a>>>>,
}

#[derive(Deserialize)]
pub(super) struct NodeStatusShape<'a> {
    #[serde(borrow)]
    pub(super) conditions: Option<Vec<LenientFields<ConditionShape<'a>>>>,
}

#[derive(Deserialize)]
pub(super) struct ConditionShape<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    pub(super) status: Option<BorrowedText<'a>>,
}

/// A map, entry by entry.
struct EntriesVisitor<T>(T);

/// What is kept of a map.
trait CollectEntries: Default {
    const WHAT: &'static str = "a map of texts";

    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error>;
}

impl<'de, T: CollectEntries> Visitor<'de> for EntriesVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::WHAT)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<T, A::Error> {
        while let Some(BorrowedText(key)) = map.next_key::<BorrowedText<'de>>()? {
            self.0.entry(&key, &mut map)?;
        }
        Ok(self.0)
    }
}

fn value<'de, A: MapAccess<'de>>(map: &mut A) -> Result<Box<str>, A::Error> {
    let text = map.next_value::<Option<BorrowedText<'de>>>()?;
    Ok(text.map_or_else(Box::default, |BorrowedText(text)| text.as_ref().into()))
}

macro_rules! kept {
    ($($kept:ty),+) => {$(
        impl<'de> Deserialize<'de> for $kept {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_map(EntriesVisitor(<$kept>::default()))
            }
        }
    )+};
}

kept!(LabelPairs, ControlPlaneLabels, ReviewedAnnotations, SpecialResources);

/// Labels, all of them; of a key given twice the last counts, as in Go.
#[derive(Default)]
pub(super) struct LabelPairs(pub(super) Labels);

impl CollectEntries for LabelPairs {
    fn entry<'de, A: MapAccess<'de>>(&mut self, key: &str, map: &mut A) -> Result<(), A::Error> {
        self.0.insert(key.into(), value(map)?);
        Ok(())
    }
}

/// The label that matters.
#[derive(Default)]
pub(super) struct ControlPlaneLabels {
    pub(super) control_plane: bool,
}

impl CollectEntries for ControlPlaneLabels {
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
pub(super) struct ReviewedAnnotations {
    pub(super) mirror: bool,
    pub(super) not_ready: Option<Box<str>>,
    pub(super) unreachable: Option<Box<str>>,
    pub(super) allow: Option<Box<str>>,
    pub(super) made_for: Option<Box<str>>,
}

impl CollectEntries for ReviewedAnnotations {
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
pub(super) struct SpecialResources {
    /// Names that have a domain: special hardware may be among them.
    pub(super) special: Vec<Box<str>>,
    /// There is CPU or memory, and not none of it.
    pub(super) classed: bool,
}

impl CollectEntries for SpecialResources {
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
pub(super) struct ControllerKind(pub(super) PodOwnerKind);

impl<'de> Deserialize<'de> for ControllerKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct OwnerReferenceShape<'a> {
            #[serde(borrow)]
            api_version: Option<BorrowedText<'a>>,
            #[serde(borrow)]
            kind: Option<BorrowedText<'a>>,
            controller: Option<bool>,
        }

        struct OwnerReferencesVisitor;

        impl<'de> Visitor<'de> for OwnerReferencesVisitor {
            type Value = ControllerKind;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of owners")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ControllerKind, A::Error> {
                let mut found = None;
                while let Some(LenientFields(one)) =
                    list.next_element::<LenientFields<OwnerReferenceShape<'de>>>()?
                {
                    if one.controller == Some(true) && found.is_none() {
                        found = Some(owner(one.api_version.as_ref(), one.kind.as_ref()));
                    }
                }
                Ok(ControllerKind(found.unwrap_or_default()))
            }
        }

        deserializer.deserialize_seq(OwnerReferencesVisitor)
    }
}

fn owner(version: Option<&BorrowedText<'_>>, kind: Option<&BorrowedText<'_>>) -> PodOwnerKind {
    let text = |text: Option<&'_ BorrowedText<'_>>| {
        text.map(|BorrowedText(text)| text.as_ref().to_owned()).unwrap_or_default()
    };
    let (version, kind) = (text(version), text(kind));
    match (version.split_once('/').map(|(group, _)| group), &*kind) {
        (Some("apps"), "DaemonSet") => PodOwnerKind::DaemonSet,
        (Some("batch"), "Job") => PodOwnerKind::Job,
        _ => PodOwnerKind::Other,
    }
}

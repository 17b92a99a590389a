//! Holds one mirror of each kind, borrowed from the text, for every reader: lists and watches, snapshots, the webhook.
//!
//! - Invariant: an absent field equals `null`, as in Go ([`Text`], [`Fields`], [`CappedList`], [`TextMap`] are empty; a
//!   number is `None`). A known field given twice is an error; an unknown field is skipped, except in the
//!   specifications of Taintward's own resources. [`IfWhole`] skips what only some readers need.
//! - See `decode/format/protobuf.rs` for protobuf, and `decode/format/json.rs` for errors with paths.
#![allow(missing_docs, reason = "the fields of a mirror are the API's, and documented there")]

mod affinity;
mod disruption_budget;
mod eviction_policy;
mod job;
mod label_selector;
mod members;
mod metadata;
mod node;
mod pod;
mod policy;
mod pool;
mod resources;
mod status_condition;
mod toleration;
mod value;
mod watch_line;
mod workload;

pub use affinity::{AffinityJson, NodeAffinityJson, NodeTermJson, PreferredTermJson, RequiredTermsJson};
pub use disruption_budget::{BudgetCountsJson, DisruptionBudgetJson, DisruptionBudgetSpecJson};
pub use eviction_policy::{
    BudgetRespectJson, EvictionPolicySpecJson, EvictionPolicyStatusJson, SelectedTaintJson,
};
pub use job::{
    JobConditionJson, JobJson, JobSpecJson, JobStatusJson, PodFailurePolicyJson, PodFailureRuleJson,
    UncountedPodsJson,
};
pub use label_selector::LabelSelectorJson;
pub use members::{member_at, members};
pub(crate) use metadata::{INITIAL_EVENTS_END, MIRROR, group, owner_kind};
pub use metadata::{KnownAnnotations, ManagedFieldsJson, MetaJson, ObjectJson, OwnerReferenceJson};
pub use node::{LeaseSpecJson, NodeConditionJson, NodeSpecJson, NodeStatusJson, TaintJson};
pub use pod::{
    ContainerJson, PodConditionJson, PodJson, PodSpecJson, PodStatusJson, PodTemplateJson, TemplateSpecJson,
    VolumeJson,
};
pub use policy::{BackfillJson, PolicySpecJson, PolicyStatusJson, SecondsBoundsJson};
pub use pool::{
    AppliedMarkJson, AppliedMarksJson, NamedPodJson, PoolLabelJson, PoolMembersJson, PoolSpecJson,
    PoolStatusJson, PoolTaintJson, PoolUsersJson, ServiceAccountJson,
};
pub use resources::{QuantitiesJson, ResourcesJson, ScalarJson};
pub use status_condition::StatusConditionJson;
pub use toleration::TolerationJson;
pub use value::{
    CappedList, Essential, Extent, Fields, IfWhole, LONGEST_LIST, StringList, Text, TextMap, Whole,
    object_from_slice,
};
pub use watch_line::{KindJson, ListMetaJson, WatchLineJson};
pub use workload::{WorkloadJson, WorkloadSpecJson};

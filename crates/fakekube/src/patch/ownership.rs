//! Determines which manager owns which field: how a field is owned, as a whole or in parts, and by which keys list items
//! are identified.

mod field_set;

pub use field_set::{apply, keep_times, track};

use super::{DEPTH_MAX, FieldWriter, unexpected, within_depth};
use crate::custom;
use crate::schema::{Omit, Schema, SchemaField, Shape, TypeId};
use serde_json::{Map, Value};
use std::sync::LazyLock;

/// Types that are owned as a whole.
const WHOLE: [&str; 22] = [
    "autoscaling/v1.CrossVersionObjectReference",
    "core/v1.ConfigMapKeySelector",
    "core/v1.EndpointAddress",
    "core/v1.EndpointPort",
    "core/v1.FileKeySelector",
    "core/v1.LocalObjectReference",
    "core/v1.NodeSelector",
    "core/v1.NodeSelectorTerm",
    "core/v1.ObjectFieldSelector",
    "core/v1.ObjectReference",
    "core/v1.ResourceFieldSelector",
    "core/v1.ScopeSelector",
    "core/v1.SecretKeySelector",
    "core/v1.SecretReference",
    "core/v1.TopologySelectorTerm",
    "core/v1.TypedLocalObjectReference",
    "discovery/v1.EndpointPort",
    "meta/v1.LabelSelector",
    "meta/v1.OwnerReference",
    "networking/v1.ServiceBackendPort",
    "rbac/v1.RoleRef",
    "rbac/v1.Subject",
];

/// Fields that are owned differently than their type or merge key implies.
const FIELDS: [(&str, &str, MergeGrain); 16] = [
    ("batch/v1.JobStatus", "conditions", MergeGrain::Whole),
    ("batch/v1.PodFailurePolicyOnExitCodesRequirement", "values", MergeGrain::Set),
    ("batch/v1.UncountedTerminatedPods", "failed", MergeGrain::Set),
    ("batch/v1.UncountedTerminatedPods", "succeeded", MergeGrain::Set),
    (
        "certificates/v1.CertificateSigningRequestStatus",
        "conditions",
        MergeGrain::Keyed(MergeKeys::Many(&["type"])),
    ),
    ("core/v1.ContainerRestartRuleOnExitCodes", "values", MergeGrain::Set),
    ("core/v1.NodeAllocatableResourceClaimStatus", "containers", MergeGrain::Set),
    ("core/v1.PersistentVolumeSpec", "claimRef", MergeGrain::Parts),
    ("core/v1.PodSpec", "nodeSelector", MergeGrain::Whole),
    ("core/v1.PodStatus", "hostIPs", MergeGrain::Whole),
    ("core/v1.ReplicationControllerSpec", "selector", MergeGrain::Whole),
    ("core/v1.ServiceSpec", "selector", MergeGrain::Whole),
    ("discovery/v1.Endpoint", "addresses", MergeGrain::Set),
    ("node/v1.Scheduling", "nodeSelector", MergeGrain::Whole),
    ("resource/v1.AllocatedDeviceStatus", "conditions", MergeGrain::Keyed(MergeKeys::Many(&["type"]))),
    ("storage/v1.CSIDriverSpec", "volumeLifecycleModes", MergeGrain::Set),
];

/// By item type: the fields that identify list items, where there are more than the merge key.
const ITEMS: [(&str, &[&str]); 6] = [
    ("core/v1.ContainerPort", &["containerPort", "protocol"]),
    ("core/v1.ResourceClaim", &["name"]),
    ("core/v1.ResourceHealth", &["resourceID"]),
    ("core/v1.ServicePort", &["port", "protocol"]),
    ("core/v1.TopologySpreadConstraint", &["topologyKey", "whenUnsatisfiable"]),
    ("resource/v1.AllocatedDeviceStatus", &["device", "driver", "pool", "shareID"]),
];

/// The fields that identify the items of a list, sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MergeKeys {
    One(&'static str),
    Many(&'static [&'static str]),
}

impl MergeKeys {
    fn names(&self) -> &[&'static str] {
        match self {
            Self::One(key) => std::slice::from_ref(key),
            Self::Many(keys) => keys,
        }
    }
}

/// How finely a value is owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MergeGrain {
    /// As one field.
    Whole,
    /// Field by field.
    Parts,
    /// Item by item, identified by these fields.
    Keyed(MergeKeys),
    /// Item by item, identified by their values.
    Set,
}

/// The kind of a value.
#[derive(Clone, Copy, Debug)]
enum SchemaKind {
    Scalar(&'static Shape),
    Object(TypeId),
    Map(&'static Shape),
    List(&'static Shape),
    /// Unknown: objects are handled field by field, lists as a whole.
    Any,
}

/// The kind of a value, and how finely it is owned.
#[derive(Clone, Copy, Debug)]
struct MergeRule {
    what: SchemaKind,
    grain: MergeGrain,
}

/// How a rule treats values.
enum ValueForm<'v> {
    Leaf,
    Fields(Option<&'v Map<String, Value>>, Option<&'v Map<String, Value>>),
    Items(&'v [Value], &'v [Value]),
}

impl MergeRule {
    /// The rule for objects of a type.
    fn root(of: TypeId) -> Self {
        Self { what: SchemaKind::Object(of), grain: MergeGrain::Parts }
    }

    /// The rule for unknown values.
    const ANY: Self = Self { what: SchemaKind::Any, grain: MergeGrain::Parts };

    fn of_shape(shape: &'static Shape) -> Self {
        match shape {
            Shape::Object(id) => {
                let grain = if IS_WHOLE[id.place()] { MergeGrain::Whole } else { MergeGrain::Parts };
                Self { what: SchemaKind::Object(*id), grain }
            }
            Shape::Map(of) => Self { what: SchemaKind::Map(of), grain: MergeGrain::Parts },
            Shape::List(of) => Self { what: SchemaKind::List(of), grain: MergeGrain::Whole },
            Shape::Raw | Shape::Fields => Self::ANY,
            scalar => Self { what: SchemaKind::Scalar(scalar), grain: MergeGrain::Whole },
        }
    }

    fn of_field(parent: TypeId, field: &'static SchemaField) -> Self {
        let schema = Schema::get();
        let mut rule = Self::of_shape(&field.shape);
        if let SchemaKind::List(of) = rule.what {
            let item = match of {
                Shape::Object(id) => item_keys(&schema.at(*id).name),
                _ => None,
            };
            rule.grain = match (&field.merge.key, item) {
                (_, Some(keys)) => MergeGrain::Keyed(MergeKeys::Many(keys)),
                (Some(key), None) if field.merge.merge => MergeGrain::Keyed(MergeKeys::One(key)),
                (None, None) if field.merge.merge => MergeGrain::Set,
                _ => MergeGrain::Whole,
            };
        }
        let parent = &schema.at(parent).name;
        match FIELDS.iter().find(|(of, name, _)| of == parent && *name == field.name) {
            Some((_, _, grain)) => Self { grain: *grain, ..rule },
            None => rule,
        }
    }

    /// The rule of a field; `None` if there is no field of this name.
    fn field(&self, name: &str) -> Option<Self> {
        match self.what {
            SchemaKind::Object(id) => {
                declared_rule(id, name).or_else(|| (is_kind(id) && is_what(name)).then_some(TEXT))
            }
            SchemaKind::Map(of) => Some(Self::of_shape(of)),
            SchemaKind::Any => Some(Self::ANY),
            SchemaKind::Scalar(_) | SchemaKind::List(_) => None,
        }
    }

    /// As [`Self::field`]; for unknown values, any field is allowed.
    fn field_or_any(&self, name: &str) -> Self {
        self.field(name).unwrap_or(Self::ANY)
    }

    /// Whether the type has a field of this name; a map has none.
    fn declares(&self, name: &str) -> bool {
        matches!(self.what, SchemaKind::Object(_)) && self.field(name).is_some()
    }

    /// The rule of a list's items.
    fn item(&self) -> Self {
        match self.what {
            SchemaKind::List(of) => Self::of_shape(of),
            _ => Self::ANY,
        }
    }

    /// The default of a missing key of an item. Fields that are never omitted have one.
    fn key_default(&self, key: &str) -> Option<Value> {
        let SchemaKind::List(Shape::Object(id)) = self.what else { return None };
        let (of, field) = declared(*id, key)?;
        match (&field.shape, key) {
            (_, "protocol") => Some("TCP".into()),
            (Shape::String, _) if field.omit == Omit::Never => Some("".into()),
            (Shape::String, "name") if Schema::get().at(of).name == "core/v1.LocalObjectReference" => {
                Some("".into())
            }
            (Shape::Int32, _) if field.omit == Omit::Never => Some(0.into()),
            _ => None,
        }
    }

    /// How two values, each possibly absent, are treated together. Two empty values are one thing, so that empty and
    /// absent stay distinct.
    fn form<'v>(&self, one: Option<&'v Value>, other: Option<&'v Value>) -> ValueForm<'v> {
        let fields = |value: Option<&'v Value>| value.and_then(Value::as_object);
        let items = |value: Option<&'v Value>| value.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        match (self.what, self.grain) {
            (SchemaKind::Scalar(_), _) | (_, MergeGrain::Whole) => ValueForm::Leaf,
            (SchemaKind::List(_), _) => match (items(one), items(other)) {
                ([], []) => ValueForm::Leaf,
                (one, other) => ValueForm::Items(one, other),
            },
            (SchemaKind::Any, _) if [one, other].into_iter().flatten().any(|value| !value.is_object()) => {
                ValueForm::Leaf
            }
            _ => match (fields(one), fields(other)) {
                (one, other) if [one, other].into_iter().flatten().all(Map::is_empty) => ValueForm::Leaf,
                (one, other) => ValueForm::Fields(one, other),
            },
        }
    }
}

fn item_keys(name: &str) -> Option<&'static [&'static str]> {
    let known = ITEMS.iter().find(|(of, _)| *of == name).map(|(_, keys)| *keys);
    known.or_else(|| custom::merge_keys(name))
}

const TEXT: MergeRule = MergeRule { what: SchemaKind::Scalar(&Shape::String), grain: MergeGrain::Whole };

/// A field, and the type that declares it, which is a different one for inlined fields.
fn declared(of: TypeId, name: &str) -> Option<(TypeId, &'static SchemaField)> {
    let all = Schema::get().at(of);
    let own = all.own(name).map(|field| (of, field));
    own.or_else(|| all.inlined().find_map(|(_, inner)| declared(inner, name)))
}

/// By type, in the order of its fields: their rules.
static RULES: LazyLock<Vec<Vec<MergeRule>>> = LazyLock::new(|| {
    let schema = Schema::get();
    let of = |id| schema.at(id).fields.iter().map(|field| MergeRule::of_field(id, field)).collect();
    schema.types().map(of).collect()
});

/// By type: whether it is owned as a whole.
static IS_WHOLE: LazyLock<Vec<bool>> = LazyLock::new(|| {
    let schema = Schema::get();
    let is = |name: &str| WHOLE.contains(&name) || custom::is_whole(name);
    schema.types().map(|id| is(&schema.at(id).name)).collect()
});

/// The rule of a field, perhaps an inlined one.
fn declared_rule(of: TypeId, name: &str) -> Option<MergeRule> {
    let all = Schema::get().at(of);
    let own = all.own_place(name).map(|place| RULES[of.place()][place]);
    own.or_else(|| all.inlined().find_map(|(_, inner)| declared_rule(inner, name)))
}

fn is_what(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind")
}

/// Whether a type's objects have an `apiVersion` and a kind.
fn is_kind(of: TypeId) -> bool {
    declared(of, "metadata").is_some()
}

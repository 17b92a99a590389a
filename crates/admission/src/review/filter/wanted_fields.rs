//! Lists every field of AdmissionReviews, pods and nodes that a rule reads; the filter drops all others.
//!
//! - A field that is read must be listed: a test compares both.

use taintward_core::admission::no_execute_guard::ALLOW;
use taintward_core::admission::policy::{NOT_READY_SECONDS, UNREACHABLE_SECONDS};
use taintward_core::admission::pool::MADE_FOR;

/// Which part of a value is kept.
#[derive(Debug)]
pub(super) enum WantedFields {
    /// The whole value, as written.
    All,
    /// Nothing, not even its key.
    Nothing,
    /// These fields of an object.
    Fields(&'static [(&'static str, Self)]),
    /// Every entry of a list, and this part of each.
    Each(&'static Self),
}

use WantedFields::{All, Each, Fields};

pub(super) static NOTHING: WantedFields = WantedFields::Nothing;

/// An AdmissionReview. Values directly in `request` are kept as a whole or not at all ([`super::ReviewFilter`]).
pub(super) static REVIEW: WantedFields = Fields(&[
    ("apiVersion", All),
    ("kind", All),
    (
        "request",
        Fields(&[
            ("uid", All),
            ("kind", NAMED),
            ("resource", NAMED),
            ("subResource", All),
            ("name", All),
            ("namespace", All),
            ("operation", All),
            ("userInfo", Fields(&[("username", All), ("groups", All)])),
            ("object", OBJECT),
            ("oldObject", OBJECT),
            ("dryRun", All),
        ]),
    ),
]);

const NAMED: WantedFields = Fields(&[("group", All), ("version", All), ("kind", All), ("resource", All)]);

/// A pod or a node: no field has different meanings in both.
const OBJECT: WantedFields = Fields(&[("metadata", METADATA), ("spec", SPEC), ("status", STATUS)]);

const METADATA: WantedFields = Fields(&[
    ("labels", Fields(&[("tier", All)])),
    (
        "annotations",
        Fields(&[
            ("kubernetes.io/config.mirror", All),
            (NOT_READY_SECONDS, All),
            (UNREACHABLE_SECONDS, All),
            (ALLOW, All),
            (MADE_FOR, All),
        ]),
    ),
    ("deletionTimestamp", All),
    ("ownerReferences", Each(&Fields(&[("apiVersion", All), ("kind", All), ("controller", All)]))),
]);

const SPEC: WantedFields = Fields(&[
    ("tolerations", All),
    ("nodeSelector", All),
    ("affinity", Fields(&[("nodeAffinity", NODE_AFFINITY)])),
    ("nodeName", All),
    ("schedulingGates", Each(&PRESENCE)),
    ("hostNetwork", All),
    ("serviceAccountName", All),
    ("priorityClassName", All),
    ("containers", Each(&CONTAINER)),
    ("initContainers", Each(&CONTAINER)),
    ("resources", RESOURCES),
    ("taints", All),
]);

const NODE_AFFINITY: WantedFields = Fields(&[
    ("requiredDuringSchedulingIgnoredDuringExecution", Fields(&[("nodeSelectorTerms", All)])),
    ("preferredDuringSchedulingIgnoredDuringExecution", Each(&PRESENCE)),
]);

const CONTAINER: WantedFields = Fields(&[("resources", RESOURCES)]);

const RESOURCES: WantedFields = Fields(&[("requests", All), ("limits", All)]);

const STATUS: WantedFields = Fields(&[("conditions", Each(&Fields(&[("type", All), ("status", All)])))]);

/// Only whether it exists.
const PRESENCE: WantedFields = Fields(&[]);

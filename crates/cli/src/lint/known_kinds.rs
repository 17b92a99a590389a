//! Knows the kinds of Kubernetes that have tolerations or taints, and where.
//!
//! - Invariant: the same kind in another API group is another kind.

use crate::manifest::YamlNode;
use taintward_core::lint::LintedList;

/// Groups of Kubernetes' own workloads, `extensions` before 1.16.
const GROUPS: [&str; 4] = ["", "apps", "batch", "extensions"];

/// Kinds with pods, and the path of the pod's spec.
const WORKLOADS: [(&str, &str); 9] = [
    ("Pod", "spec"),
    ("PodTemplate", "template.spec"),
    ("ReplicationController", "spec.template.spec"),
    ("Deployment", "spec.template.spec"),
    ("ReplicaSet", "spec.template.spec"),
    ("StatefulSet", "spec.template.spec"),
    ("DaemonSet", "spec.template.spec"),
    ("Job", "spec.template.spec"),
    ("CronJob", "spec.jobTemplate.spec.template.spec"),
];

/// Whether all pods of such an object are alike.
pub(crate) fn makes_alike(kind: &str) -> bool {
    WORKLOADS.iter().any(|(known, _)| *known == kind)
}

/// Whether it is an object of a kind of Kubernetes that has tolerations or taints.
pub(crate) fn is_known(tree: &YamlNode) -> bool {
    list_of(tree).is_some()
}

/// The list in an object of a kind of Kubernetes, and the path of the map that has it.
pub(crate) fn list_of(tree: &YamlNode) -> Option<(LintedList, &'static str)> {
    let (kind, version) = (tree.text("kind"), tree.text("apiVersion"));
    let group = version.split_once('/').map_or("", |(group, _)| group);
    if kind == "Node" && group.is_empty() {
        return Some((LintedList::Taints, "spec"));
    }
    let known = WORKLOADS.into_iter().find(|(known, _)| *known == kind && GROUPS.contains(&group));
    known.map(|(_, path)| (LintedList::Tolerations, path))
}

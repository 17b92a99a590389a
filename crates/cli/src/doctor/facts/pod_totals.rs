//! Summarizes all pods: which taints some pod tolerates, and whether DefaultTolerationSeconds is on.

use super::NamedCount;
use crate::manifest::YamlNode;
use std::collections::BTreeSet;

/// The taints for which DefaultTolerationSeconds adds tolerations.
const HEALTH_TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TaintFacts {
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) effect: String,
}

/// A toleration of some pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TolerationFacts {
    key: String,
    operator: String,
    value: String,
    effect: String,
}

impl TolerationFacts {
    fn of(toleration: &YamlNode) -> Self {
        let text = |field| toleration.text(field).to_owned();
        Self { key: text("key"), operator: text("operator"), value: text("value"), effect: text("effect") }
    }

    /// A toleration with an unknown operator may match.
    fn may_match(&self, taint: &TaintFacts) -> bool {
        let effect = self.effect.is_empty() || self.effect == taint.effect;
        let key = self.key.is_empty() || self.key == taint.key;
        let value = match self.operator.as_str() {
            "" | "Equal" => self.value == taint.value && !self.key.is_empty(),
            _ => true,
        };
        effect && key && value
    }
}

/// A summary of all pods.
#[derive(Debug, Default)]
pub(crate) struct PodTotals {
    /// Pods with the tolerations that DefaultTolerationSeconds adds if it is on.
    pub(crate) with_health_tolerations: usize,
    pub(crate) without_health_tolerations: NamedCount,
    tolerations: BTreeSet<TolerationFacts>,
}

impl PodTotals {
    /// Whether a pod has a toleration that matches, or may match.
    pub(crate) fn tolerate(&self, taint: &TaintFacts) -> bool {
        self.tolerations.iter().any(|toleration| toleration.may_match(taint))
    }

    /// Adds the pod with this spec.
    pub(crate) fn add(&mut self, spec: Option<&YamlNode>, is_static_pod: bool, name: impl Fn() -> String) {
        let tolerations = spec.and_then(|spec| spec.get("tolerations")).map_or(&[][..], YamlNode::items);
        let tolerations: Vec<TolerationFacts> = tolerations.iter().map(TolerationFacts::of).collect();
        // A kubelet creates mirror pods with their own tolerations.
        if !is_static_pod {
            let covers = |key: &&str| {
                let taint =
                    TaintFacts { key: (*key).into(), value: String::new(), effect: "NoExecute".into() };
                tolerations.iter().any(|toleration| toleration.may_match(&taint))
            };
            match HEALTH_TAINTS.iter().all(covers) {
                true => self.with_health_tolerations += 1,
                false => self.without_health_tolerations.add(name()),
            }
        }
        self.tolerations.extend(tolerations);
    }
}

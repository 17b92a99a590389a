//! Builds the facts of tests: `pod("web").on("n1").tolerates([toleration("gpu", Some(60))])`.
//!
//! - Only tests compile it: those of other crates enable the feature `testkit`. What a test does not name has the value
//!   of the most ordinary object, and `..pod("web")` sets any other field.

use crate::fact::{BindingTimes, NodeFact, PodFact, PodLifePhase, PodOwnerKind};
use crate::identity::{NodeName, PodId, PodName, PodRef, ResourceVersion, Uid};
use crate::scheduling::{Labels, NodeInfo, PodSchedulingSpec, ResourceRequests};
use crate::taint::{Taint, TaintEffect, keys};
use crate::time::Wall;
use crate::toleration::{Toleration, TolerationOperator};
use alloc::vec::Vec;

/// A taint as kubectl writes it: `key=value:Effect` or `key:Effect`; `key` alone has the effect that evicts, `NoExecute`.
pub fn taint(text: &str) -> Taint {
    let (identity, effect) = text.split_once(':').unwrap_or((text, "NoExecute"));
    let (key, value) = identity.split_once('=').unwrap_or((identity, ""));
    taint_of(key, value, effect)
}

/// Taints as [`taint`] parses them, separated by spaces.
pub fn taints(texts: &str) -> Vec<Taint> {
    texts.split_whitespace().map(taint).collect()
}

/// A taint of these fields, as the API writes them.
pub fn taint_of(key: &str, value: &str, effect: &str) -> Taint {
    Taint { key: key.into(), value: value.into(), effect: TaintEffect::new(effect), time_added: None }
}

/// Tolerates any value of a `NoExecute` taint with this key for so many seconds; `None`: indefinitely.
pub fn toleration(key: &str, seconds: Option<i64>) -> Toleration {
    Toleration { seconds, ..toleration_of(key, "Exists", "", "NoExecute") }
}

/// A toleration of these fields, as the API writes them: without an effect, it is for each.
pub fn toleration_of(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
    Toleration {
        key: key.into(),
        operator: TolerationOperator::new(operator),
        value: value.into(),
        effect: (!effect.is_empty()).then(|| TaintEffect::new(effect)),
        seconds: None,
    }
}

/// A toleration from a row `key operator value effect seconds`: `-` is empty, and so are missing fields at the end.
pub fn toleration_row(row: &str) -> Toleration {
    let mut fields = row.split_whitespace().map(|field| if field == "-" { "" } else { field });
    let mut next = || fields.next().unwrap_or("");
    let (key, operator, value, effect, seconds) = (next(), next(), next(), next(), next());
    Toleration { seconds: seconds.parse().ok(), ..toleration_of(key, operator, value, effect) }
}

/// The tolerations of the taints of unhealthy nodes, which admission adds, for so many seconds.
pub fn node_health_tolerations(not_ready: Option<i64>, unreachable: Option<i64>) -> Vec<Toleration> {
    [toleration(keys::NOT_READY, not_ready), toleration(keys::UNREACHABLE, unreachable)].into()
}

/// A node with a UID of its own and without taints, created long ago.
pub fn node(name: &str) -> NodeFact {
    NodeFact {
        name: NodeName::new(name),
        uid: Uid::new(&alloc::format!("uid-{name}")),
        version: None,
        created: Some(Wall::from_secs(1_700_000_000)),
        taints: Vec::new(),
        taints_changed: None,
        ready_out_of_service: false,
        labels: None,
        allow_no_execute: None,
        respect_budgets: None,
        holds: None,
    }
}

/// A live pod in the namespace `default` on the node `n1`, with its name as its UID and without tolerations. When it was
/// bound is unknown.
pub fn pod(name: &str) -> PodFact {
    PodFact {
        id: PodId::new(Uid::new(name), PodName::new("default", name)),
        node: NodeName::new("n1"),
        version: None,
        generation: 1,
        tolerations: Vec::new(),
        priority: 0,
        node_critical: false,
        owner: PodOwnerKind::Other,
        life_phase: PodLifePhase::Live,
        mirror: false,
        marked: false,
        marked_by_another: false,
        arrival: BindingTimes::default(),
        ready: None,
        template: None,
        holds: None,
        ignores_holds: false,
    }
}

/// The pod with this UID on the node `n1`.
pub fn pod_ref(uid: &str) -> PodRef {
    PodRef { node: NodeName::new("n1"), uid: Uid::new(uid) }
}

/// For the scheduler: a node with 4 CPUs, 8 GiB, room for 10 pods, and none on it.
pub fn node_info(name: &str) -> NodeInfo {
    NodeInfo {
        name: NodeName::new(name),
        labels: Labels::new(),
        unschedulable: false,
        taints: Vec::new(),
        allocatable: [("cpu".into(), 4_000), ("memory".into(), 8 << 30)].into(),
        pods_max: 10,
        pods: 0,
        used: ResourceRequests::default(),
    }
}

/// For the scheduler: a pod that requests nothing and may preempt others.
pub fn pod_spec() -> PodSchedulingSpec {
    PodSchedulingSpec { preempts: true, ..PodSchedulingSpec::default() }
}

impl Taint {
    /// The same with this `timeAdded`.
    pub fn added(self, at: Wall) -> Self {
        Self { time_added: Some(at), ..self }
    }
}

impl NodeFact {
    /// The same with these taints.
    pub fn tainted(self, taints: impl IntoIterator<Item = Taint>) -> Self {
        Self { taints: taints.into_iter().collect(), ..self }
    }

    /// The same in this resource version.
    pub fn at_version(self, version: u64) -> Self {
        Self { version: Some(ResourceVersion(version)), ..self }
    }
}

impl PodFact {
    /// The same on this node.
    pub fn on(self, node: &str) -> Self {
        Self { node: NodeName::new(node), ..self }
    }

    /// The same with these tolerations.
    pub fn tolerates(self, tolerations: impl IntoIterator<Item = Toleration>) -> Self {
        Self { tolerations: tolerations.into_iter().collect(), ..self }
    }

    /// The same in this resource version.
    pub fn at_version(self, version: u64) -> Self {
        Self { version: Some(ResourceVersion(version)), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::{taint, taint_of, toleration, toleration_of, toleration_row};
    use alloc::string::ToString;

    #[test]
    fn a_taint_is_parsed_as_it_is_displayed() {
        for text in ["k=v:NoExecute", "k:NoSchedule", "k=v:", "k:noexecute", ":NoExecute"] {
            assert_eq!(taint(text).to_string(), text);
        }
        assert_eq!(taint("k"), taint_of("k", "", "NoExecute"));
    }

    #[test]
    fn a_row_may_end_early() {
        assert_eq!(toleration_row("k Exists - NoExecute 60"), toleration("k", Some(60)));
        assert_eq!(toleration_row("k Equal v"), toleration_of("k", "Equal", "v", ""));
        assert_eq!(toleration_row("- Exists"), toleration_of("", "Exists", "", ""));
    }
}

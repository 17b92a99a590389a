//! Tests scheduling with tables; `engines/golden_scheduling.rs` compares it with the Go functions.

use super::*;
use crate::quantity::Quantity;
use crate::taint::TaintEffect;
use crate::toleration::TolerationOperator;
use crate::toleration_matching::NumericOperators::{self, Off, On};
use alloc::string::ToString;
use alloc::vec;

mod affinities;
mod choices;
mod filters;
mod loads;
mod properties;
mod sentences;

const GI: i64 = 1 << 30;

fn resources(of: &[(&str, i64)]) -> Resources {
    of.iter().map(|&(name, amount)| (name.into(), amount)).collect()
}

/// Requests of thousandths of CPU and bytes.
fn load(cpu: i64, memory: i64) -> ResourceRequests {
    let requested = resources(&[(CPU, cpu), (MEMORY, memory)]);
    ResourceRequests { assumed: requested.clone(), requested }
}

/// A node with 4 CPUs, 8 GiB, room for 10 pods, and none on it.
pub(super) fn node(name: &str) -> NodeInfo {
    NodeInfo {
        name: NodeName::new(name),
        labels: Labels::new(),
        unschedulable: false,
        taints: vec![],
        allocatable: resources(&[(CPU, 4_000), (MEMORY, 8 * GI)]),
        pods_max: 10,
        pods: 0,
        used: ResourceRequests::default(),
    }
}

fn pod() -> PodSchedulingSpec {
    PodSchedulingSpec {
        tolerations: vec![],
        node_selector: Labels::new(),
        required: None,
        preferred: vec![],
        load: ResourceRequests::default(),
        priority: 0,
        preempts: true,
    }
}

fn taint(key: &str, value: &str, effect: &str) -> Taint {
    Taint { key: key.into(), value: value.into(), effect: TaintEffect::new(effect), time_added: None }
}

fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
    let effect = (!effect.is_empty()).then(|| TaintEffect::new(effect));
    let (key, value) = (key.into(), value.into());
    Toleration { key, operator: TolerationOperator::new(operator), value, effect, seconds: None }
}

fn requirement(key: &str, operator: &str, values: &[&str]) -> NodeRequirement {
    let values = values.iter().map(|&value| value.into()).collect();
    NodeRequirement { key: key.into(), operator: NodeOperator::new(operator), values }
}

fn labelled(key: &str, operator: &str, values: &[&str]) -> NodeTerm {
    NodeTerm { expressions: vec![requirement(key, operator, values)], fields: vec![] }
}

fn named(names: &[&str]) -> NodeTerm {
    NodeTerm { expressions: vec![], fields: vec![requirement("metadata.name", "In", names)] }
}

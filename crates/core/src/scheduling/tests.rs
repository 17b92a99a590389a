//! Tests scheduling with tables; `engines/golden_scheduling.rs` compares it with the Go functions.

use super::*;
use crate::quantity::Quantity;
use crate::testkit::{node_info, pod_spec, taint, taint_of, toleration_of, toleration_row};
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

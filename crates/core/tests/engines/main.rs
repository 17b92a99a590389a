//! Tests the engines in virtual time: scenarios of single rules, properties, random histories and exhaustive search; and
//! compares what they rely on with recorded results of the Go functions.

#[path = "../common/mod.rs"]
mod common;
#[path = "../golden/rows.rs"]
mod rows;

mod admission;
mod cases;
mod dedicated_pools;
mod eviction;
mod eviction_policy;
mod exhaustive;
mod fleet;
mod golden_matching;
mod golden_scheduling;
mod histories;
mod node_lifecycle;
mod properties;
mod storms;
mod toleration_hold;
mod worlds;

//! Tests scenarios with lagging watches and slow requests; holds what they share.

mod requests;
mod unseen;

use crate::common::cluster::{Deleted, SECOND};
use crate::common::storm::{Storm, WINDOW};
use taintward_core::eviction::EvictionConfig;
use taintward_core::taint::TaintEffect;
use taintward_core::toleration::Toleration;

/// Fates of requests, as on a storm's tape: the outcome, and how long it takes.
const AT_ONCE: [u8; 2] = [0, 0];
const RESPONDED_LATE: [u8; 2] = [0, 240];
const COMMITTED_LATE: [u8; 2] = [0, 210];
const UNDER_WAY: [u8; 2] = [0, 128];
const UNHEARD: [u8; 2] = [144, 0];
const REJECTED: [u8; 2] = [205, 0];
const CONFLICT: [u8; 2] = [180, 0];

fn storm() -> Storm {
    let mut storm = Storm::new(EvictionConfig::default(), WINDOW);
    storm.cluster.put_node(0);
    storm.pass(SECOND);
    storm
}

/// A storm with one pod that has these tolerations.
fn with_pod(tolerations: Vec<Toleration>) -> Storm {
    let mut storm = storm();
    storm.cluster.put_pod(0, 0, tolerations, false);
    storm.pass(SECOND);
    storm
}

fn fates(storm: &mut Storm, fates: &[[u8; 2]]) {
    storm.tape = fates.iter().flatten().copied().collect();
}

fn taint_node(storm: &mut Storm, stamped: bool) -> i64 {
    storm.cluster.add_taint(0, "k", TaintEffect::NoExecute, stamped);
    storm.settle();
    storm.cluster.now
}

fn untaint_node(storm: &mut Storm) {
    storm.cluster.untaint(0, "k");
    storm.settle();
}

fn deleted_at(storm: &Storm) -> Vec<i64> {
    storm.cluster.deleted.iter().map(|Deleted { at, .. }| *at).collect()
}

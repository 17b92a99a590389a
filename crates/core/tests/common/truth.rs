//! Records the true state of nodes and pods, and since when it holds.

use taintward_core::fact::PodFact;
use taintward_core::identity::Uid;
use taintward_core::taint::Taint;

#[derive(Clone, Debug)]
pub struct TruthTaint {
    pub taint: Taint,
    pub since: i64,
}

#[derive(Clone, Debug)]
pub struct TruthNode {
    pub uid: Uid,
    pub created: i64,
    pub taints: Vec<TruthTaint>,
    pub changed: Option<i64>,
    pub version: u64,
}

#[derive(Clone, Debug)]
pub struct TruthPod {
    pub fact: PodFact,
    pub arrived: i64,
}

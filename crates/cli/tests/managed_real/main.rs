//! Tests the grades for managed clusters with the real kube-controller-manager's own taint eviction on.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

#[path = "../admission"]
mod admission {
    pub(crate) mod review_server;
}
mod backfill;
#[allow(dead_code, reason = "each test binary uses some of it")]
#[path = "../clients/board"]
mod board {
    pub(crate) mod client;
}
#[allow(dead_code, reason = "each test binary uses some of it")]
#[path = "../cli"]
mod cli {
    pub(crate) mod document;
    pub(crate) mod running;
    pub(crate) mod timeout;
}
mod crowd;
mod faults;
mod guard;
mod harness;
mod holds;
mod other_taints;
mod page;
mod removed_annotations;
mod replicas;
mod viewer;
mod views;

//! Tests the grades for managed clusters where the real kube-controller-manager's own taint eviction is on.

#![allow(clippy::unwrap_used, reason = "tests: what can't be had fails the test")]

mod backfill;
#[path = "../cli"]
mod cli {
    pub(crate) mod document;
}
mod guard;
mod holds;
mod page;
mod stage;

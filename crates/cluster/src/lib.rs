//! # taintward-cluster: STAGE
//!
//! The real thing to work against: etcd and kube-apiserver as child processes on loopback, private to one test, demo
//! or benchmark run, with TLS, RBAC and an audit log. What the API server says here is what it says in production.
//!
//! Comes in: [`Options`]; binaries from `KUBEBUILDER_ASSETS` or the user's cache folder ([`Tools`]).
//! Goes out: a [`Cluster`] with kubeconfigs, an [`Api`] to arrange things with, the audit log as witness.
//! Keeps:    nothing after the end: processes die and folders vanish with their owner, even when it is killed.
//! Not here: anything of Taintward's own; a scheduler (pods are bound by `spec.nodeName`); a kubelet, unless KWOK is
//!           asked to play it ([`Cluster::kwok`]): a pod without grace period is gone the moment it is deleted.
#![forbid(unsafe_code)]

pub mod access;
pub mod api;
pub mod audit;
pub mod certificates;
pub mod cluster;
pub mod fixtures;
pub mod heartbeats;
mod kubeconfig;
pub mod kwok;
pub mod program;
pub mod record;
mod servers;
mod store;
pub mod tools;
pub mod usage;
pub mod wait;
mod watchdog;

pub use api::{Api, ApiError};
pub use cluster::{Account, Admission, Audit, Cluster, Disk, Options};
pub use program::Program;
pub use tools::Tools;

//! # taintward-envtest: a real control plane for tests
//!
//! The real thing to work against: etcd and kube-apiserver as child processes on loopback, private to one test, demo
//! or benchmark run, with TLS, RBAC and an audit log. What the API server says here is what it says in production.
//!
//! Comes in: [`ClusterConfig`]; binaries from `KUBEBUILDER_ASSETS` or the user's cache folder ([`Binaries`]).
//! Goes out: a [`Cluster`] with kubeconfigs, an [`TestApi`] to arrange things with, the audit log as witness.
//! Keeps:    nothing after the end: processes die and folders vanish with their owner, even when it is killed.
//! Not here: anything of Taintward's own; a scheduler (pods are bound by `spec.nodeName`); a kubelet, unless KWOK is
//!           asked to play it ([`Cluster::kwok`]): a pod without grace period is gone the moment it is deleted.
#![forbid(unsafe_code)]

pub mod access;
pub mod api;
pub mod audit;
pub mod binaries;
pub mod certificates;
pub mod cluster;
mod etcd;
pub mod fixtures;
pub mod heartbeats;
mod kubeconfig;
pub mod kwok;
pub mod node_history;
pub mod process;
mod servers;
pub mod usage;
pub mod wait;
mod watchdog;

pub use api::{TestApi, TestApiError};
pub use binaries::Binaries;
pub use cluster::{Account, AdmissionConfig, Audit, Cluster, ClusterConfig, DiskSync};
pub use process::ChildProcess;

//! Runs a real control plane for tests: etcd and kube-apiserver as child processes.
//!
//! Each [`Cluster`] listens on loopback only and is private to one test, demo or benchmark, with TLS, RBAC and an audit
//! log. The API server behaves as in production. The binaries come from `KUBEBUILDER_ASSETS` or are built into the
//! user's cache folder ([`Binaries`]). A [`TestApi`] arranges objects. There is no scheduler (tests bind pods by
//! `spec.nodeName`) and no kubelet unless [`Cluster::kwok`] simulates one: a pod without grace period is gone when it
//! is deleted.
//!
//! - Invariant: processes and folders never outlive their owner, even when it is killed.

#![forbid(unsafe_code)]

pub mod access;
pub mod api;
pub mod audit;
pub mod binaries;
pub mod browser;
pub mod certificates;
pub mod client_libraries;
mod cluster;
mod cluster_config;
mod etcd;
pub mod fixtures;
pub mod heartbeats;
mod kubeconfig;
pub mod kwok;
pub mod node_history;
mod pinned_tool;
pub mod process;
mod process_folder;
pub mod releases;
mod servers;
pub mod tmux;
pub mod usage;
mod watchdog;

pub use api::{TestApi, TestApiError};
pub use binaries::Binaries;
pub use cluster::Cluster;
pub use cluster_config::{Account, AdmissionConfig, Audit, ClusterConfig, DiskSync};
pub use pinned_tool::cache_folder;
pub use process::ChildProcess;
pub use process_folder::ProcessFolder;
pub use releases::Release;
pub use servers::free_port;
pub use testkit::wait;

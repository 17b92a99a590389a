//! # taintward-kube: speaks to a Kubernetes API server
//!
//! Everything that is said to and heard from a Kubernetes API server.
//!
//! Comes in: bytes of an API server; effects to carry out.
//! Goes out: facts for the core; results of effects; who leads.
//! Not here: any decision about a pod (taintward-core); when to act (taintward-controller).
#![forbid(unsafe_code)]

pub mod api;
pub mod clock;
pub mod config;
pub mod decode;
mod error_text;
pub mod events;
pub mod leader_election;
pub mod metrics_access;
pub mod node_client;
pub mod object_client;
pub mod paged_list;
pub mod pools;
pub mod snapshot;
pub mod watch;
pub mod webhook_config;

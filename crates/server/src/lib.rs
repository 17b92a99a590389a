//! # taintward-server: what every port has in common
//!
//! What every port of the program has in common: clients that are not waited for without end, certificates, metrics and
//! health, text that cannot forge a line.
//!
//! Comes in: connections from anybody who reaches the address.
//! Goes out: answers, within bounds.
//! Not here: Kubernetes' formats and the API server (taintward-kube); what is decided (taintward-core).
#![forbid(unsafe_code)]

pub mod admin;
pub mod certificate;
pub mod connection_limit;
pub mod escape;
pub mod io_timeout;
pub mod metrics;
pub mod settings;

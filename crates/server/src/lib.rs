//! Holds what every port of the program has in common.
//!
//! That is: admin endpoints, metrics, certificates, limits on connections and time, access to local pages, and escaping of untrusted
//! text.
//! Nothing here knows Kubernetes' formats or sends requests to an API server.

#![forbid(unsafe_code)]

pub mod admin;
pub mod certificate;
pub mod connection_limit;
pub mod escape;
pub mod host_guard;
pub mod io_timeout;
pub mod metrics;
pub mod secret_token;
pub mod settings;

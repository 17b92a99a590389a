//! Tests the requests of the clients, and how they connect.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod credentials;
mod dedicated_pools;
mod failures;
mod fake;
mod leader_election;
mod lease_store;
mod node_client;
mod node_lifecycle;
mod node_lifecycle_responses;
mod observe_mode;
mod paged_list;
mod pod_requests;
mod pool_violations;
mod probe;
mod taint_times;

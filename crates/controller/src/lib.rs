//! # taintward-controller: runs the engines
//!
//! The loop around the core: the one place where facts, time and requests meet.
//!
//! Comes in: settings; the request to stop.
//! Goes out: evictions on a cluster; metrics, health, log lines, events.
//! Not here: deciding (taintward-core), the API server's protocol (taintward-kube), flags (taintward).
#![forbid(unsafe_code)]

pub mod admin;
mod concurrency_limit;
mod control_loop;
mod controller;
mod dedicated_pools;
mod effect_executor;
mod event_recorder;
mod eviction;
mod fan_out;
mod log_rate_limit;
pub mod logging;
pub mod metrics;
mod metrics_readers;
mod node_lifecycle;
pub mod run;
pub mod settings;
pub mod shutdown;
mod stream_health;
mod tasks;
mod time_added_writer;
pub mod watch_inputs;
mod watch_queues;
pub mod webhook;
mod write_log;
mod write_permission;

//! Runs the engines of the core against an API server.
//!
//! Each engine has a control loop: watches feed it, its effects become requests, its notices become log lines, metrics
//! and events. [`run`] wires the loops of `taintward run`. taintward-core decides, taintward-kube sends requests and
//! watches, and the program defines the flags.

#![forbid(unsafe_code)]

pub mod admin;
mod concurrency_limit;
mod control_loop;
mod controller;
mod controller_context;
mod dedicated_pools;
mod effect_executor;
mod event_recorder;
mod eviction;
pub mod eviction_messages;
mod fan_out;
mod log_rate_limit;
pub mod logging;
pub mod metrics;
mod node_lifecycle;
mod path_readers;
mod request_monitor;
pub mod run;
pub mod settings;
pub mod shutdown;
pub mod stream_health;
mod tapped_engine;
mod tasks;
mod text_time;
mod time_added_writer;
mod toleration_seconds;
mod watch_queues;
mod write_log;
mod write_permission;

//! Runs a cluster in one process: an API server in memory, its nodes, a scheduler and workload controllers.
//!
//! kubectl and controllers use it like a real cluster. Taintward's own controllers are not part of it, nor is anything that
//! writes to a terminal (the command line).

pub mod api;
pub mod api_status;
mod bootstrap;
pub mod canonicalize;
pub mod clock;
pub mod controllers;
pub mod core_types;
pub mod custom;
pub mod custom_resources;
pub mod defaults;
pub mod demo_workloads;
pub mod fault;
pub mod http;
pub mod id_generator;
pub mod json_ext;
pub mod node_file;
pub mod object_file;
pub mod patch;
pub mod protobuf;
mod quantity;
pub mod resource;
pub mod schema;
pub mod select;
pub mod serve;
pub mod snapshot;
pub mod store;
pub mod table_columns;
pub mod token;
pub mod validate;
pub mod webhook_plugin;
pub mod world;

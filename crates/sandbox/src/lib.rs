//! Runs a cluster in one process: nodes, a scheduler and workload controllers on an API server in memory (`fakekube`),
//! with Taintward's kinds and admission rules.
//!
//! [`world::World`] holds the server and what lives on it. Taintward's own controllers are not part of it, nor is
//! anything that writes to a terminal (the command line).

pub mod controllers;
pub mod core_types;
pub mod custom_resources;
pub mod demo_workloads;
pub mod node_file;
pub mod snapshot;
pub mod webhook_plugin;
pub mod world;

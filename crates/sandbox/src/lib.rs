//! # Sandbox: a cluster in one process
//! Room:     what lives in a cluster, on an API server in memory (`fakekube`) with Taintward's kinds and rules.
//! Comes in: settings, files, time; a seed.
//! Goes out: [`world::World`]: the server, and the life in it.
//! Not here: the API server (`fakekube`); Taintward's own controllers; terminal output (the command line).

pub mod controllers;
pub mod core_types;
pub mod custom_resources;
pub mod demo_workloads;
pub mod node_file;
pub mod snapshot;
pub mod webhook_plugin;
pub mod world;

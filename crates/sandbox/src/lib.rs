//! # Sandbox: a cluster in one process
//! Room:     an API server in memory that kubectl can't tell from a real one, and what lives in a cluster.
//! Comes in: requests; time; a seed.
//! Goes out: answers, watches, a log of every commit.
//! Not here: Taintward's own controllers; terminal output (the command line).

pub mod api;
pub mod clock;
pub mod columns;
mod custom;
pub mod defaults;
pub mod facts;
pub mod failure;
pub mod fault;
pub mod file;
pub mod fleet;
pub mod http;
pub mod ids;
pub mod life;
pub mod normal;
pub mod parts;
pub mod patch;
pub mod protobuf;
pub mod quantity;
pub mod resource;
pub mod sample;
pub mod schema;
pub mod select;
pub mod serve;
pub mod snapshot;
pub mod standard;
pub mod store;
pub mod token;
pub mod validate;
pub mod world;

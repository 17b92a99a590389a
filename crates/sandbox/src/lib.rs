//! # Sandbox: a cluster in one process
//! Room:     an API server in memory that kubectl can't tell from a real one, and what lives in a cluster.
//! Comes in: requests; time; a seed.
//! Goes out: answers, watches, a log of every commit.
//! Not here: Taintward's own controllers; terminal output (the command line).

pub mod normal;
pub mod protobuf;
pub mod schema;

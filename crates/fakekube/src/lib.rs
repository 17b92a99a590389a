//! # Fakekube: a Kubernetes API server in memory
//! Room:     an API server in memory that kubectl can't tell from a real one.
//! Comes in: requests; time; a seed.
//! Goes out: answers, watches, a log of every commit.
//! Not here: what lives in a cluster.

pub mod api;
pub mod api_status;
mod bootstrap;
pub mod canonicalize;
pub mod clock;
pub mod custom;
pub mod defaults;
pub mod fault;
pub mod http;
pub mod id_generator;
pub mod json_ext;
pub mod object_file;
pub mod patch;
pub mod protobuf;
mod quantity;
pub mod resource;
pub mod schema;
pub mod select;
pub mod serve;
pub mod store;
pub mod table_columns;
pub mod token;
pub mod validate;

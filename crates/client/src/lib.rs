//! # taintward-client: TALK
//!
//! Everything that is said to and heard from a Kubernetes API server.
//!
//! Comes in: bytes of an API server; effects to carry out.
//! Goes out: facts for the core; results of effects; who leads.
//! Not here: any decision about a pod (taintward-core); when to act (taintward-controller).
#![forbid(unsafe_code)]

pub mod act;
pub mod clock;
pub mod connect;
pub mod decode;
pub mod event;
pub mod lease;
pub mod listen;
pub mod nodes;
pub mod objects;
pub mod pages;
pub mod pools;
pub mod readers;
pub mod snapshot;
pub mod webhooks;

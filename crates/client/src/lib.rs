//! # taintward-client: TRANSLATE and TALK
//!
//! Everything that goes to or comes from a Kubernetes API server: facts in, requests out.
//!
//! Comes in: bytes of an API server; requests the core decided for.
//! Goes out: facts and results in the core's words.
//! Not here: any decision; metrics and health; what is printed.
#![forbid(unsafe_code)]

pub mod act;
pub mod clock;
pub mod connect;
pub mod event;
pub mod lease;

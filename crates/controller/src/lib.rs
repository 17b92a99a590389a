//! # taintward-controller: TOUCH
//!
//! The loop around the core: facts in, effects out, time, metrics, health.

pub mod admin;
pub mod logging;
pub mod metrics;
pub mod run;
pub mod settings;
pub mod shutdown;

//! Tests the node lifecycle engine with simulated kubelets, API server and time.

#![allow(unreachable_pub, reason = "modules of one test crate")]

mod disruption;
mod exhaustive;
mod fuzz;
mod gaps;
mod input;
mod judge;
mod observer;
mod properties;
mod restarts;
mod silent_on_purpose;
mod timeline;
mod turns;
mod world;

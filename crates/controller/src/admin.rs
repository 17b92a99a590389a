//! # Admin: what a probe, a scraper or a person with curl asks
//! Room:     the signs of life of the loops; the ports they are shown on are those of taintward-server.
//! Comes in: a beat of each loop.
//! Goes out: checks.
//! Not here: serving `/metrics`, `/healthz`, `/livez`, `/readyz` (taintward-server).

mod liveness;

pub use liveness::LoopHeartbeat;
pub use taintward_server::admin::{Admin, AdminListener, Check, ListenError, Look, Scope};

#[cfg(test)]
mod tests;

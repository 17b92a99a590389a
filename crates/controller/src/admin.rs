//! # Admin: what a probe, a scraper or a person with curl asks
//! Room:     the signs of life of the loops; the ports they are shown on are those of taintward-serve.
//! Comes in: a beat of each loop.
//! Goes out: checks.
//! Not here: serving `/metrics`, `/healthz`, `/livez`, `/readyz` (taintward-serve).

mod heartbeat;

pub use heartbeat::Heartbeat;
pub use taintward_serve::admin::{Admin, Check, ListenError, Listening, Look, Scope};

#[cfg(test)]
mod tests;

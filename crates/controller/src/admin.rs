//! Provides the health checks of the control loops for the admin ports of taintward-server.

mod liveness;

pub use liveness::LoopHeartbeat;
pub use taintward_server::admin::{Admin, AdminListener, Check, CheckFn, ListenError, RecordFn, Scope};

#[cfg(test)]
mod tests;

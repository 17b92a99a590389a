//! Serves `/metrics`, `/record`, `/healthz`, `/livez` and `/readyz` over HTTP or TLS.
//!
//! - Invariant: connections are bounded in number, time and bytes; a request body is never read.

mod access;
mod listen;
mod reloading_tls;
mod response;

pub use crate::certificate::CertificateError;
pub use access::{AccessCheck, AccessDecision, AccessDenied};
pub use listen::{AdminListener, ListenError, bind};
pub use response::{AdminResponse, respond};

use crate::metrics::Render;
use std::fmt;
use std::sync::Arc;

/// Which endpoints a [`Check`] belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// `/readyz` only: facts are missing or old, and waiting may help.
    Ready,
    /// `/livez` and `/healthz` as well: a loop is stuck, and only a restart helps.
    Live,
}

/// Performs the check: success, or the reason why not.
pub type CheckFn = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

/// One named check.
pub struct Check {
    /// Its name in `/readyz/<name>` and in the verbose response.
    pub name: &'static str,
    /// Which endpoints it belongs to.
    pub scope: Scope,
    /// The check itself.
    pub run: CheckFn,
}

impl Check {
    /// Makes a check.
    pub fn new(
        name: &'static str,
        scope: Scope,
        run: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { name, scope, run: Box::new(run) }
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({:?})", self.name, self.scope)
    }
}

/// Returns a record, as a file.
pub type RecordFn = Box<dyn Fn() -> Vec<u8> + Send + Sync>;

/// The data of all responses.
pub struct Admin {
    /// The metrics of `/metrics`.
    pub metrics: Arc<dyn Render>,
    /// The record of `/record`; `None`: there is no such path.
    pub record: Option<RecordFn>,
    /// The checks of the health paths, in their order.
    pub checks: Vec<Check>,
}

#[cfg(test)]
mod tests;

//! Lists all dashboards.

mod admission_webhook;
mod evictions;
mod node_lifecycle;
mod overview;

use super::dashboard::Dashboard;

/// All dashboards.
pub(crate) fn all() -> [Dashboard; 4] {
    [
        overview::dashboard(),
        evictions::dashboard(),
        node_lifecycle::dashboard(),
        admission_webhook::dashboard(),
    ]
}

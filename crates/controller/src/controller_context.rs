//! Holds what every controller works with: the API server, the clock, the permission to write, metrics.

use crate::metrics::ControllerMetrics;
use crate::settings::WriteMode;
use crate::write_permission::WritePermission;
use std::sync::Arc;
use taintward_kube::api::ApiClient;
use taintward_kube::clock::Clock;

/// What every controller works with.
pub(crate) struct ControllerContext {
    pub(crate) api: ApiClient,
    pub(crate) clock: Clock,
    pub(crate) permission: WritePermission,
    pub(crate) mode: WriteMode,
    pub(crate) metrics: Arc<ControllerMetrics>,
}

impl ControllerContext {
    /// Whether a request may be sent now.
    pub(crate) fn may_write(&self) -> bool {
        self.permission.is_given(self.clock.now().mono, self.api.longest_request())
    }
}

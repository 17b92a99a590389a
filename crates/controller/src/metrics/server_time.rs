//! Shows the offset of this machine's clock from the API server's.

use super::names;
use prometheus_client::metrics::gauge::Gauge;
use std::sync::atomic::AtomicU64;
use taintward_kube::clock::ClockOffset;
use taintward_server::metrics::MetricsRegistry;

/// The group.
#[derive(Clone, Debug)]
pub struct ServerTimeMetrics {
    offset: Gauge<f64, AtomicU64>,
    uncertainty: Gauge<f64, AtomicU64>,
    is_known: Gauge,
}

impl ServerTimeMetrics {
    pub(super) fn new(registry: &mut MetricsRegistry<'_>) -> Self {
        Self {
            offset: registry.seconds(
                names::CLOCK_OFFSET,
                "How far this machine's clock is ahead of the API server's, by the dates of its responses; \
                 below 0: behind. Countdowns use the server's clock; 0 while it is unknown",
                Gauge::default(),
            ),
            uncertainty: registry.seconds(
                names::CLOCK_UNCERTAINTY,
                "How far taintward_clock_offset_seconds may be wrong, either way; 0 while it is not known",
                Gauge::default(),
            ),
            is_known: registry.gauge(
                names::CLOCK_OFFSET_KNOWN,
                "1 while the API server's time is known; while it is not, taints and pods that are found in a list count \
                 from when they were found",
            ),
        }
    }

    /// What is known now.
    pub fn is(&self, offset: Option<ClockOffset>) {
        self.is_known.set(i64::from(offset.is_some()));
        let (ahead, uncertainty) =
            offset.map_or((0.0, 0.0), |offset| (offset.ahead_secs_f64(), offset.uncertainty.as_secs_f64()));
        self.offset.set(ahead);
        self.uncertainty.set(uncertainty);
    }
}

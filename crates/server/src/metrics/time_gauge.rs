//! Exposes a time as seconds since or until now, computed when the metric is read.
//!
//! - Invariant: the value is right even if the loop that sets the time hangs.

use super::MonoClock;
use prometheus_client::encoding::{EncodeMetric, MetricEncoder};
use prometheus_client::metrics::MetricType;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use taintward_core::time::Mono;

/// The direction of a [`TimeGauge`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeDirection {
    /// Seconds since the time; never negative.
    Since,
    /// Seconds until the time; negative once it has passed.
    Until,
}

/// A gauge of the interval between a time and now; 0 if there is no time.
#[derive(Clone)]
pub struct TimeGauge {
    direction: TimeDirection,
    at: Arc<Mutex<Option<Mono>>>,
    clock: MonoClock,
}

impl TimeGauge {
    pub(super) fn new(direction: TimeDirection, clock: MonoClock) -> Self {
        Self { direction, at: Arc::default(), clock }
    }

    /// Sets the time; `None` removes it.
    pub fn set(&self, at: Option<Mono>) {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }

    /// The value of the gauge.
    pub fn seconds(&self) -> f64 {
        let Some(at) = *self.at.lock().unwrap_or_else(PoisonError::into_inner) else {
            return 0.0;
        };
        let now = (self.clock)();
        match self.direction {
            TimeDirection::Since => now.since(at).as_secs_f64(),
            TimeDirection::Until if at >= now => at.since(now).as_secs_f64(),
            TimeDirection::Until => -now.since(at).as_secs_f64(),
        }
    }
}

impl fmt::Debug for TimeGauge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {} s", self.direction, self.seconds())
    }
}

impl EncodeMetric for TimeGauge {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> fmt::Result {
        encoder.encode_gauge(&self.seconds())
    }

    fn metric_type(&self) -> MetricType {
        MetricType::Gauge
    }
}

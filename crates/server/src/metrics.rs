//! Registers metrics and renders them for Prometheus.
//!
//! - Invariant: every series exists from the start, at zero, and labels have closed lists of values.

mod cached_page;
mod exposition;
mod labels;
mod metric_names;
mod process;
mod registry;
mod time_gauge;

pub use cached_page::CachedPage;
pub use exposition::{Exposition, MetricDescription, describe};
pub use labels::ClosedLabel;
pub use process::ProcessCollector;
pub use prometheus_client::encoding::{EncodeLabel, EncodeLabelSet, LabelSetEncoder};
pub use prometheus_client::registry::Registry;
pub use registry::{ByLabel, MetricsRegistry, TimeGauges};
pub use time_gauge::{TimeDirection, TimeGauge};

use std::sync::Arc;
use taintward_core::time::Mono;

/// Reads the monotonic clock of all times in the metrics.
pub type MonoClock = Arc<dyn Fn() -> Mono + Send + Sync>;

/// A source of `/metrics`.
pub trait Render: std::fmt::Debug + Send + Sync {
    /// Renders the text in this format.
    fn render(&self, exposition: Exposition) -> String;
}

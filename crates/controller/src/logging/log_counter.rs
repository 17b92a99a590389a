//! Counts the shown log records by level, for the whole process.

use crate::metrics::{ByLabel, LogLevel};
use prometheus_client::metrics::counter::Counter;
use std::sync::LazyLock;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Records shown so far.
pub(crate) static COUNTS: LazyLock<ByLabel<LogLevel, Counter>> = LazyLock::new(ByLabel::counters);

/// Counts.
pub(super) struct LogCounter;

impl<S: Subscriber> Layer<S> for LogCounter {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = match *event.metadata().level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warning,
            _ => LogLevel::Info,
        };
        COUNTS.of(level).inc();
    }
}

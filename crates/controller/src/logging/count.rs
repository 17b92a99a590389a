//! # Count: how many records were shown
//! Room:     one counter for each level, for the whole process: there is one log, and it begins before any metrics.
//! Comes in: records that are shown.
//! Goes out: [`COUNTS`].
//! Not here: the lines (`line.rs`).

use crate::metrics::{By, LogLevel};
use prometheus_client::metrics::counter::Counter;
use std::sync::LazyLock;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Records shown so far.
pub(crate) static COUNTS: LazyLock<By<LogLevel, Counter>> = LazyLock::new(By::counters);

/// Counts.
pub(super) struct Count;

impl<S: Subscriber> Layer<S> for Count {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = match *event.metadata().level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warning,
            _ => LogLevel::Info,
        };
        COUNTS.of(level).inc();
    }
}

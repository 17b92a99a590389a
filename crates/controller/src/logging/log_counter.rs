//! Counts the shown log records by level, for the whole process.

use crate::metrics::{LOG_MESSAGES, LogLevel};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// Counts log records.
pub(super) struct LogCounter;

impl<S: Subscriber> Layer<S> for LogCounter {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        let level = match *event.metadata().level() {
            Level::ERROR => LogLevel::Error,
            Level::WARN => LogLevel::Warning,
            _ => LogLevel::Info,
        };
        LOG_MESSAGES.of(level).inc();
    }
}

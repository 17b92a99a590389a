//! Tests that exactly the shown log records are counted, in a process of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::sync::Arc;
use taintward_controller::logging::{LogFormat, LogSettings, subscriber};
use taintward_controller::metrics::{BuildInfo, ControllerMetrics, Exposition};
use taintward_core::time::{Mono, Wall};

#[test]
fn records_are_counted_by_level_as_far_as_they_are_shown() {
    let logging = LogSettings { format: LogFormat::Text, verbosity: 0 };
    let log = subscriber(logging, std::io::sink, jiff::Timestamp::now);
    tracing::subscriber::with_default(log, || {
        tracing::info!(target: "taintward", "one");
        for _ in 0..2 {
            tracing::warn!("two");
        }
        tracing::error!("three");
        tracing::debug!(target: "taintward", "not shown");
    });
    let (version, mode, started) = ("1", "enforce", Wall::from_secs(0));
    let about = BuildInfo { version, mode, lease: String::new(), started, host: String::new() };
    let metrics = ControllerMetrics::new(Arc::new(|| Mono::from_secs(0)), &about);
    let text = metrics.render(Exposition::Prometheus);
    for line in ["{level=\"info\"} 1", "{level=\"warning\"} 2", "{level=\"error\"} 1"] {
        assert!(text.contains(&format!("taintward_log_messages_total{line}\n")), "{line} in\n{text}");
    }
}

//! Collects the `process_*` metrics from the kernel.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;
use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};
use std::fmt;
use taintward_core::time::Wall;

/// Reads the values at each scrape.
#[derive(Debug)]
pub struct ProcessCollector {
    /// When it started.
    pub started: Wall,
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let cpu = clock_gettime(ClockId::ProcessCPUTime);
        let cpu_seconds = cpu.tv_sec as f64 + cpu.tv_nsec as f64 / 1e9;
        let counter = ConstCounter::new(cpu_seconds);
        let about = "User and system CPU time spent";
        let metric =
            encoder.encode_descriptor("process_cpu", about, Some(&Unit::Seconds), counter.metric_type())?;
        counter.encode(metric)?;

        let started = self.started.as_micros() as f64 / 1e6;
        gauge(
            &mut encoder,
            "process_start_time",
            "Start time, since the Unix epoch",
            Some(&Unit::Seconds),
            started,
        )?;

        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let memory = [
            ("process_resident_memory", "Resident memory size", "VmRSS:"),
            ("process_virtual_memory", "Virtual memory size", "VmSize:"),
        ];
        for (name, help, key) in memory {
            if let Some(kibibytes) = status_kibibytes(&status, key) {
                gauge(&mut encoder, name, help, Some(&Unit::Bytes), kibibytes * 1024.0)?;
            }
        }
        if let Ok(open) = std::fs::read_dir("/proc/self/fd") {
            // Reading the directory opens one more, which is closed again.
            let count = open.count().saturating_sub(1);
            gauge(&mut encoder, "process_open_fds", "Open file descriptors", None, count as f64)?;
        }
        if let Some(limit) = getrlimit(Resource::Nofile).current {
            gauge(
                &mut encoder,
                "process_max_fds",
                "Most file descriptors that may be open",
                None,
                limit as f64,
            )?;
        }
        Ok(())
    }
}

fn gauge(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    unit: Option<&Unit>,
    value: f64,
) -> fmt::Result {
    let gauge = ConstGauge::new(value);
    gauge.encode(encoder.encode_descriptor(name, help, unit, gauge.metric_type())?)
}

/// A line such as `VmRSS:     1234 kB` of `/proc/self/status`.
fn status_kibibytes(status: &str, key: &str) -> Option<f64> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_from_the_kernels_table() {
        let status = "Name:\ttaintward\nVmSize:\t   20480 kB\nVmRSS:\t    4096 kB\n";
        assert_eq!(status_kibibytes(status, "VmRSS:"), Some(4096.0));
        assert_eq!(status_kibibytes(status, "VmSize:"), Some(20480.0));
        assert_eq!(status_kibibytes("VmRSS:\tmany kB", "VmRSS:"), None);
        assert_eq!(status_kibibytes("", "VmRSS:"), None);
    }
}

//! Reads the memory and processor time of a process from Linux.

use anyhow::{Context as _, Result};
use std::fs::read_to_string;
use std::time::Duration;

/// Linux reports processor time to programs in hundredths of a second on every architecture.
const TICK: Duration = Duration::from_millis(10);

/// One reading.
#[derive(Clone, Copy, Debug)]
pub struct ProcessUsage {
    /// Resident memory, in bytes.
    pub resident: u64,
    /// The highest resident memory so far, in bytes.
    pub peak: u64,
    /// Processor time so far, user and system together.
    pub cpu: Duration,
}

/// Reads the usage of process `pid`.
pub fn of(pid: u32) -> Result<ProcessUsage> {
    let status = read_to_string(format!("/proc/{pid}/status")).context("the process is gone")?;
    let stat = read_to_string(format!("/proc/{pid}/stat")).context("the process is gone")?;
    Ok(ProcessUsage {
        resident: kibibytes(&status, "VmRSS:")?,
        peak: kibibytes(&status, "VmHWM:")?,
        cpu: cpu(&stat).context("unexpected form of /proc/…/stat")?,
    })
}

fn kibibytes(status: &str, label: &str) -> Result<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix(label));
    let number =
        line.and_then(|rest| rest.split_whitespace().next()).and_then(|number| number.parse::<u64>().ok());
    Ok(1024 * number.with_context(|| format!("no {label} in /proc/…/status"))?)
}

/// Reads fields 14 and 15. The name in field 2 may contain anything, so counting starts after its closing parenthesis.
fn cpu(stat: &str) -> Option<Duration> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<u32>().ok()?.checked_add(fields.next()?.parse().ok()?)?;
    Some(TICK * ticks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_right_fields() {
        let stat = "42 (a ) b) S 1 42 42 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 8 0 12345 1000 200";
        assert_eq!(cpu(stat), Some(Duration::from_secs(3)));
        assert_eq!(cpu("42 (a"), None);
        assert_eq!(kibibytes("VmHWM:\t  8 kB\nVmRSS:\t  4 kB\n", "VmRSS:").unwrap(), 4096);
        assert!(kibibytes("VmHWM:\t 8 kB\n", "VmRSS:").is_err());
    }

    #[test]
    fn reads_itself() {
        let usage = of(std::process::id()).unwrap();
        assert!(usage.resident > 100_000 && usage.peak >= usage.resident, "{usage:?}");
    }
}

//! Alerts of what a process knows from the API server: watches and time.

use super::super::alert::{Alert, PROCESS, Runbook, Severity, max, opened_watches, seconds};
use taintward_controller::metrics::names;

pub(super) fn alerts() -> Vec<Alert> {
    vec![watch_stale(), clock_offset()]
}

fn watch_stale() -> Alert {
    let (age, opened) = (seconds(names::WATCH_LAST_HEARD_AGE), opened_watches());
    Alert {
        name: "TaintwardWatchStale",
        severity: Severity::Critical,
        hold_seconds: 60,
        expr: format!("{age} > 180 and on ({PROCESS}, resource) {opened}"),
        summary: "A watch has heard nothing from the API server for minutes.",
        description: "{{ $labels.instance }} has heard nothing about {{ $labels.resource }} for {{ $value | humanizeDuration }}.",
        runbook: Runbook {
            meaning: "The API server sends bookmarks about once a minute, even where nothing changes. A process that has heard nothing \
                      for three minutes has lost its stream, or cannot open one.",
            impact: "The process does not learn of new taints, new tolerations or recovered nodes. A pod is still not deleted \
                     without a live read of its node.",
            diagnosis: "- `taintward_watch_phase` shows where the stream is, `taintward_watch_restarts_total` by `reason` why it was \
                        taken up again.\n\
                        - `/readyz?verbose` of the process names the watch and the reason.",
            action: "Repair what the reason names: the API server, a proxy that holds bytes back, or a permission (`forbidden`). The \
                     process opens the stream again by itself.",
            silence: "During an outage of the API server that people work on already.",
        },
    }
}

fn clock_offset() -> Alert {
    let (offset, uncertainty) = (seconds(names::CLOCK_OFFSET), seconds(names::CLOCK_UNCERTAINTY));
    Alert {
        name: "TaintwardClockOffset",
        severity: Severity::Warning,
        hold_seconds: 600,
        expr: format!("{} > 5", max(&format!("abs({offset}) - {uncertainty}"))),
        summary: "The clock of a process differs from the API server's.",
        description: "The clocks differ by at least {{ $value | humanizeDuration }} (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The clock of the machine that Taintward runs on is ahead of or behind the API server's clock by more than 5 s, \
                      after the uncertainty of the measurement is taken off.",
            impact: "None on evictions: countdowns go by the API server's clock. Times in the log are wrong by the offset, and other \
                     components compare the two clocks: certificates, tokens, leases of kubelets.",
            diagnosis: "- `taintward_clock_offset_seconds` above 0: the process is ahead, below 0: behind.\n\
                        - One instance is off: its machine. All are off by the same: the API server's machine.",
            action: "Repair time synchronisation (chrony, systemd-timesyncd) on the machine that is off.",
            silence: "While time synchronisation corrects the clock slowly.",
        },
    }
}

//! Alerts about what a process receives from the API server: watches and time.

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
        summary: "A watch has received nothing from the API server for three minutes.",
        description: "{{ $labels.instance }} has received nothing about {{ $labels.resource }} for {{ $value | humanizeDuration }}.",
        runbook: Runbook {
            meaning: "The API server sends a bookmark on each watch about once a minute, even if no object changes. A process that \
                      receives nothing for three minutes has lost its watch, or cannot open one.",
            impact: "The process does not observe new taints, new tolerations or recovered nodes. It still reads the node from the API \
                     server before it deletes a pod, so no pod is deleted because of a taint that is gone.",
            diagnosis: "- `taintward_watch_phase` shows the phase of each watch, and `taintward_watch_restarts_total` by `reason` why the \
                        process opened it again.\n\
                        - `/readyz?verbose` of the process names the watch and the reason.",
            action: "Repair what the reason names: the API server, a proxy that buffers responses, or a permission (`forbidden`). The \
                     process then opens the watch by itself.",
            silence: "During an outage of the API server that your team already works on.",
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
        summary: "The clock of a process differs from the API server's clock.",
        description: "The clocks differ by at least {{ $value | humanizeDuration }} (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The clock of the machine that Taintward runs on is more than 5 s ahead of the API server's clock, or behind it. The \
                      uncertainty of the measurement is already subtracted.",
            impact: "Evictions are not affected, because countdowns use the API server's clock. Times in Taintward's log are wrong by the \
                     offset. Other components compare the two clocks when they check certificates, tokens and leases of kubelets.",
            diagnosis: "- `taintward_clock_offset_seconds`: above 0, the process is ahead; below 0, it is behind.\n\
                        - If one instance differs, the clock of its machine is wrong. If all instances differ by the same offset, the clock \
                        of the API server's machine is wrong.",
            action: "Repair time synchronization (chrony, systemd-timesyncd) on the machine whose clock is wrong.",
            silence: "While time synchronization slowly corrects the clock.",
        },
    }
}

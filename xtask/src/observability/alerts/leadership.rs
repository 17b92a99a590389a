//! Alerts about how many processes evict: none, or more than one.

use super::super::alert::{Alert, PROCESS, Runbook, Severity, rise, total};
use taintward_controller::metrics::names;
use taintward_controller::settings::WriteMode;

pub(super) fn alerts() -> Vec<Alert> {
    vec![absent(), no_leader(), two_leaders(), other_evictor()]
}

/// The leaders of an installation. An observer never leads, and other components export the metric too. The sample of a
/// process without leader election has no label `name`.
fn leaders() -> String {
    let (status, about, enforce) =
        (names::LEADER_ELECTION_MASTER_STATUS, names::BUILD_INFO, WriteMode::Enforce.as_str());
    format!("sum by (cluster, namespace, job) ({status} and on ({PROCESS}) {about}{{mode=\"{enforce}\"}})")
}

fn absent() -> Alert {
    let modes = [WriteMode::Enforce, WriteMode::Observe].map(WriteMode::as_str).join("|");
    Alert {
        name: "TaintwardControllerAbsent",
        severity: Severity::Critical,
        hold_seconds: 300,
        expr: format!("absent({}{{mode=~\"{modes}\"}})", names::BUILD_INFO),
        summary: "Prometheus scrapes no process of taintward run.",
        description: "Prometheus has scraped no process of taintward run for five minutes.",
        runbook: Runbook {
            meaning: "No replica of `taintward run` answers Prometheus: no replica runs, or Prometheus cannot reach the replicas.",
            impact: "If no replica runs, no pod is evicted, and if Taintward also runs node lifecycle, no node gets a NoExecute taint. \
                     Countdowns are not lost: the next process computes them again from the objects.",
            diagnosis: "- `kubectl --namespace taintward-system get pods` shows whether replicas run.\n\
                        - `kubectl --namespace taintward-system logs deployment/taintward --previous` shows in its last \
                        lines why the process stopped, and what to do.\n\
                        - If replicas run, the targets page of Prometheus shows why it cannot scrape them. A NetworkPolicy admits only \
                        namespaces with the label `taintward.io/metrics=allowed`. [metrics.md](../metrics.md) says which clients \
                        may read metrics.",
            action: "Start the replicas again, or repair the scraping. If Taintward will be down for long, switch the taint \
                     eviction of kube-controller-manager on again ([switch-off.md](../switch-off.md) says how).",
            silence: "If only the webhook is installed, remove this rule instead.",
        },
    }
}

fn no_leader() -> Alert {
    Alert {
        name: "TaintwardNoLeader",
        severity: Severity::Critical,
        hold_seconds: 60,
        expr: format!("{} == 0", leaders()),
        summary: "Taintward runs, and no replica is the leader.",
        description: "No replica holds the lease (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "Replicas answer Prometheus, and none of them is the leader. Only the leader, which holds the lease, writes.",
            impact: "Until a replica is the leader, no pod is evicted and no node gets a NoExecute taint.",
            diagnosis: "- `kubectl --namespace taintward-system get lease taintward -o yaml` shows the holder and `renewTime`. If the \
                        holder is not a replica of this Deployment, it is another installation.\n\
                        - `rest_client_requests_total` by `code` shows whether writes of the lease fail.\n\
                        - `/readyz?verbose` of a replica says whether the lease can be read and written.",
            action: "Stop the other installation, or repair the permission (`taintward doctor` names it) or the API server. When a lease \
                     is not renewed within its duration, another replica acquires it.",
            silence: "Do not silence this alert while Taintward evicts.",
        },
    }
}

fn two_leaders() -> Alert {
    Alert {
        name: "TaintwardTwoLeaders",
        severity: Severity::Critical,
        hold_seconds: 60,
        expr: format!("{} > 1", leaders()),
        summary: "More than one replica of Taintward is the leader.",
        description: "{{ $value }} processes are leaders (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "More than one process reports that it is the leader. Either several replicas run with `--leader-elect=false`, or a \
                      replica acts although its lease has expired.",
            impact: "No pod is evicted too early, because the deadlines do not depend on the lease. The API server receives the same \
                     requests twice, and nodes may get NoExecute taints at twice the configured rate.",
            diagnosis: "- `kubectl --namespace taintward-system get pods -o yaml` shows the flags of the replicas.\n\
                        - `taintward_lease_margin_seconds` below 0: the replica acts after its lease has expired. This is a bug of \
                        Taintward; report it.",
            action: "Remove `--leader-elect=false`, or run only one replica. Restart a replica whose margin is below 0.",
            silence: "Do not silence this alert.",
        },
    }
}

fn other_evictor() -> Alert {
    let signs = rise("sign", &total(names::OTHER_CONTROLLER_SEEN), "10m");
    Alert {
        name: "TaintwardOtherEvictor",
        severity: Severity::Critical,
        hold_seconds: 60,
        expr: format!("{signs} > 0"),
        summary: "Another controller evicts pods alongside Taintward.",
        description: "Signs of another taint eviction controller: {{ $labels.sign }}, about {{ $value | humanize }} in ten minutes (job \
                      {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "A client other than Taintward set the eviction condition on pods, or deleted pods, as a taint eviction controller \
                      does. In most cases kube-controller-manager's taint eviction is still on, or an upgrade switched it on.",
            impact: "Each pod is evicted by the controller that has the earlier deadline for it. The other controller also evicts pods whose countdown \
                     Taintward has stopped on purpose.",
            diagnosis: "- `taintward doctor` reads `--controllers` of every kube-controller-manager and names the other controller \
                        that evicts.\n\
                        - The log of the leader names one of the pods.",
            action: "Switch the taint eviction of kube-controller-manager off: [switch-off.md](../switch-off.md) says how on each \
                     distribution. If you cannot, use holds and the guard, which work alongside it \
                     ([managed-clusters.md](../managed-clusters.md)).",
            silence: "While both evict on purpose: during a switch, until step 4 of \
                      [replace.md](../start/replace.md#3-enforce-alongside-the-built-in-controller) is done, for hours or days; with \
                      `--mode=observe`; or with the guard on a managed cluster.",
        },
    }
}

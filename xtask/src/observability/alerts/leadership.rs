//! Alerts of how many processes evict: none, or more than one.

use super::super::alert::{Alert, PROCESS, Runbook, Severity, rise, total};
use taintward_controller::metrics::names;
use taintward_controller::settings::WriteMode;

pub(super) fn alerts() -> Vec<Alert> {
    vec![absent(), no_leader(), two_leaders(), other_evictor()]
}

fn mode(mode: WriteMode) -> &'static str {
    mode.as_str()
}

/// The leaders of an installation. An observer never leads, and other components export the metric too. A process without
/// election has no label `name`.
fn leaders() -> String {
    let (status, about, enforce) =
        (names::LEADER_ELECTION_MASTER_STATUS, names::BUILD_INFO, mode(WriteMode::Enforce));
    format!("sum by (cluster, namespace, job) ({status} and on ({PROCESS}) {about}{{mode=\"{enforce}\"}})")
}

fn absent() -> Alert {
    let modes = [WriteMode::Enforce, WriteMode::Observe].map(mode).join("|");
    Alert {
        name: "TaintwardControllerAbsent",
        severity: Severity::Critical,
        hold_seconds: 300,
        expr: format!("absent({}{{mode=~\"{modes}\"}})", names::BUILD_INFO),
        summary: "Prometheus sees no process of taintward run.",
        description: "No process of taintward run has been scraped for five minutes.",
        runbook: Runbook {
            meaning: "No replica of `taintward run` answers the scrapes of Prometheus: none runs, or Prometheus cannot reach them.",
            impact: "If none runs, no pod leaves a tainted node, and no node is tainted where Taintward does that too. \
                     Countdowns are not lost: the next process computes them from the objects again.",
            diagnosis: "- `kubectl --namespace taintward-system get pods` shows whether replicas run.\n\
                        - `kubectl --namespace taintward-system logs deployment/taintward --previous` ends with the reason of a stop, \
                        and what to do about it.\n\
                        - Replicas run: the targets page of Prometheus shows why it cannot scrape them. A NetworkPolicy lets in only \
                        namespaces labelled `taintward.io/metrics=allowed`; [metrics.md](../metrics.md) tells who may read.",
            action: "Start the replicas again, or repair the scraping. If Taintward cannot run for long, let \
                     kube-controller-manager evict again ([switch-off.md](../switch-off.md) has the way back).",
            silence: "Where only the webhook is installed: remove this rule.",
        },
    }
}

fn no_leader() -> Alert {
    Alert {
        name: "TaintwardNoLeader",
        severity: Severity::Critical,
        hold_seconds: 60,
        expr: format!("{} == 0", leaders()),
        summary: "Taintward runs, and no replica leads.",
        description: "No replica holds the lease (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "Replicas answer the scrapes of Prometheus, and each of them follows. Only the holder of the lease writes.",
            impact: "No pod is evicted and no node is tainted until a replica leads.",
            diagnosis: "- `kubectl --namespace taintward-system get lease taintward -o yaml` shows the holder and `renewTime`. A holder \
                        that is no replica of this Deployment is another installation.\n\
                        - `rest_client_requests_total` by `code` shows whether writes of the lease fail.\n\
                        - `/readyz?verbose` of a replica says whether the lease can be read and written.",
            action: "Stop the other installation, or repair the permission (`taintward doctor`) or the API server. A replica takes a \
                     lease that is not renewed within the lease's duration.",
            silence: "Never while Taintward is to evict.",
        },
    }
}

fn two_leaders() -> Alert {
    Alert {
        name: "TaintwardTwoLeaders",
        severity: Severity::Critical,
        hold_seconds: 60,
        expr: format!("{} > 1", leaders()),
        summary: "More than one replica of Taintward leads.",
        description: "{{ $value }} processes lead (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "More than one process says that it may write. Either replicas run with `--leader-elect=false`, or one of them has \
                      not noticed that its lease ended.",
            impact: "Pods are not evicted too early: correctness of evictions does not depend on the lease. The API server gets the \
                     same requests twice, and nodes may be tainted at twice the rate.",
            diagnosis: "- `kubectl --namespace taintward-system get pods -o yaml` shows the flags of the replicas.\n\
                        - `taintward_lease_margin_seconds` below 0 is a replica that acts after its lease: a fault, please report it.",
            action: "Remove `--leader-elect=false`, or run one replica. Restart a replica whose margin is below 0.",
            silence: "Never.",
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
        summary: "Another controller evicts pods beside Taintward.",
        description: "Signs of another taint eviction controller: {{ $labels.sign }}, about {{ $value | humanize }} in ten minutes (job \
                      {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "Pods got a condition, or were deleted, in the way of a taint eviction controller, and Taintward did not do it. As \
                      a rule kube-controller-manager's own taint eviction is still on, or was switched on by an upgrade.",
            impact: "Pods leave as the quicker of the two decides. What Taintward holds back on purpose leaves all the same.",
            diagnosis: "- `taintward doctor` reads `--controllers` of every kube-controller-manager and names the second evictor.\n\
                        - The log of the leader names one of the pods.",
            action: "Switch the original off as [switch-off.md](../switch-off.md) has it for the distribution. Where that is not \
                     possible, use the guard and holds, which work beside it ([managed-clusters.md](../managed-clusters.md)).",
            silence: "While both run on purpose: with `--mode=observe`, or with the guard on a managed cluster.",
        },
    }
}

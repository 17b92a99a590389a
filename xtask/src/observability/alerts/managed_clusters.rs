//! Alerts about holds and the guard, which work alongside kube-controller-manager's own eviction.

use super::super::alert::{Alert, Runbook, Severity, max, seconds};
use taintward_controller::metrics::names;

pub(super) fn alerts() -> Vec<Alert> {
    vec![held(), ceiling_near(), ceiling_missing()]
}

fn held() -> Alert {
    Alert {
        name: "TaintwardPodsHeld",
        severity: Severity::Warning,
        hold_seconds: 300,
        expr: format!("{} > 0", max(names::HOLD_PODS)),
        summary: "Holds have stopped the countdowns of pods.",
        description: "The countdowns of {{ $value }} pods are stopped (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "More nodes are silent than `--hold-limit` allows, or a person asked for a hold. The toleration-hold-controller has \
                      removed `tolerationSeconds` from the tolerations of these pods, which stops their countdowns.",
            impact: "Until the hold ends, the pods stay on their nodes, even if a node is dead.",
            diagnosis: "- `taintward_hold_limits_exceeded` above 0: the limit is the cause. 0: a person asked, with \
                        `taintward hold`.\n\
                        - `kubectl get nodes -L topology.kubernetes.io/zone` shows the nodes that are not ready, and whether they \
                        are in one zone.",
            action: "Find out why the nodes are silent. If the limit is no longer the cause, or the nodes are dead, resume the \
                     countdowns: `taintward release` with the names of the nodes ([managed-clusters.md](../managed-clusters.md)).",
            silence: "For as long as a person asked for the hold.",
        },
    }
}

/// No metric has the ceiling. With the guard on, only guarded pods are evicted, so the longest overdue pod is guarded.
fn ceiling_near() -> Alert {
    let overdue = max(&seconds(names::OLDEST_DUE_POD));
    Alert {
        name: "TaintwardGuardCeilingNear",
        severity: Severity::Critical,
        hold_seconds: 30,
        expr: format!("{overdue} > 300 and {} > 0", max(names::GUARD_PODS_GUARDED)),
        summary: "A guarded pod is overdue and approaches its ceiling.",
        description: "A guarded pod has been due for {{ $value | humanizeDuration }} (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The deadline of a guarded pod, by its own seconds, passed more than five minutes ago, and Taintward has not evicted \
                      it. At the ceiling of the namespace (an hour by default), kube-controller-manager evicts the pod. No metric \
                      has the ceiling, so the alert does not compare with it.",
            impact: "The pod stays on a silent node longer than its own `tolerationSeconds` allow.",
            diagnosis: "The same as for [TaintwardEvictionBacklog](TaintwardEvictionBacklog.md). `taintward guard status` shows the ceilings.",
            action: "The same as for [TaintwardEvictionBacklog](TaintwardEvictionBacklog.md).",
            silence: "Do not silence this alert while pods are guarded.",
        },
    }
}

fn ceiling_missing() -> Alert {
    Alert {
        name: "TaintwardGuardPending",
        severity: Severity::Warning,
        hold_seconds: 900,
        expr: format!("{} > 0", max(names::GUARD_PODS_PENDING)),
        summary: "Pods of guarded namespaces wait for their ceiling.",
        description: "{{ $value }} pods wait for the ceiling, or for their own seconds (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "For 15 minutes, running pods on healthy nodes have waited for the ceiling of their namespace, or for their own \
                      `tolerationSeconds`.",
            impact: "Whether Taintward runs or not, kube-controller-manager evicts a pod without the ceiling by the pod's own seconds.",
            diagnosis: "- `taintward guard status` shows how many pods wait (`PENDING`), and which pods no ceiling covers.\n\
                        - If `taintward_guard_pods_patched_total` does not rise, the log has the reason. If it rises, `--guard-qps` is \
                        the limit.",
            action: "Repair the permission to patch pods (`taintward doctor` shows it), or raise `--guard-qps`.",
            silence: "After you switch the guard on for namespaces with many thousand pods.",
        },
    }
}

//! Alerts of holds and the guard, which work beside kube-controller-manager's own eviction.

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
        summary: "Pods on silent nodes are held.",
        description: "{{ $value }} pods are held (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "More nodes are silent than `--hold-limit` allows, or a person asked for a hold. The `tolerationSeconds` of the pods \
                      were cleared, so that their countdowns stand still.",
            impact: "Held pods stay on silent nodes until the hold ends, those on nodes that are really dead too.",
            diagnosis: "- `taintward_hold_limits_exceeded` above 0: the limit is the cause. 0: a person asked, with `taintward hold`.\n\
                        - `kubectl get nodes` shows the silent nodes; their number by zone tells what they have in common.",
            action: "Find out why the nodes are silent. If the limit is not the cause any more, or the nodes are really dead, let \
                     countdowns go on: `taintward release` with the names of the nodes ([managed-clusters.md](../managed-clusters.md)).",
            silence: "For as long as a hold was asked for.",
        },
    }
}

/// No metric knows the ceiling. With the guard on, only guarded pods are evicted, so the longest overdue one is guarded.
fn ceiling_near() -> Alert {
    let overdue = max(&seconds(names::OLDEST_DUE_POD));
    Alert {
        name: "TaintwardGuardCeilingNear",
        severity: Severity::Critical,
        hold_seconds: 30,
        expr: format!("{overdue} > 300 and {} > 0", max(names::GUARD_PODS_GUARDED)),
        summary: "A guarded pod is overdue and comes near its ceiling.",
        description: "A guarded pod has been due for {{ $value | humanizeDuration }} (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "Taintward should have evicted a guarded pod by its own seconds five minutes ago and has not. At the ceiling of the \
                      namespace (an hour by default) kube-controller-manager evicts it. Metrics know no ceiling, so the alert does not \
                      compare with it.",
            impact: "The pod stays on a silent node longer than its workload wants.",
            diagnosis: "As for [TaintwardEvictionBacklog](TaintwardEvictionBacklog.md). `taintward guard status` shows the ceilings.",
            action: "As for [TaintwardEvictionBacklog](TaintwardEvictionBacklog.md).",
            silence: "Never while pods are guarded.",
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
            meaning: "For 15 minutes there have been running pods on healthy nodes that are to get the ceiling of their namespace, or \
                      their own `tolerationSeconds` back, and have not.",
            impact: "A pod without the ceiling is evicted by kube-controller-manager at its own seconds, with or without Taintward.",
            diagnosis: "- `taintward guard status` shows what no ceiling covers.\n\
                        - `taintward_guard_pods_patched_total` does not rise: the log has the reason. It rises: `--guard-qps` is the limit.",
            action: "Repair the permission to patch pods (`taintward doctor`), or raise `--guard-qps`.",
            silence: "After the guard is switched on for namespaces with many thousand pods.",
        },
    }
}

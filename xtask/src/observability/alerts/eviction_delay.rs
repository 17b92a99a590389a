//! Alerts about pods that are due for eviction and are not deleted.

use super::super::alert::{Alert, Runbook, Severity, max, rise, seconds, total};
use taintward_controller::metrics::{Effect, Outcome, names};

pub(super) fn alerts() -> Vec<Alert> {
    vec![backlog(), refused()]
}

fn backlog() -> Alert {
    Alert {
        name: "TaintwardEvictionBacklog",
        severity: Severity::Critical,
        hold_seconds: 30,
        expr: format!("{} > 60", max(&seconds(names::OLDEST_DUE_POD))),
        summary: "Pods are due for eviction and are not deleted.",
        description: "A pod has been due for {{ $value | humanizeDuration }} (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The deadline of at least one pod passed more than a minute ago, and the pod still exists. Taintward normally deletes \
                      such a pod within seconds, so something blocks the deletion.",
            impact: "The pod stays on a node that has a NoExecute taint. If the node is dead, the workload has one healthy pod fewer \
                     than it needs, and a StatefulSet does not recreate the pod.",
            diagnosis: "- `taintward pending -A` lists the pods that are due, the longest overdue first.\n\
                        - `taintward explain pod/NAME -n NAMESPACE` says what blocks the eviction of one pod.\n\
                        - `/readyz?verbose` of the leader: the check `evictions` fails if no read or write for due pods succeeds, and says why.\n\
                        - `taintward_retrying_pods` above 0: the API server refuses the requests, or does not answer. The label `outcome` of \
                        `taintward_effects_total` shows which.\n\
                        - `leader_election_master_status` 0 on all replicas: no replica is the leader, and only the leader evicts \
                        ([TaintwardNoLeader](TaintwardNoLeader.md)).",
            action: "Repair what `taintward explain` names: an admission webhook that refuses deletions, a missing permission \
                     (`taintward doctor` names it), or an overloaded API server. Taintward retries by itself.",
            silence: "While Taintward only observes (`--mode=observe`), and the eviction of kube-controller-manager is known to be slow.",
        },
    }
}

/// No metric has the deadline of a pod. The wait is half of the 300 s that pods get from the API server by default.
fn refused() -> Alert {
    let effects = [Effect::Delete, Effect::EvictTrespasser].map(Effect::as_str).join("|");
    let outcomes = [Outcome::Forbidden, Outcome::Throttled, Outcome::Rejected].map(Outcome::as_str).join("|");
    let refusals = format!("{}{{effect=~\"{effects}\",outcome=~\"{outcomes}\"}}", total(names::EFFECTS));
    Alert {
        name: "TaintwardEvictionsRefused",
        severity: Severity::Warning,
        hold_seconds: 150,
        expr: format!("{} > 0", rise("effect, outcome", &refusals, "2m")),
        summary: "The API server has refused evictions for more than two minutes.",
        description: "The API server has answered requests of the kind {{ $labels.effect }} with the outcome {{ $labels.outcome }} \
                      for more than two minutes (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The API server has refused requests for 150 s, half of the 300 s that a pod stays on a silent node by default. The \
                      refusals may concern one pod or several. No metric has the deadlines of single pods, so the alert does \
                      not take them into account.",
            impact: "With `effect=\"delete\"`, pods stay on tainted nodes. With `effect=\"evict_trespasser\"`, pods that do not belong to a \
                     dedicated pool stay on its nodes.",
            diagnosis: "- `outcome=\"throttled\"` with `effect=\"evict_trespasser\"`: a PodDisruptionBudget allows no eviction. \
                        `kubectl get pdb -A` shows `ALLOWED DISRUPTIONS`.\n\
                        - `outcome=\"throttled\"` with `effect=\"delete\"`: the API server is overloaded.\n\
                        - `outcome=\"forbidden\"`: a permission is missing, or an admission plugin refuses. `taintward doctor` \
                        shows which.\n\
                        - `outcome=\"rejected\"`: an admission webhook refuses. The field `err` of the log has its message.",
            action: "Add a healthy pod to the workload of the PodDisruptionBudget, or repair the permission or the webhook. Taintward \
                     retries at least every 30 s.",
            silence: "While a PodDisruptionBudget protects a workload on purpose, for as long as the owner of the workload needs.",
        },
    }
}

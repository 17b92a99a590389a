//! Alerts of pods that have to leave and do not.

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
        summary: "Pods that have to leave their nodes are not deleted.",
        description: "A pod has been due for {{ $value | humanizeDuration }} (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The toleration of at least one pod ended more than a minute ago, and the pod still exists. Taintward deletes \
                      such a pod within seconds, so something holds the deletion up.",
            impact: "The pod stays on a node that is tainted NoExecute. If the node is dead, its workload has one healthy pod less \
                     than it wants, and a StatefulSet starts no replacement.",
            diagnosis: "- `taintward pending -A` lists the pods that are due, the longest first.\n\
                        - `taintward explain pod/NAME -n NAMESPACE` says what is in the way of one pod.\n\
                        - `taintward_retrying_pods` above 0: the API server refuses or does not answer. `taintward_effects_total` \
                        shows by `outcome` which.\n\
                        - `leader_election_master_status` 0 on all replicas: no replica may evict \
                        ([TaintwardNoLeader](TaintwardNoLeader.md)).",
            action: "Remove what `taintward explain` names: an admission webhook that refuses deletions, a permission that is \
                     missing (`taintward doctor`), an API server that is overloaded. Taintward tries again by itself.",
            silence: "Where the original evicts and Taintward only observes (`--mode=observe`), and the original is known to be slow.",
        },
    }
}

/// No metric knows the deadline of a pod. The wait is half of the 300 s that pods get from the API server by default.
fn refused() -> Alert {
    let effects = [Effect::Delete, Effect::EvictTrespasser].map(Effect::as_str).join("|");
    let outcomes = [Outcome::Forbidden, Outcome::Throttled, Outcome::Rejected].map(Outcome::as_str).join("|");
    let refusals = format!("{}{{effect=~\"{effects}\",outcome=~\"{outcomes}\"}}", total(names::EFFECTS));
    Alert {
        name: "TaintwardEvictionsRefused",
        severity: Severity::Warning,
        hold_seconds: 150,
        expr: format!("{} > 0", rise("effect, outcome", &refusals, "2m")),
        summary: "The API server has refused evictions for minutes.",
        description: "In every two minutes of the last two and a half, requests of the kind {{ $labels.effect }} ended as \
                      {{ $labels.outcome }} (job {{ $labels.job }} in {{ $labels.namespace }}).",
        runbook: Runbook {
            meaning: "The API server answers and says no, again and again, for half of the 300 s that a pod stays on a silent node \
                      by default. The refusals may concern one pod or several. Metrics know no deadline of a pod, so the \
                      alert does not compare with the real ones.",
            impact: "Pods stay on tainted nodes (`effect=\"delete\"`), or pods that do not belong to a dedicated pool stay on its \
                     nodes (`effect=\"evict_trespasser\"`).",
            diagnosis: "- `outcome=\"throttled\"` with `effect=\"evict_trespasser\"`: a PodDisruptionBudget allows no eviction. \
                        `kubectl get pdb -A` shows `ALLOWED DISRUPTIONS`.\n\
                        - `outcome=\"throttled\"` with `effect=\"delete\"`: the API server has too much to do.\n\
                        - `outcome=\"forbidden\"`: a permission is missing, or an admission plugin refuses. `taintward doctor` tells.\n\
                        - `outcome=\"rejected\"`: an admission webhook refuses. The log has its message, in `err`.",
            action: "Give the workload of the budget one healthy pod more, or repair the permission or the webhook. Taintward tries \
                     again every 30 s or sooner.",
            silence: "While a budget protects a workload on purpose, for as long as the owner of the workload needs.",
        },
    }
}

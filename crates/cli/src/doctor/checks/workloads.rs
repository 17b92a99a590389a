//! Checks nodes and workloads: heartbeat leases, taints that no pod tolerates, findings of `taintward lint`.

use super::DoctorScope;
use crate::doctor::LintCounts;
use crate::doctor::check::{CheckId, CheckVerdict, DoctorCheck, DoctorGroup};
use crate::doctor::facts::NamedCount;
use crate::messages::counted;
use std::collections::BTreeSet;
use taintward_core::taint::keys;

pub(super) fn checks(scope: &DoctorScope<'_>) -> Vec<DoctorCheck> {
    vec![node_leases(scope), taints(scope), lint(scope.lint)]
}

fn node_leases(scope: &DoctorScope<'_>) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::Workloads, "node-leases");
    let facts = scope.facts;
    for plural in ["nodes", "leases"] {
        if let Some(why) = facts.unread(plural) {
            return ID.unknown(format!("cannot read {plural}: {why}"));
        }
    }
    let without: NamedCount = facts
        .nodes
        .iter()
        .map(|node| node.name.as_str())
        .filter(|name| !facts.node_leases.contains(*name))
        .collect();
    match (without.count, facts.nodes.len()) {
        (0, all) => {
            ID.passed(format!("each node has a lease in kube-node-lease ({})", counted(all, "node")))
        }
        (count, all) => ID.warning(format!(
            "{count} of {all} nodes have no lease in kube-node-lease: {}; only their status shows their health, \
             and kubelets write it every 5 minutes while it does not change",
            without.names()
        ))
        .fix("check the kubelets of these nodes: run journalctl --unit kubelet, and search for \"lease\""),
    }
}

fn taints(scope: &DoctorScope<'_>) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::Workloads, "untolerated-taints");
    let facts = scope.facts;
    for plural in ["nodes", "pods"] {
        if let Some(why) = facts.unread(plural) {
            return ID.unknown(format!("cannot read {plural}: {why}"));
        }
    }
    let all: BTreeSet<_> = facts
        .nodes
        .iter()
        .flat_map(|node| &node.taints)
        .filter(|taint| taint.effect != "PreferNoSchedule" && !is_of_kubernetes(&taint.key))
        .collect();
    let untolerated: NamedCount = all
        .iter()
        .filter(|taint| !facts.pods.tolerate(taint))
        .map(|taint| match taint.value.as_str() {
            "" => format!("{}:{}", taint.key, taint.effect),
            value => format!("{}={value}:{}", taint.key, taint.effect),
        })
        .collect();
    match (all.len(), untolerated.count) {
        (0, _) => ID.passed("no node has a NoSchedule or NoExecute taint besides those of Kubernetes"),
        (all, 0) => {
            ID.passed(format!("nodes have {}, and at least one pod tolerates each", counted(all, "taint")))
        }
        (all, count) => ID
            .note(format!(
                "no pod of the cluster tolerates {count} of {}: {}",
                counted(all, "taint"),
                untolerated.names()
            ))
            .fix("if you no longer need a taint, remove it: taintward taint node NAME KEY-"),
    }
}

/// Whether Kubernetes adds and removes the taint, or it marks the role of a node: no pod has to tolerate it.
fn is_of_kubernetes(key: &str) -> bool {
    keys::ALL.contains(&key) || key.starts_with("node-role.kubernetes.io/")
}

fn lint(summary: &LintCounts) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::Workloads, "lint");
    let LintCounts { errors, warnings, .. } = summary;
    let verdict = match (&summary.failure, errors, warnings) {
        (Some(why), ..) => {
            return ID.unknown(format!("taintward lint cannot read the cluster: {why}"));
        }
        (None, 0, 0) => CheckVerdict::Passed,
        (None, ..) => CheckVerdict::Warning,
    };
    let check = ID.result(
        verdict,
        format!("taintward lint finds {} and {}", counted(*errors, "error"), counted(*warnings, "warning")),
    );
    if verdict == CheckVerdict::Passed {
        check
    } else {
        check.fix("taintward lint --all-namespaces lists them").page("docs/lint.md")
    }
}

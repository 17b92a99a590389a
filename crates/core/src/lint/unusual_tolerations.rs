//! Checks the tolerations of a workload as a whole (TL201, TL210, TL211): tolerating everything, staying on dead nodes,
//! missing control plane tolerations.
//!
//! - Invariant: DaemonSets and node-critical pods may tolerate anything.

use super::{FindingPlace, FindingSink, LintedWorkload, Rule, TolerationPart};
use crate::taint::{Taint, TaintEffect, keys};
use crate::toleration::{Toleration, TolerationOperator, TolerationPeriod};
use crate::toleration_matching::{NumericOperators, TolerationMatch, tolerates};
use alloc::format;

pub(super) fn check(workload: &LintedWorkload, findings: &mut FindingSink<'_>) {
    if !workload.daemon && !workload.node_critical {
        bears_too_much(workload, findings);
    }
    control_plane(workload, findings);
}

fn bears_too_much(workload: &LintedWorkload, findings: &mut FindingSink<'_>) {
    let dead = [keys::NOT_READY, keys::UNREACHABLE].map(|key| taint(key, TaintEffect::NoExecute));
    for (index, toleration) in workload.read().enumerate() {
        let stays = matches!(toleration.effect, None | Some(TaintEffect::NoExecute))
            && toleration.period() == TolerationPeriod::Forever
            && workload.tolerations[index].odd_seconds.is_none();
        if !stays {
            continue;
        }
        if toleration.key.is_empty() && toleration.operator == TolerationOperator::Exists {
            let reason = "it has no key and no seconds: the pod never leaves a node, not even a dead one";
            let fix = "list the keys that the pod must tolerate; for every taint, add effect: NoExecute and \
                       tolerationSeconds";
            findings.toleration(Rule::ToleratesEverything, (index, TolerationPart::Whole), reason, fix);
        } else if dead.iter().any(|taint| yes(toleration, taint)) && !toleration.key.is_empty() {
            let reason = format!(
                "{} is tolerated indefinitely: no controller replaces the pod when its node dies",
                toleration.key
            );
            let fix = "write effect: NoExecute with tolerationSeconds; without this toleration, the API server adds one \
                       of 300 s by default";
            findings.toleration(Rule::StaysOnDeadNode, (index, TolerationPart::Whole), reason, fix);
        }
    }
}

fn control_plane(workload: &LintedWorkload, findings: &mut FindingSink<'_>) {
    let wants = workload.wants_control_plane();
    let let_in = workload.read().any(|one| yes(one, &taint(keys::CONTROL_PLANE, TaintEffect::NoSchedule)));
    if wants && !let_in && !workload.bound {
        let reason =
            format!("it selects nodes of the control plane and does not tolerate {}", keys::CONTROL_PLANE);
        let fix =
            format!("add the toleration key: {}, operator: Exists, effect: NoSchedule", keys::CONTROL_PLANE);
        findings.report(Rule::ControlPlaneUntolerated, FindingPlace::Selection, reason, fix);
    }
    // A static pod does not belong to a DaemonSet, and gets no tolerations automatically.
    let stays = workload.read().any(|one| yes(one, &taint("any", TaintEffect::NoExecute)));
    if workload.control_plane && !workload.daemon && !stays {
        let reason = "it is part of the control plane, and any NoExecute taint on its node evicts it";
        let fix = "add the toleration operator: Exists, effect: NoExecute";
        findings.report(Rule::ControlPlaneUntolerated, FindingPlace::Whole, reason, fix);
    }
}

fn taint(key: &str, effect: TaintEffect) -> Taint {
    Taint { key: key.into(), value: "".into(), effect, time_added: None }
}

/// Numeric comparison does not matter: these taints have no values.
fn yes(toleration: &Toleration, taint: &Taint) -> bool {
    tolerates(toleration, taint, NumericOperators::Off) == TolerationMatch::Yes
}

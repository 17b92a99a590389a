//! Checks whether the eviction policies of the cluster apply, and whether the brake is on.

use super::DoctorScope;
use super::install_command::{install_command, install_command_with};
use crate::controller_deployment::DeploymentFacts;
use crate::doctor::check::{CheckId, DoctorCheck, DoctorGroup};
use crate::doctor::facts::{NamedCount, PolicyTotals};
use taintward_core::fact::RESPECT_BUDGETS;

const ID: CheckId = CheckId(DoctorGroup::Taintward, "eviction-policies");

/// `None` without a known installation, of which another check says so.
pub(super) fn check(scope: &DoctorScope<'_>) -> Option<DoctorCheck> {
    let facts = scope.facts;
    let controller = facts.deployments.iter().find(|one| one.is_controller())?;
    if let Some(why) = facts.unread("evictionpolicies") {
        return Some(ID.unknown(format!("cannot read eviction policies: {why}")));
    }
    let check = match controller.applies_policies() {
        true => applied(scope, controller),
        false => unapplied(scope, controller),
    };
    Some(check.page("docs/eviction-policy.md"))
}

fn unapplied(scope: &DoctorScope<'_>, controller: &DeploymentFacts) -> DoctorCheck {
    let respected = scope.facts.nodes.iter().filter(|node| node.keys.contains(RESPECT_BUDGETS));
    let respected: NamedCount = respected.map(|node| node.name.as_str()).collect();
    let ignored = match (&scope.facts.policies.all, &respected) {
        (NamedCount { count: 0, .. }, NamedCount { count: 0, .. }) => {
            return ID.passed(format!("no eviction policies exist, and {}", brake(controller)));
        }
        (NamedCount { count: 0, .. }, nodes) => {
            format!("the annotation {RESPECT_BUDGETS} of nodes is ignored: {}", nodes.names())
        }
        (policies, _) => format!("{} ignored: {}", are(policies.count), policies.names()),
    };
    ID.warning(format!(
        "{ignored}; Deployment {}/{} has no --eviction-policies",
        scope.namespace, controller.name
    ))
    .fix(format!("{} applies them", install_command_with(scope, "--eviction-policies")))
}

fn applied(scope: &DoctorScope<'_>, controller: &DeploymentFacts) -> DoctorCheck {
    let PolicyTotals { all, invalid, blocked, unreported, is_undefined } = &scope.facts.policies;
    if *is_undefined {
        return ID
            .failed(format!(
                "Deployment {}/{} has --eviction-policies, and the definition of EvictionPolicy is not installed",
                scope.namespace, controller.name
            ))
            .fix(format!("{} installs it", install_command(scope)));
    }
    let describe = |names: &NamedCount| {
        format!("kubectl describe evictionpolicies shows the conditions of {}", names.names())
    };
    if invalid.count > 0 {
        return ID
            .failed(format!(
                "{} invalid, so every eviction that may belong to it waits: {}",
                are(invalid.count),
                invalid.names()
            ))
            .fix(describe(invalid));
    }
    if blocked.count > 0 {
        return ID
            .warning(format!(
                "{} blocked: pods wait for what only a person can change: {}",
                are(blocked.count),
                blocked.names()
            ))
            .fix(describe(blocked))
            .fix("taintward pending lists these pods");
    }
    if unreported.count > 0 && !controller.observes() {
        return ID
            .warning(format!(
                "{} without a status, because no controller has reported: {}",
                are(unreported.count),
                unreported.names()
            ))
            .fix(format!("kubectl --namespace {} logs deployment/{}", scope.namespace, controller.name));
    }
    let brake = brake(controller);
    match all.count {
        0 => ID.passed(format!("eviction policies apply, of which none exists, and {brake}")),
        count => ID.passed(format!("{} applied, and {brake}", are(count))),
    }
}

fn are(policies: usize) -> String {
    if policies == 1 {
        "1 eviction policy is".to_owned()
    } else {
        format!("{policies} eviction policies are")
    }
}

fn brake(controller: &DeploymentFacts) -> String {
    match controller.brake_limit() {
        None => "the brake is off (--brake-limit)".to_owned(),
        Some(limit) => format!("the brake is on (--brake-limit={limit})"),
    }
}

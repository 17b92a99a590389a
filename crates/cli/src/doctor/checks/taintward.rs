//! Checks the installation of Taintward: its Deployment, its permissions, its leader.

use super::install_command::install_command;
use super::{DoctorScope, eviction_policies};
use crate::controller_deployment::DeploymentFacts;
use crate::doctor::check::{CheckId, DoctorCheck, DoctorGroup};
use crate::doctor::facts::LeaseFacts;
use crate::output::age;
use taintward_core::time::{Span, Wall};

/// A lease older than this many of its own durations counts as abandoned: clocks differ.
const LENGTHS: i64 = 4;

/// The lease of Taintward's leader election.
pub(super) const LEASE: &str = "taintward";

pub(super) fn checks(scope: &DoctorScope<'_>) -> Vec<DoctorCheck> {
    let mut checks = vec![deployment(scope)];
    // Without an installation nothing else can be as it should.
    if scope.lacks_installation() {
        return checks;
    }
    checks.extend(permissions(scope));
    if !scope.pre {
        checks.push(leader(scope));
        checks.extend(eviction_policies::check(scope));
    }
    checks
}

fn deployment(scope: &DoctorScope<'_>) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::Taintward, "installation");
    let (facts, namespace) = (scope.facts, scope.namespace);
    if let Some(why) = facts.unread("deployments") {
        return ID.unknown(format!("cannot read Deployments of namespace {namespace}: {why}"));
    }
    let found = facts.deployments.iter().find(|one| one.is_controller());
    let Some(DeploymentFacts { name, replicas, ready, .. }) = found else {
        let finding = format!("no Deployment in namespace {namespace} runs Taintward's controllers");
        return match scope.pre {
            true => ID.passed(finding),
            false => ID
                .failed(finding)
                .fix("install Taintward: taintward install --image IMAGE --apply")
                .fix("or name its namespace with --namespace; before an installation, use --pre")
                .page("docs/install.md"),
        };
    };
    let finding = format!("Deployment {namespace}/{name}: {ready} of {replicas} replicas are ready");
    if ready < replicas || *ready == 0 {
        return ID
            .failed(finding)
            .fix(format!("kubectl --namespace {namespace} describe pods"))
            .fix(format!("kubectl --namespace {namespace} logs deployment/{name}"));
    }
    match found.is_some_and(DeploymentFacts::observes) {
        true => ID.note(format!("{finding}; it only observes, and evicts no pods (--mode=observe)")),
        false => ID.passed(finding),
    }
}

fn permissions(scope: &DoctorScope<'_>) -> Option<DoctorCheck> {
    const ID: CheckId = CheckId(DoctorGroup::Taintward, "permissions");
    let reviewed = scope.facts.permissions.as_ref()?;
    let account = &reviewed.account;
    Some(match &reviewed.missing {
        Ok(missing) if missing.is_empty() => {
            let has = if account == "you" { "have" } else { "has" };
            ID.passed(format!("{account} {has} all permissions {}", reviewed.purpose))
        }
        Ok(missing) => {
            let check = ID.failed(format!("{account} {}", missing[0]));
            let more = missing[1..].iter();
            let check = more.fold(check, |check, missing| check.fix(format!("{account} {missing}")));
            match scope.pre {
                true => {
                    check.fix("run the command as a user with these permissions, such as a cluster administrator (--as, --context)")
                }
                false => check.fix(format!("{} repairs roles and bindings", install_command(scope))),
            }
        }
        Err(why) => ID.unknown(format!("the permissions of {account} are unknown: {why}")),
    })
}

/// Whether a lease was renewed recently.
pub(super) fn is_held(lease: &LeaseFacts, now: Wall) -> bool {
    let length = lease.duration.saturating_mul(LENGTHS).saturating_mul(1_000_000);
    let age = lease.renewed.map(|at| now.as_micros().saturating_sub(at.as_microsecond()));
    !lease.holder.is_empty() && age.is_some_and(|age| age <= length)
}

/// Taintward's lease, in its own namespace or in the default one.
pub(super) fn lease<'a>(scope: &DoctorScope<'a>) -> Option<&'a LeaseFacts> {
    let ours = scope.facts.leader_leases.iter().filter(|lease| lease.name == LEASE);
    ours.max_by_key(|lease| lease.renewed)
}

fn leader(scope: &DoctorScope<'_>) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::Taintward, "leader");
    let facts = scope.facts;
    if facts.deployments.iter().any(|one| one.is_controller() && one.observes()) {
        return ID.passed("--mode=observe needs no leader: each replica observes");
    }
    let Some(found) = lease(scope) else {
        if let Some(why) = facts.unread("leases") {
            return ID.unknown(format!("cannot read leases: {why}"));
        }
        return ID
            .failed(format!(
                "lease {}/{LEASE} does not exist: no replica of Taintward is the leader",
                scope.namespace
            ))
            .fix(format!("kubectl --namespace {} logs deployment/taintward", scope.namespace));
    };
    let LeaseFacts { namespace, name, holder, renewed, .. } = found;
    let Some(now) = facts.now else {
        return ID.note(format!("lease {namespace}/{name} names {holder:?}"));
    };
    if is_held(found, now) {
        return ID.passed(format!("{holder} holds lease {namespace}/{name}"));
    }
    let since = renewed.map_or_else(
        || "was never renewed".to_owned(),
        |at| {
            let length = Span::from_micros(now.as_micros().saturating_sub(at.as_microsecond()));
            format!("was last renewed {} ago", age(length))
        },
    );
    ID.failed(format!("lease {namespace}/{name} {since}: no replica of Taintward is the leader"))
        .fix(format!("kubectl --namespace {namespace} logs deployment/taintward"))
}

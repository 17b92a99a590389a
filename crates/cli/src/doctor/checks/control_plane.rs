//! Checks the control plane: distribution, `--controllers` of every replica, the controllers that it must disable and
//! enable.

use super::DoctorScope;
use crate::args::flag_values::flag_values;
use crate::doctor::check::{CheckId, CheckVerdict, DoctorCheck, DoctorGroup};
use crate::doctor::controllers_flag::{ControllersFlag, UpstreamController};
use crate::doctor::distribution::{Distribution, k3s_flag};
use crate::doctor::facts::{ClusterFacts, DoctorNode, NamedCount, ProgramFacts};

/// The page about all distributions.
const PAGE: &str = "docs/switch-off.md";

/// Without this gate, taint eviction is part of the node lifecycle controller. Kubernetes 1.38 does not have it any
/// more.
const GATE: &str = "SeparateTaintEvictionController";

/// The value of `--controllers` on one replica.
pub(super) struct ReplicaFlag<'a> {
    program: &'a ProgramFacts,
    pub(super) value: ControllersFlag,
}

/// The value on each replica with a known command line.
pub(super) fn replicas(facts: &ClusterFacts) -> Vec<ReplicaFlag<'_>> {
    let flag = |program: &ProgramFacts| match program.is_embedded {
        true => k3s_flag(&program.arguments),
        false => ControllersFlag::of_arguments(&program.arguments).unwrap_or_default(),
    };
    facts.controller_managers.iter().map(|program| ReplicaFlag { program, value: flag(program) }).collect()
}

/// Whether some replica runs a controller; `None`: no command line is known.
pub(super) fn runs(facts: &ClusterFacts, controller: UpstreamController) -> Option<bool> {
    let replicas = replicas(facts);
    (!replicas.is_empty()).then(|| replicas.iter().any(|replica| replica.value.enables(controller)))
}

pub(super) fn checks(scope: &DoctorScope<'_>) -> Vec<DoctorCheck> {
    // The flags are one cause: without them, nothing is known about what they decide.
    if replicas(scope.facts).is_empty() && !scope.recognized.distribution.is_managed() {
        return vec![distribution(scope), steps(flag(scope), scope, None)];
    }
    let mut checks = vec![distribution(scope), flag(scope)];
    checks.extend(scope.replaced().into_iter().map(|controller| switched_off(scope, controller)));
    checks.extend([
        kept(scope, UpstreamController::BootstrapSigner),
        kept(scope, UpstreamController::TokenCleaner),
    ]);
    checks.extend(feature_gate(scope));
    checks
}

fn page(scope: &DoctorScope<'_>) -> String {
    let distribution = scope.recognized.distribution;
    match distribution.guide() {
        Some(guide) => format!("{PAGE}#{}", guide.section),
        None if distribution.is_managed() => format!("{PAGE}#where-you-cannot"),
        None => PAGE.to_owned(),
    }
}

fn distribution(scope: &DoctorScope<'_>) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::ControlPlane, "distribution");
    let recognized = scope.recognized;
    if let Some(why) = scope.facts.unread("nodes") {
        return ID
            .unknown(format!("cannot read nodes: {why}"))
            .fix("grant the verb list on nodes, or run the command as a user that has it (--as)");
    }
    match recognized.distribution {
        Distribution::Unknown => ID.note(format!(
            "Taintward does not recognize this distribution ({})",
            read(scope.facts)
        ))
        .fix(
            "find the source of kube-controller-manager's flags: the manifest of a static pod, a systemd unit, or the \
             configuration of the tool that created the cluster",
        )
        .page(PAGE),
        known => ID.passed(format!("{}, by {}", known.name(), recognized.evidence)),
    }
}

/// The facts about the distribution, for users without a guide for it.
fn read(facts: &ClusterFacts) -> String {
    let first = facts.nodes.first();
    let node = first.map(|node| {
        format!(
            "kubelet {}, operating system {}, provider id {}",
            or_none(&node.kubelet_version),
            or_none(&node.os_image),
            or_none(&node.provider_id)
        )
    });
    format!(
        "API server {}, {}",
        or_none(&facts.server_version),
        node.unwrap_or_else(|| "no nodes".to_owned())
    )
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "(not given)" } else { text }
}

/// Control-plane nodes without a visible kube-controller-manager.
fn unseen(facts: &ClusterFacts) -> NamedCount {
    let is_seen = |node: &&DoctorNode| facts.controller_managers.iter().any(|one| one.node == node.name);
    let nodes = facts.nodes.iter().filter(|node| node.is_control_plane() && !is_seen(node));
    nodes.map(|node| node.name.as_str()).collect()
}

fn flag(scope: &DoctorScope<'_>) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::ControlPlane, "controllers-flag");
    let (facts, distribution) = (scope.facts, scope.recognized.distribution);
    let replicas = replicas(facts);
    let Some(first) = replicas.first() else {
        let why = facts.unread("pods").or(facts.unread("nodes"));
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let finding = format!("cannot read the flags of kube-controller-manager{why}");
        if distribution.is_managed() {
            let finding = format!("{finding}; {} does not show them", distribution.name());
            return ID.note(finding).page(page(scope));
        }
        return ID.unknown(finding)
            .fix(match distribution {
                Distribution::Hosted => {
                    "in the cluster that runs the control plane: find --controllers in the pod of kube-controller-manager"
                }
                _ => "on a control-plane node: run ps -C kube-controller-manager -o args, and find --controllers",
            })
            .page(page(scope));
    };
    let shown: Vec<String> =
        replicas.iter().map(|one| format!("{} has --controllers={}", one.program.place, one.value)).collect();
    let shown = shown.join("; ");
    let unseen = unseen(facts);
    if replicas.iter().any(|one| one.value != first.value) {
        return ID
            .warning(format!("the replicas of kube-controller-manager differ: {shown}"))
            .fix("give all replicas the same value: the flags of the leader decide")
            .page(page(scope));
    }
    if unseen.count > 0 {
        return ID
            .unknown(format!("{shown}; kube-controller-manager is not visible on {}", unseen.names()))
            .fix("on each of these nodes, check the flags: ps -C kube-controller-manager -o args");
    }
    ID.passed(shown)
}

fn switched_off(scope: &DoctorScope<'_>, controller: UpstreamController) -> DoctorCheck {
    let id = match controller {
        UpstreamController::NodeLifecycle => "node-lifecycle-off",
        _ => "taint-eviction-off",
    };
    let id = CheckId(DoctorGroup::ControlPlane, id);
    let (distribution, name) = (scope.recognized.distribution, controller.name());
    if distribution.is_managed() {
        let finding = format!(
            "{} runs {name}, and only the provider can switch it off; Taintward's own evictions cannot replace it here",
            distribution.name()
        );
        return id.note(finding)
            .fix(match controller {
                UpstreamController::NodeLifecycle => {
                    "use the features that work alongside it: plan, explain, pending, lint, --mode=observe, dedicated pools and \
                     the webhook"
                }
                _ => {
                    "use the features that work alongside it: backfill, holds and the guard (docs/managed-clusters.md), plan, \
                     explain, pending, lint, --mode=observe, dedicated pools and the webhook"
                }
            })
            .page(page(scope));
    }
    let replicas = replicas(scope.facts);
    let on: NamedCount = replicas
        .iter()
        .filter(|one| one.value.enables(controller))
        .map(|one| one.program.place.as_str())
        .collect();
    if on.count == 0 {
        let now = &replicas[0].value;
        let undo = distribution.guide().map(|guide| guide.edit(now, &scope.replaced()).undo);
        let undo = undo.map(|undo| format!("; to go back, {undo}")).unwrap_or_default();
        let seen = replicas.len();
        return id
            .passed(format!("{name} is off in {seen} of {seen} replicas of kube-controller-manager{undo}"));
    }
    let is_later = scope.pre || scope.lacks_installation();
    let verdict = if is_later { CheckVerdict::Warning } else { CheckVerdict::Failed };
    let check = id.result(verdict, format!("{name} is on: {}", on.names()));
    let now = replicas.iter().find(|one| one.value.enables(controller)).map(|one| &one.value);
    steps(check, scope, now)
}

/// The steps: the value, its place, how to apply it, and how to undo it. `now` is the present value, if it is known.
fn steps(check: DoctorCheck, scope: &DoctorScope<'_>, now: Option<&ControllersFlag>) -> DoctorCheck {
    let Some(guide) = scope.recognized.distribution.guide() else {
        let off = scope.replaced();
        let value = now.map(|now| off.iter().fold(now.clone(), |flag, one| flag.without(*one)));
        let value = value.map_or_else(
            || "its present --controllers, with ,-taint-eviction-controller appended".to_owned(),
            |value| format!("--controllers={value}"),
        );
        return check
            .fix(format!("start every kube-controller-manager with {value}"))
            .fix(format!(
                "to go back: {}",
                now.map_or_else(|| "its present value".to_owned(), |now| format!("--controllers={now}"))
            ))
            .page(PAGE);
    };
    let (own, off) = (guide.own(), scope.replaced());
    let edit = guide.edit(now.unwrap_or(&own), &off);
    let mut check = match now {
        Some(_) => check.fix(format!("write: {}", edit.write)),
        None => check.fix(format!(
            "write, if the value is {own}, as {} sets it: {}",
            guide.distribution.name(),
            edit.write
        )),
    };
    if now.is_none() {
        for (when, other) in guide.variants {
            let edit = guide.edit(&ControllersFlag::parse(other), &off);
            check = check.fix(format!("write, if the value is {other} ({when}): {}", edit.write));
        }
    }
    let check = check.fix(format!("into: {}", guide.place));
    let check = guide.apply.iter().fold(check, |check, step| check.fix(format!("then: {step}")));
    check.fix(format!("to go back: {}", edit.undo)).page(page(scope))
}

/// Controllers that only run if named, and that a new value must keep.
fn kept(scope: &DoctorScope<'_>, controller: UpstreamController) -> DoctorCheck {
    let (id, harm) = match controller {
        UpstreamController::BootstrapSigner => (
            "bootstrap-signer",
            "new nodes cannot join with kubeadm join, because kube-public/cluster-info is not signed",
        ),
        _ => ("token-cleaner", "expired bootstrap tokens are never deleted"),
    };
    let id = CheckId(DoctorGroup::ControlPlane, id);
    let name = match controller {
        UpstreamController::BootstrapSigner => "bootstrap signer",
        _ => "token cleaner",
    };
    let distribution = scope.recognized.distribution;
    let replicas = replicas(scope.facts);
    let signatures = match (controller, scope.facts.cluster_info_signatures) {
        (UpstreamController::BootstrapSigner, Some(1..)) => "; kube-public/cluster-info is signed",
        _ => "",
    };
    let should = distribution.guide().is_some_and(|guide| guide.own().enables(controller));
    let Some(on) = runs(scope.facts, controller) else {
        let verdict = if distribution.is_managed() { CheckVerdict::Note } else { CheckVerdict::Unknown };
        let finding = format!(
            "it is unknown whether the {name} is on, because kube-controller-manager's flags are unknown{signatures}"
        );
        return id.result(verdict, finding);
    };
    let off: NamedCount = replicas
        .iter()
        .filter(|one| !one.value.enables(controller))
        .map(|one| one.program.place.as_str())
        .collect();
    match (should, off.count) {
        (_, 0) => id.passed(format!("the {name} is on{signatures}")),
        (true, _) => {
            let value =
                replicas.iter().find(|one| !one.value.enables(controller)).map(|one| one.value.clone());
            let value = value.unwrap_or_default();
            let check = id.failed(format!(
                "{name} is off ({}): {harm}; {} switches it on",
                off.names(),
                distribution.name()
            ));
            let check = distribution.guide().into_iter().fold(check, |check, guide| {
                let check = check.fix(format!("write: {}", guide.repair(&value)));
                let check = check.fix(format!("into: {}", guide.place));
                guide.apply.iter().fold(check, |check, step| check.fix(format!("then: {step}")))
            });
            check.page(page(scope))
        }
        (false, _) if on => id.warning(format!(
            "the {name} is off in some replicas of kube-controller-manager: {}",
            off.names()
        )),
        (false, _) => {
            let verdict = if distribution == Distribution::Unknown {
                CheckVerdict::Warning
            } else {
                CheckVerdict::Note
            };
            let finding = match distribution {
                Distribution::Unknown => {
                    format!("{name} is off: if nodes join this cluster with bootstrap tokens, {harm}")
                }
                known => format!("{name} is off, which is the default of {}", known.name()),
            };
            id.result(verdict, finding)
        }
    }
}

/// The check for a feature gate that Kubernetes 1.38 rejects at its start.
fn feature_gate(scope: &DoctorScope<'_>) -> Option<DoctorCheck> {
    const ID: CheckId = CheckId(DoctorGroup::ControlPlane, "feature-gates");
    let set = |program: &ProgramFacts| {
        let gates = flag_values(&program.arguments, "feature-gates").join(",");
        let value = gates
            .split(',')
            .find_map(|gate| gate.trim().strip_prefix(GATE)?.strip_prefix('=').map(str::to_owned));
        value.map(|value| (program.place.clone(), value))
    };
    let found: Vec<(String, String)> = scope.facts.controller_managers.iter().filter_map(set).collect();
    let (place, value) = found.first()?;
    let off = value.eq_ignore_ascii_case("false");
    let (verdict, consequence) = if off {
        (
            CheckVerdict::Failed,
            "taint eviction then runs inside node-lifecycle-controller, and cannot be switched off alone",
        )
    } else {
        (CheckVerdict::Warning, "kube-controller-manager 1.38 rejects this gate and does not start")
    };
    let finding = format!("{place} has --feature-gates={GATE}={value}: {consequence}");
    Some(
        ID.result(verdict, finding)
            .fix(format!("remove {GATE} from --feature-gates of kube-controller-manager")),
    )
}

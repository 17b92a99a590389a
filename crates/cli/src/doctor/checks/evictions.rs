//! Checks that exactly one controller evicts pods, and what could prevent evictions.

use super::DoctorScope;
use super::control_plane::runs;
use super::taintward::{is_held, lease};
use crate::args::flag_values::flag_values;
use crate::doctor::check::{CheckId, DoctorCheck, DoctorGroup};
use crate::doctor::controllers_flag::UpstreamController;
use crate::doctor::facts::{ClusterFacts, NamedCount};
use crate::messages::counted;
use crate::output::age;
use taintward_core::time::Span;

/// The maximum age of a trace of an eviction; an older one does not show the present state.
const RECENT: i64 = 600;

/// The lease of kube-controller-manager's leader election, in kube-system.
const UPSTREAM_LEASE: &str = "kube-controller-manager";

/// A webhook with a longer timeout can delay evictions noticeably.
const SLOW: i64 = 10;

/// The admission plugin that adds tolerations of five minutes for nodes that are not ready or unreachable to every pod.
const DEFAULT_TOLERATION_SECONDS: &str = "DefaultTolerationSeconds";

pub(super) fn checks(scope: &DoctorScope<'_>) -> Vec<DoctorCheck> {
    vec![one_evictor(scope), webhooks(scope), default_toleration_seconds(scope), budgets(scope)]
}

fn one_evictor(scope: &DoctorScope<'_>) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::Evictions, "one-evictor");
    let facts = scope.facts;
    let evicts = scope.replaced().contains(&UpstreamController::TaintEviction);
    let ours = evicts && facts.now.is_some_and(|now| lease(scope).is_some_and(|lease| is_held(lease, now)));
    let age_of_trace = facts
        .now
        .zip(facts.evictions.last_by_upstream)
        .map(|(now, at)| now.as_micros().saturating_sub(at.as_microsecond()) / 1_000_000);
    let is_recent = age_of_trace.is_some_and(|age| age <= RECENT);
    let upstream = runs(facts, UpstreamController::TaintEviction)
        .or_else(|| (is_recent || scope.recognized.distribution.is_managed()).then_some(true));
    let trace_text = age_of_trace.map(|seconds| upstream_trace(facts, seconds)).unwrap_or_default();
    if runs(facts, UpstreamController::TaintEviction).is_none() && ours && is_recent && has_restarted(scope) {
        let rest = Span::from_micros((RECENT - age_of_trace.unwrap_or_default()) * 1_000_000);
        return ID
            .unknown(format!(
                "Taintward evicts; it is unknown until {} from now whether kube-controller-manager still does: its \
                 flags cannot be read, and it has started again since its last eviction{trace_text}",
                age(rest)
            ))
            .fix("run this command again then: kube-controller-manager evicts if it shows a newer eviction");
    }
    match (ours, upstream) {
        (true, Some(false)) if is_recent => ID.warning(format!(
            "a replica of Taintward is the leader, and kube-controller-manager's flags switch its taint eviction \
             off, but it evicted pods less than ten minutes ago{trace_text}"
        ))
        .fix("run this command again in ten minutes; if the warning stays, a replica of kube-controller-manager has other flags"),
        (true, Some(false)) => {
            ID.passed("Taintward is the only controller that evicts pods because of taints")
        }
        (true, Some(true)) => ID.failed(format!(
            "two controllers evict: Taintward and kube-controller-manager{trace_text}. The earlier of their deadlines \
             counts"
        ))
        .fix(
            "switch kube-controller-manager's taint eviction off, see control-plane/taint-eviction-off; or run Taintward \
             with --mode=observe. During a switch, this is expected until docs/start/replace.md's step 4 is done",
        ),
        (false, Some(true)) if scope.pre || !evicts || scope.lacks_installation() => {
            let ours = match scope.guards() {
                true => "Taintward evicts only pods of guarded namespaces, before their ceiling",
                false => "Taintward does not evict",
            };
            ID.passed(format!("kube-controller-manager evicts, and {ours}{trace_text}"))
        }
        (false, Some(true)) => ID.warning(format!(
            "kube-controller-manager evicts, and no replica of Taintward is the leader{trace_text}"
        ))
        .fix("see taintward/installation and taintward/leader"),
        (false, Some(false)) => ID.failed(
            "no controller evicts: no replica of Taintward is the leader, and kube-controller-manager's taint eviction is \
             off",
        )
        .fix(
            "start Taintward, see taintward/installation; or switch kube-controller-manager's taint eviction on again",
        ),
        (ours, None) => {
            let evicts = if ours { "Taintward evicts" } else { "Taintward does not evict" };
            ID.unknown(format!(
                "{evicts}; it is unknown whether kube-controller-manager does: its flags cannot be read, \
                 {}, and no object shows that it evicted a pod",
                upstream_lease(scope)
            ))
            .fix(
                "add a NoExecute taint to a node with a test pod, and run this command again: an eviction creates an event",
            )
        }
    }
}

/// What shows that kube-controller-manager evicted pods, so many seconds ago.
fn upstream_trace(facts: &ClusterFacts, seconds: i64) -> String {
    let length = age(Span::from_micros(seconds.saturating_mul(1_000_000)));
    format!(
        " (kube-controller-manager evicted {}, the last one {length} ago)",
        facts.evictions.by_upstream().names()
    )
}

/// Whether the leader of kube-controller-manager has changed since its last eviction, as after a change of its flags.
fn has_restarted(scope: &DoctorScope<'_>) -> bool {
    let leases = &scope.facts.leader_leases;
    let lease = leases.iter().find(|one| one.namespace == "kube-system" && one.name == UPSTREAM_LEASE);
    let acquired = lease.and_then(|lease| lease.acquired);
    acquired.zip(scope.facts.evictions.last_by_upstream).is_some_and(|(acquired, last)| acquired > last)
}

/// The state of kube-controller-manager's lease, which is the same whichever controllers are on.
fn upstream_lease(scope: &DoctorScope<'_>) -> String {
    let facts = scope.facts;
    let found =
        facts.leader_leases.iter().find(|one| one.namespace == "kube-system" && one.name == UPSTREAM_LEASE);
    match (found, facts.now) {
        _ if facts.unread("leases").is_some() => "its lease could not be read".to_owned(),
        (Some(lease), Some(now)) if is_held(lease, now) => format!("{} holds its lease", lease.holder),
        (Some(_), _) => "its lease was not renewed recently".to_owned(),
        (None, _) => "it has no lease in kube-system".to_owned(),
    }
}

fn webhooks(scope: &DoctorScope<'_>) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::Evictions, "admission-webhooks");
    let facts = scope.facts;
    for plural in ["validatingwebhookconfigurations", "mutatingwebhookconfigurations"] {
        if let Some(why) = facts.unread(plural) {
            return ID.unknown(format!("cannot read {plural}: {why}"));
        }
    }
    let described: Vec<String> = facts
        .webhooks
        .iter()
        .filter(|hook| hook.fails_closed || hook.timeout > SLOW)
        .map(|hook| {
            let closed = if hook.fails_closed { "failurePolicy Fail" } else { "failurePolicy Ignore" };
            format!(
                "{} receives {} ({closed}, timeout {}s)",
                hook.place,
                hook.sees.join(" and "),
                hook.timeout
            )
        })
        .collect();
    let Some(first) = described.first() else {
        return ID.passed("no admission webhook can delay an eviction");
    };
    let check = ID.warning(format!(
        "{} can delay evictions, such as {first}",
        counted(described.len(), "admission webhook")
    ));
    let check = described[1..].iter().fold(check, |check, hook| check.fix(format!("also: {hook}")));
    check.fix(
        "while such a webhook does not respond, no pod is evicted: set failurePolicy: Ignore, or exclude DELETE of pods",
    )
}

fn default_toleration_seconds(scope: &DoctorScope<'_>) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::Evictions, "default-toleration-seconds");
    let facts = scope.facts;
    if let Some(why) = facts.unread("pods") {
        return ID.unknown(format!("cannot read pods: {why}"));
    }
    let disabled = facts.api_servers.iter().find(|program| {
        let plugins = flag_values(&program.arguments, "disable-admission-plugins").join(",");
        plugins.split(',').any(|plugin| plugin == DEFAULT_TOLERATION_SECONDS)
    });
    if let Some(program) = disabled {
        let finding = format!(
            "{} switches {DEFAULT_TOLERATION_SECONDS} off: pods without own tolerations are evicted immediately from nodes \
             that are not ready or unreachable",
            program.place
        );
        return ID
            .warning(finding)
            .fix("if you do not want this, remove it from --disable-admission-plugins of kube-apiserver");
    }
    let (with, without) = (facts.pods.with_health_tolerations, &facts.pods.without_health_tolerations);
    match (with, without.count) {
        (0, 0) => ID.note("unknown, because the cluster has no pods"),
        (with, 0) => ID.passed(format!("all {with} pods have a toleration for not-ready and unreachable")),
        (0, _) => ID.warning(format!(
            "{DEFAULT_TOLERATION_SECONDS} seems to be off: no pod tolerates not-ready and unreachable, such as {}",
            without.names()
        ))
        .fix("check --disable-admission-plugins of kube-apiserver"),
        (_, count) => ID.note(format!(
            "{count} pods do not tolerate not-ready and unreachable, so such nodes evict them immediately: {}",
            without.names()
        )),
    }
}

fn budgets(scope: &DoctorScope<'_>) -> DoctorCheck {
    const ID: CheckId = CheckId(DoctorGroup::Evictions, "disruption-budgets");
    let facts = scope.facts;
    if let Some(why) = facts.unread("poddisruptionbudgets") {
        return ID.unknown(format!("cannot read PodDisruptionBudgets: {why}"));
    }
    let none: &NamedCount = &facts.budgets.without_disruptions;
    match (none.count, facts.budgets.count) {
        (0, 0) => ID.passed("the cluster has no PodDisruptionBudgets"),
        (0, 1) => ID.passed("the only PodDisruptionBudget allows a disruption now, or has no pods"),
        (0, all) => ID.passed(format!("{all} PodDisruptionBudgets allow a disruption now, or have no pods")),
        (count, all) => ID.warning(format!(
            "{} no disruption now: {}; drains and evictions from dedicated pools wait for that, NoExecute taints do not",
            match all {
                1 => "the only PodDisruptionBudget allows".to_owned(),
                all => format!("{count} of {all} PodDisruptionBudgets allow"),
            },
            none.names()
        ))
        .fix("where drains must be able to evict a pod, add a replica or lower minAvailable"),
    }
}

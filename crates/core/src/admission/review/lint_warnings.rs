//! Turns lint findings about the pod of a request into a few admission warnings, each with its rule id.

use crate::admission::pool::DedicatedPool;
use crate::admission::request::AdmittedPod;
use crate::fact::PodOwnerKind;
use crate::lint::{FindingPlace, LintFinding, LintInput, LintedWorkload, Rule, Severity, lint};
use crate::toleration_matching::NumericOperators;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// At most this many warnings of one rule; an API server truncates warnings that are longer in total.
pub(super) const WARNINGS_MAX: usize = 8;

/// At most this many tolerations are checked; more are not written by hand.
const LINTED_MAX: usize = 200;

/// Which warnings are given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintAdvice {
    /// The lowest severity. What an API server rejects, it reports itself.
    pub least: Severity,
    /// The silenced rules.
    pub silenced: Vec<Rule>,
}

impl Default for LintAdvice {
    fn default() -> Self {
        Self { least: Severity::Warning, silenced: Vec::new() }
    }
}

/// Returns the warnings about these facts: about templates and nodes as well as pods.
pub fn advise(facts: &LintInput, advice: &LintAdvice) -> Vec<String> {
    sentences(lint(facts).iter(), advice)
}

fn sentences<'f>(found: impl Iterator<Item = &'f LintFinding>, advice: &LintAdvice) -> Vec<String> {
    let reported = found.filter(|finding| {
        finding.rule.severity() >= advice.least && !advice.silenced.contains(&finding.rule)
    });
    reported.map(sentence).take(WARNINGS_MAX).collect()
}

/// `toleration 0: "node.kubernetes.io/notready" resembles ..., but is a different key; write ... (TL205 misspelt-key)`
fn sentence(finding: &LintFinding) -> String {
    let LintFinding { rule, reason, fix, .. } = finding;
    let place = match finding.place {
        FindingPlace::Toleration(at, _) => format!("toleration {at}: "),
        FindingPlace::Taint(at, _) => format!("taint {at}: "),
        FindingPlace::Whole | FindingPlace::Selection | FindingPlace::Field(_) => String::new(),
    };
    format!("{place}{reason}; {fix} ({} {})", rule.id(), rule.name())
}

/// There are no warnings about what a pool adds to its pods.
pub(super) fn of_pod(
    pod: &AdmittedPod,
    pools: &[DedicatedPool],
    numeric: NumericOperators,
    advice: &LintAdvice,
) -> Vec<String> {
    let facts = LintInput { workloads: [workload(pod)].into(), numeric, ..LintInput::default() };
    let found = lint(&facts);
    let given = |finding: &&LintFinding| match finding.place {
        FindingPlace::Toleration(at, _) => pools.iter().any(|pool| pool.toleration() == pod.tolerations[at]),
        _ => false,
    };
    sentences(found.iter().filter(|finding| !given(finding)), advice)
}

fn workload(pod: &AdmittedPod) -> LintedWorkload {
    let tolerations = pod.tolerations.iter().take(LINTED_MAX).cloned();
    LintedWorkload {
        namespace: pod.identity.namespace.clone(),
        daemon: pod.identity.owner == PodOwnerKind::DaemonSet,
        control_plane: pod.control_plane,
        node_critical: *pod.identity.priority_class == *"system-node-critical",
        host_network: pod.host_network,
        bound: pod.node.is_some(),
        tolerations: tolerations.map(Into::into).collect(),
        node_selector: pod.node_selector.clone(),
        required: pod.required.clone(),
        prefers: pod.prefers,
        special_resources: pod
            .resources
            .iter()
            .any(|name| crate::admission::extended_resource_toleration::is_extended_resource(name)),
        // The API server has decoded it.
        partial: false,
        runtime: None,
        problems: Vec::new(),
    }
}

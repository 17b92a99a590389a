//! Turns lint findings about the pod of a request into a few admission warnings, each with its rule id.

use crate::admission::pool::DedicatedPool;
use crate::admission::request::AdmittedPod;
use crate::fact::PodOwnerKind;
use crate::lint::{FindingPlace, LintFinding, LintInput, LintedWorkload, Rule, Severity, lint};
use crate::toleration_matching::NumericOperators;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// So many warnings of one rule; an API server cuts off what is longer in all.
pub(super) const WARNINGS_MOST: usize = 8;

/// So many tolerations are looked at; nobody writes that many by hand.
const LOOKED_AT_MOST: usize = 200;

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LintAdvice {
    /// Nothing that is less bad. What an API server refuses, it says by itself.
    pub least: Severity,
    /// Nothing of these.
    pub silenced: Vec<Rule>,
}

impl Default for LintAdvice {
    fn default() -> Self {
        Self { least: Severity::Warning, silenced: Vec::new() }
    }
}

/// What lint says of these facts: of templates and nodes as well as of pods.
pub fn advise(facts: &LintInput, advice: &LintAdvice) -> Vec<String> {
    sentences(lint(facts).iter(), advice)
}

fn sentences<'f>(found: impl Iterator<Item = &'f LintFinding>, advice: &LintAdvice) -> Vec<String> {
    let told = found.filter(|finding| {
        finding.rule.severity() >= advice.least && !advice.silenced.contains(&finding.rule)
    });
    told.map(sentence).take(WARNINGS_MOST).collect()
}

/// `toleration 0: "node.kubernetes.io/notready" is almost ..., and is another key; write ... (TL205 misspelt-key)`
fn sentence(finding: &LintFinding) -> String {
    let LintFinding { rule, reason, fix, .. } = finding;
    let place = match finding.place {
        FindingPlace::Toleration(at, _) => format!("toleration {at}: "),
        FindingPlace::Taint(at, _) => format!("taint {at}: "),
        FindingPlace::Whole | FindingPlace::Selection => String::new(),
    };
    format!("{place}{reason}; {fix} ({} {})", rule.id(), rule.name())
}

/// Nothing is said of what a pool gives its pods.
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
    let tolerations = pod.tolerations.iter().take(LOOKED_AT_MOST).cloned();
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
    }
}

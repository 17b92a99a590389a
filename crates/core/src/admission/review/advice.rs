//! # Advice: what lint says, while the author still looks
//! Room:     findings of lint as warnings of a request.
//! Comes in: a pod as it is asked for, or any facts that lint takes.
//! Goes out: sentences, each with the id of its rule; not many.
//! Not here: the rules (`lint.rs`).

use crate::admission::pool::Pool;
use crate::admission::request::PodAsked;
use crate::fact::Owner;
use crate::lint::{Facts, Finding, Place, Rule, Severity, Workload, lint};
use crate::matching::NumericOperators;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// So many warnings of one rule; an API server cuts off what is longer in all.
pub(super) const WARNINGS_MOST: usize = 8;

/// So many tolerations are looked at; nobody writes that many by hand.
const LOOKED_AT_MOST: usize = 200;

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// Nothing that is less bad. What an API server refuses, it says by itself.
    pub least: Severity,
    /// Nothing of these.
    pub silenced: Vec<Rule>,
}

impl Default for Advice {
    fn default() -> Self {
        Self { least: Severity::Warning, silenced: Vec::new() }
    }
}

/// What lint says of these facts: of templates and nodes as well as of pods.
pub fn advise(facts: &Facts, advice: &Advice) -> Vec<String> {
    sentences(lint(facts).iter(), advice)
}

fn sentences<'f>(found: impl Iterator<Item = &'f Finding>, advice: &Advice) -> Vec<String> {
    let told = found.filter(|finding| {
        finding.rule.severity() >= advice.least && !advice.silenced.contains(&finding.rule)
    });
    told.map(sentence).take(WARNINGS_MOST).collect()
}

/// `toleration 0: "node.kubernetes.io/notready" is almost ..., and is another key; write ... (TL205 misspelt-key)`
fn sentence(finding: &Finding) -> String {
    let Finding { rule, reason, fix, .. } = finding;
    let place = match finding.place {
        Place::Toleration(at, _) => format!("toleration {at}: "),
        Place::Taint(at, _) => format!("taint {at}: "),
        Place::Whole | Place::Selection => String::new(),
    };
    format!("{place}{reason}; {fix} ({} {})", rule.id(), rule.name())
}

/// Nothing is said of what a pool gives its pods.
pub(super) fn of_pod(
    pod: &PodAsked,
    pools: &[Pool],
    numeric: NumericOperators,
    advice: &Advice,
) -> Vec<String> {
    let facts = Facts { workloads: [workload(pod)].into(), numeric, ..Facts::default() };
    let found = lint(&facts);
    let given = |finding: &&Finding| match finding.place {
        Place::Toleration(at, _) => pools.iter().any(|pool| pool.toleration() == pod.tolerations[at]),
        _ => false,
    };
    sentences(found.iter().filter(|finding| !given(finding)), advice)
}

fn workload(pod: &PodAsked) -> Workload {
    let tolerations = pod.tolerations.iter().take(LOOKED_AT_MOST).cloned();
    Workload {
        namespace: pod.identity.namespace.clone(),
        daemon: pod.identity.owner == Owner::DaemonSet,
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
            .any(|name| crate::admission::extended::is_extended_resource(name)),
    }
}

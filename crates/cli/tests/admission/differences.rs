//! Lists the intended differences between the webhook and the API server's plugins; the test demands that each of them
//! appears.

use super::api_servers::{AdmissionController, AdmissionOutcome, ServerPair};
use serde_json::{Value, json};
use taintward_envtest::releases::Release;

/// A difference, as documented in `docs/differences.md`.
pub(crate) struct AdmissionDifference {
    pub(crate) name: &'static str,
    pub(crate) why: &'static str,
    /// The versions of Kubernetes that have it; all if empty.
    pub(crate) only_on: &'static [&'static str],
    pub(crate) holds: fn(&ServerPair<'_>) -> bool,
}

/// All of them.
pub(crate) const DIFFERENCES: &[AdmissionDifference] = &[
    AdmissionDifference {
        name: "forbidden",
        why: "what a whitelist does not allow is a 403 with the remedy, not an internal error (AD-11)",
        only_on: &[],
        holds: |pair| {
            matches!(rejected(pair), Some((500, theirs, 403, ours))
                if theirs.contains("conflict with its") && ours.contains("conflict with its"))
        },
    },
    AdmissionDifference {
        name: "unreadable",
        why: "an annotation that is not a list is a 403 that names it, not an internal error (AD-8)",
        only_on: &[],
        holds: |pair| {
            matches!(rejected(pair), Some((500, theirs, 403, ours))
                if of_lists(theirs) && ours.contains("of the namespace is not a JSON list of tolerations"))
        },
    },
    AdmissionDifference {
        name: "validation first",
        why: "if a pod is invalid as well, that error comes first: the lists are applied to the complete pod",
        only_on: &[],
        holds: |pair| matches!(rejected(pair), Some((500, theirs, 422, _)) if of_lists(theirs)),
    },
    AdmissionDifference {
        name: "old pods stay",
        why: "on update only a toleration that is new is measured by the lists, so that pods admitted under older ones can \
              still be labeled, finished and cleaned up (AD-11)",
        only_on: &[],
        holds: |pair| {
            pair.updated
                && matches!((pair.upstream, pair.other),
                (AdmissionOutcome::Rejected { code: 500, message }, AdmissionOutcome::Pod(_)) if of_lists(message))
        },
    },
    AdmissionDifference {
        name: "updates go through",
        why: "the plugin merges a pod's own tolerations on update, too, and the API server then refuses an update in which \
              one is gone (AD-10, VAL-6); here they stay",
        only_on: &[],
        holds: |pair| {
            pair.updated
                && matches!((pair.upstream, pair.other),
                (AdmissionOutcome::Rejected { code: 422, message }, AdmissionOutcome::Pod(_)) if message.contains("existing toleration"))
        },
    },
    AdmissionDifference {
        name: "added although covered",
        why: "of what an update brings, the plugin leaves out what another toleration covers; here the pod gets what was \
              asked for (AD-10)",
        only_on: &[],
        holds: |pair| {
            let (AdmissionOutcome::Pod(theirs), AdmissionOutcome::Pod(ours)) = (pair.upstream, pair.other)
            else {
                return false;
            };
            let mut rest = ours.iter();
            pair.updated
                && theirs.len() < ours.len()
                && theirs.iter().all(|one| rest.any(|other| other == one))
        },
    },
    AdmissionDifference {
        name: "other order",
        why: "a toleration for hardware that another covers goes when lists are merged as the plugin does, and comes again \
              behind the others (AD-7, AD-10): with the plugin on update, with plugin and webhook both on at creation",
        only_on: &[],
        holds: |pair| {
            let (AdmissionOutcome::Pod(theirs), AdmissionOutcome::Pod(ours)) = (pair.upstream, pair.other)
            else {
                return false;
            };
            (pair.side == AdmissionController::Both || pair.updated) && sorted(theirs) == sorted(ours)
        },
    },
    AdmissionDifference {
        name: "slips are reported",
        why: "an invalid update is refused, and the error names the place in the list as it was sent; the plugin may have \
              merged it away, or moved it (AD-10)",
        only_on: &[],
        holds: |pair| {
            let AdmissionOutcome::Rejected { code: 422, message } = pair.other else { return false };
            let same = |theirs: &AdmissionOutcome| match theirs {
                AdmissionOutcome::Pod(_) => true,
                AdmissionOutcome::Rejected { code, message: theirs } => {
                    *code == 422 && no_places(theirs) == no_places(message)
                }
            };
            pair.updated
                && message.contains("is invalid: ")
                && message.contains("spec.tolerations[")
                && same(pair.upstream)
        },
    },
    AdmissionDifference {
        name: "pod-level resources",
        why: "with the gate PodLevelResources off, as in 1.32 and 1.33, an API server drops `spec.resources` only after the webhook \
              has judged the pod by it (AD-9)",
        only_on: &["1.32", "1.33"],
        holds: |pair| {
            let (AdmissionOutcome::Pod(theirs), AdmissionOutcome::Pod(ours)) = (pair.upstream, pair.other)
            else {
                return false;
            };
            // It comes with the merge, which removes tolerations that others cover, and nothing else.
            let added = json!({"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"});
            let mut others = ours.iter().filter(|one| **one != added);
            !pair.case.pod["spec"]["resources"].is_null()
                && ours.contains(&added)
                && others.all(|one| theirs.contains(one))
        },
    },
];

impl AdmissionDifference {
    /// Whether the API server under test has it.
    pub(crate) fn is_expected(&self) -> bool {
        let version = Release::chosen().expect("the control plane was started").name();
        self.only_on.is_empty() || self.only_on.contains(&version)
    }
}

/// Sorted, because their order is arbitrary.
pub(crate) fn sorted(list: &[Value]) -> Vec<String> {
    let mut texts: Vec<String> = list.iter().map(Value::to_string).collect();
    texts.sort();
    texts
}

/// Without indexes in lists.
fn no_places(message: &str) -> String {
    message.chars().filter(|one| !one.is_ascii_digit()).collect()
}

/// The codes and messages of both sides, if only the webhook decides on the second.
fn rejected<'p>(pair: &ServerPair<'p>) -> Option<(u16, &'p str, u16, &'p str)> {
    match (pair.upstream, pair.other) {
        (
            AdmissionOutcome::Rejected { code: theirs, message: words },
            AdmissionOutcome::Rejected { code: ours, message: own },
        ) if pair.side == AdmissionController::Ours => Some((*theirs, words, *ours, own)),
        _ => None,
    }
}

/// A rejection by the plugin: because of a list, or because the list is invalid.
fn of_lists(message: &str) -> bool {
    message.contains("conflict with its") || message.to_lowercase().contains("json")
}

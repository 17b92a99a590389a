//! Maps the field names of earlier versions of the output, so that paths of `--sort-by`, `custom-columns` and `jsonpath`
//! still find their fields.
//!
//! - Invariant: an old name counts only where an object has no field of that name.
//! - `-o json` and `-o yaml` print the current names only. docs/output.md has the table.

use serde_json::Value;

/// The names of `taintward.io/v1alpha1`, each with its successors: which one depends on the object.
const OF_V1ALPHA1: &[(&str, &[&str])] = &[
    ("about", &["object"]),
    ("all", &["total"]),
    ("allows", &["disruptionsAllowed"]),
    ("anyway", &["evictedWithoutChange"]),
    ("arrival", &["binding"]),
    ("at", &["boundAt", "updatedAt"]),
    ("atTheLatest", &["mayBeEarlier"]),
    ("because", &["reason"]),
    ("becomes", &["newTolerationSeconds"]),
    ("broken", &["violated"]),
    ("by", &["reportingComponent"]),
    ("countsFrom", &["countdownStartedAt"]),
    ("decides", &["decisive"]),
    ("desired", &["desiredHealthy"]),
    ("enforcement", &["leases"]),
    ("finding", &["message"]),
    ("firstAt", &["firstEvictedAt"]),
    ("gaps", &["readErrors"]),
    ("healthy", &["currentHealthy"]),
    ("inSeconds", &["remainingSeconds"]),
    ("inTheWay", &["blockedBy"]),
    ("keptOffByTaints", &["excludedByTaints"]),
    ("lastAt", &["lastEvictedAt", "lastTimestamp"]),
    ("leavesAgain", &["evictedAgain"]),
    ("leavesAt", &["evictedAt"]),
    ("leaving", &["evictions", "evicted"]),
    ("leavingAnyway", &["evictedWithoutChange"]),
    ("leavingHealthy", &["evictedHealthy"]),
    ("leavingLater", &["evictedLater", "countingDown"]),
    ("leavingNow", &["evictedNow", "due"]),
    ("lostForGood", &["notRecreated"]),
    ("marked", &["disruptionTarget"]),
    ("morePatient", &["longerToleration"]),
    ("nearest", &["nearestToleration"]),
    ("none", &["recreation"]),
    ("notUnderstood", &["unsupportedToleration"]),
    ("nowhere", &["unschedulable"]),
    ("others", &["otherPods"]),
    ("outOfReach", &["skipped"]),
    ("page", &["documentation"]),
    ("pending", &["unschedulable"]),
    ("place", &["nextNode"]),
    ("places", &["scheduling"]),
    ("placesNotLookedAt", &["nextNodeNotComputed"]),
    ("placesWithRulesNotLookedAt", &["constraintsNotConsidered"]),
    ("possible", &["feasibleNodes"]),
    ("refuses", &["evictionsRefused"]),
    ("remark", &["message"]),
    ("returns", &["recreation"]),
    ("rulesNotLookedAt", &["constraintsNotConsidered"]),
    ("seconds", &["tolerationSeconds"]),
    ("since", &["addedAt", "countdownStartedAt", "lastTransitionTime"]),
    ("spared", &["noLongerEvicted"]),
    ("stays", &["stayingReasons"]),
    ("taintsWrittenBy", &["taintManagers"]),
    ("then", &["action"]),
    ("toleration", &["index"]),
    ("understood", &["tolerationSupported"]),
    ("unfit", &["excludedForOtherReasons"]),
    ("unread", &["unreadable"]),
    ("until", &["expiresAt"]),
    ("verdict", &["status"]),
    ("what", &["summary"]),
    ("who", &["setBy"]),
    ("why", &["reason"]),
];

/// The field of that name, which may be an earlier one.
pub(super) fn field<'v>(object: &'v Value, name: &str) -> Option<&'v Value> {
    object.get(name).or_else(|| {
        let (_, successors) = OF_V1ALPHA1.iter().find(|(old, _)| *old == name)?;
        successors.iter().find_map(|successor| object.get(successor))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::described::document;
    use crate::output::API_VERSION;
    use serde_json::json;

    #[test]
    fn an_old_name_finds_its_successor_unless_the_object_has_a_field_of_that_name() {
        let object = json!({"evictedAt": 1, "reason": 2, "since": 3, "addedAt": 4});
        for (name, found) in [
            ("evictedAt", Some(1)),
            ("leavesAt", Some(1)),
            ("why", Some(2)),
            ("since", Some(3)),
            ("place", None),
            ("x", None),
        ] {
            assert_eq!(field(&object, name), found.map(|number| json!(number)).as_ref(), "{name}");
        }
        assert_eq!(field(&json!([1]), "why"), None);
    }

    #[test]
    fn the_document_has_every_renamed_field_and_the_version() {
        let page = document("output.md");
        assert!(page.contains(&format!("`apiVersion: {API_VERSION}`")), "{API_VERSION}");
        assert!(OF_V1ALPHA1.is_sorted_by_key(|(old, _)| *old));
        for (old, successors) in OF_V1ALPHA1 {
            for new in *successors {
                let row = |line: &str| {
                    let mut cells = line.split('|').skip(1);
                    let mut has =
                        |name: &str| cells.next().is_some_and(|cell| cell.contains(&format!("`{name}`")));
                    has(old) && has(new)
                };
                assert!(page.lines().any(row), "{old} -> {new}");
            }
        }
    }
}

//! Tests the tolerations and whitelists of namespaces (AD-8 to AD-11).

use super::tolerations;
use crate::admission::pod_toleration_restriction::*;
use crate::admission::request::Operation::{Create, Update};
use crate::testkit::toleration_row;
use crate::toleration::Toleration;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

const PRESSURE: &str = "node.kubernetes.io/memory-pressure Exists - NoSchedule";

#[test]
fn ad_10_which_toleration_covers_which() {
    for (whole, part, expected) in [
        ("a Equal v NoSchedule", "a Equal v NoSchedule", true),
        ("a Exists", "a Equal v NoSchedule", true),
        ("a Exists", "b Equal v NoSchedule", false),
        ("- Exists", "b Equal v NoSchedule", true),
        ("- Equal v", "b Equal v NoSchedule", false),
        ("- Exists - NoSchedule", "b Equal v NoSchedule", true),
        ("- Exists - NoSchedule", "b Equal v NoExecute", false),
        ("- Exists - NoSchedule", "b Equal v", false),
        ("a Equal v", "a Equal v NoExecute", true),
        ("a Equal v", "a Equal w NoExecute", false),
        // For a taint an absent operator means Equal; here it does not.
        ("a Equal v", "a - v NoExecute", false),
        ("a - v", "a Equal v NoExecute", true),
        ("a - v", "a - v", true),
        ("a Equal v", "a Exists", false),
        ("a Lt 5", "a Lt 5", true),
        ("a Lt 5", "a Lt 5 NoSchedule", false),
        ("a Exists", "a Lt 5 NoSchedule", true),
        ("a ? 5", "a ? 5 NoSchedule", false),
        ("a Exists - NoExecute 60", "a Exists - NoExecute 60", true),
        ("a Exists - NoExecute 60", "a Exists - NoExecute 59", true),
        ("a Exists - NoExecute 60", "a Exists - NoExecute 61", false),
        ("a Exists - NoExecute 60", "a Exists - NoExecute", false),
        ("a Exists - NoExecute", "a Exists - NoExecute 60", true),
        // Seconds limit only tolerations that themselves have the effect NoExecute.
        ("a Exists - - 60", "a Exists - NoExecute", true),
    ] {
        assert_eq!(is_superset(&toleration_row(whole), &toleration_row(part)), expected, "{whole} ⊇ {part}");
    }
}

#[test]
fn ad_10_covered_tolerations_are_left_out() {
    for (first, second, expected) in [
        ("", "", ""),
        ("a Exists | b Exists", "c Exists", "a Exists | b Exists | c Exists"),
        ("a Exists", "a Exists", "a Exists"),
        ("a Exists", "a Equal v", "a Exists"),
        ("a Equal v | b Exists", "a Exists", "b Exists | a Exists"),
        ("a Equal v | b Exists | a Equal v", "", "a Equal v | b Exists"),
        ("a Equal v | a Exists | a Equal v", "", "a Exists"),
        // Each covers the other's identity: the first stays.
        ("a Exists | - Exists", "a Exists", "- Exists"),
        ("nr Exists - NoExecute 60", "nr Exists - NoExecute 300", "nr Exists - NoExecute 300"),
        ("nr Exists - NoExecute 300", "nr Exists - NoExecute 60", "nr Exists - NoExecute 300"),
    ] {
        assert_eq!(
            merge(&tolerations(first), &tolerations(second)),
            tolerations(expected),
            "{first} + {second}"
        );
    }
}

fn lists(
    defaults: TolerationListAnnotation,
    whitelist: TolerationListAnnotation,
) -> NamespaceTolerationLists {
    NamespaceTolerationLists { defaults, whitelist }
}

fn present(rows: &str) -> TolerationListAnnotation {
    TolerationListAnnotation::Present(tolerations(rows))
}

#[test]
fn ad_8_an_annotation_overrides_the_cluster_even_if_it_is_empty() {
    let rule = PodTolerationRestriction {
        cluster_defaults: tolerations("cluster Exists"),
        cluster_whitelist: tolerations("w Exists"),
        ..PodTolerationRestriction::default()
    };
    for (defaults, expected) in [
        (TolerationListAnnotation::Absent, "cluster Exists"),
        (present(""), ""),
        (present("own Exists"), "own Exists"),
        (TolerationListAnnotation::Unreadable("bad".into()), ""),
    ] {
        let made = rule.merged(&[], &lists(defaults, TolerationListAnnotation::Absent), Create, true);
        assert_eq!(made.tolerations, tolerations(expected));
    }
    let pod = tolerations("p Exists");
    assert!(
        rule.allows(&pod, None, &lists(TolerationListAnnotation::Absent, TolerationListAnnotation::Absent))
            .is_err()
    );
    assert!(rule.allows(&pod, None, &lists(TolerationListAnnotation::Absent, present(""))).is_ok());
    assert!(rule.allows(&tolerations("w Equal v"), None, &NamespaceTolerationLists::default()).is_ok());
}

#[test]
fn ad_8_an_unreadable_annotation_is_named() {
    let rule = PodTolerationRestriction::default();
    let broken = || TolerationListAnnotation::Unreadable("expected a list at line 1".into());
    let pod = tolerations("p Exists");
    let message = |lists: NamespaceTolerationLists, old: Option<&[Toleration]>| {
        rule.allows(&pod, old, &lists).err().map(|violation| violation.to_string())
    };
    let text = message(lists(broken(), TolerationListAnnotation::Absent), None).unwrap();
    assert!(text.contains(DEFAULTS) && text.contains("expected a list"), "{text}");
    let text = message(lists(TolerationListAnnotation::Absent, broken()), None).unwrap();
    assert!(text.contains(WHITELIST), "{text}");
    // Existing pods can still be changed, but gain nothing.
    assert_eq!(message(lists(broken(), broken()), Some(&pod)), None);
    assert!(message(lists(broken(), broken()), Some(&[])).unwrap().contains(WHITELIST));
    assert!(rule.allows(&[], None, &lists(TolerationListAnnotation::Absent, broken())).is_ok());
}

#[test]
fn ad_9_defaults_on_creation_and_memory_pressure_unless_best_effort() {
    let rule =
        PodTolerationRestriction { merging: MergeMode::AsUpstream, ..PodTolerationRestriction::default() };
    let lists = lists(present("d Exists"), TolerationListAnnotation::Absent);
    for (operation, best_effort, expected) in [
        (Create, true, String::from("own Exists | d Exists")),
        (Create, false, alloc::format!("own Exists | d Exists | {PRESSURE}")),
        (Update, true, String::from("own Exists")),
        (Update, false, alloc::format!("own Exists | {PRESSURE}")),
    ] {
        let made = rule.merged(&tolerations("own Exists"), &lists, operation, best_effort);
        assert_eq!(made.tolerations, tolerations(&expected), "{operation:?} {best_effort}");
        assert_eq!((made.added, made.dropped), (made.tolerations.len() - 1, 0));
    }
}

#[test]
fn ad_10_a_pods_own_toleration_is_removed_only_as_upstream_and_only_on_creation() {
    let own = "a Equal v | nr Exists - NoExecute 50 | a Equal v";
    let defaults = lists(present("a Exists | nr Exists - NoExecute 400"), TolerationListAnnotation::Absent);
    let merged = |merging, operation, best_effort| {
        let rule = PodTolerationRestriction { merging, ..PodTolerationRestriction::default() };
        rule.merged(&tolerations(own), &defaults, operation, best_effort)
    };
    let kept = alloc::format!("{own} | a Exists | nr Exists - NoExecute 400");
    assert_eq!(merged(MergeMode::KeepsOwn, Create, true).tolerations, tolerations(&kept));
    let exact = merged(MergeMode::AsUpstream, Create, true);
    assert_eq!(exact.tolerations, tolerations("a Exists | nr Exists - NoExecute 400"));
    assert_eq!((exact.added, exact.dropped), (2, 3));
    // An API server rejects an update that removes one.
    let updated = merged(MergeMode::AsUpstream, Update, false).tolerations;
    assert_eq!(updated, tolerations(&alloc::format!("{own} | {PRESSURE}")));
    // Nothing to merge: duplicates are not searched for either.
    let rule =
        PodTolerationRestriction { merging: MergeMode::AsUpstream, ..PodTolerationRestriction::default() };
    let untouched = rule.merged(&tolerations(own), &NamespaceTolerationLists::default(), Create, true);
    assert_eq!(untouched.tolerations, tolerations(own));
}

#[test]
fn ad_11_the_whitelist_and_upstreams_wording() {
    let rule = PodTolerationRestriction {
        cluster_whitelist: tolerations("c Exists"),
        ..PodTolerationRestriction::default()
    };
    let pod = tolerations("a Equal v | b Exists - NoExecute 10");
    let message = |whitelist: TolerationListAnnotation| {
        let allowed = rule.allows(&pod, None, &lists(TolerationListAnnotation::Absent, whitelist));
        allowed.map_err(|violation| violation.to_string())
    };
    assert_eq!(message(present("a Exists | b Exists")), Ok(()));
    let text = message(present("a Exists")).unwrap_err();
    let start = "pod tolerations (possibly merged with namespace default tolerations) conflict with its namespace \
                 whitelist";
    assert!(text.starts_with(start), "{text}");
    assert!(text.contains("toleration 1 (b:NoExecute for 10 s)"), "{text}");
    let text = message(TolerationListAnnotation::Absent).unwrap_err();
    assert!(text.contains("conflict with its cluster whitelist: toleration 0 (a=v)"), "{text}");
    assert_eq!(rule.allows(&[], None, &lists(TolerationListAnnotation::Absent, present("x Exists"))), Ok(()));
}

#[test]
fn ad_11_on_update_only_new_tolerations_are_refused() {
    let rule = PodTolerationRestriction::default();
    let lists = lists(TolerationListAnnotation::Absent, present("w Exists"));
    let old = tolerations("a Exists | nr Exists - NoExecute 300");
    assert_eq!(rule.allows(&old, Some(&old), &lists), Ok(()));
    let mut grown = old.clone();
    grown.push(toleration_row("w Equal v"));
    assert_eq!(rule.allows(&grown, Some(&old), &lists), Ok(()));
    grown.push(toleration_row("b Exists"));
    assert!(rule.allows(&grown, Some(&old), &lists).unwrap_err().to_string().contains("toleration 3 (b)"));
    let longer = vec![toleration_row("a Exists"), toleration_row("nr Exists - NoExecute 301")];
    assert!(rule.allows(&longer, Some(&old), &lists).is_err());
}

#[test]
fn ad_10_a_hostile_pod_does_not_cost_quadratic_time() {
    let many: Vec<Toleration> =
        (0..50_000).map(|at| toleration_row(&alloc::format!("k{at} Equal v NoExecute"))).collect();
    // A toleration that a default covers is removed, among however many.
    let rule =
        PodTolerationRestriction { merging: MergeMode::AsUpstream, ..PodTolerationRestriction::default() };
    let made =
        rule.merged(&many, &lists(present("k7 Exists"), TolerationListAnnotation::Absent), Create, false);
    assert_eq!((made.tolerations.len(), made.dropped), (50_001, 1));
    let mut grown = many.clone();
    grown.push(toleration_row("w Equal v"));
    assert!(
        rule.allows(&grown, Some(&many), &lists(TolerationListAnnotation::Absent, present("w Exists")))
            .is_ok()
    );
}

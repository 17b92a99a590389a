//! Tests whole requests: which rules apply, in which order, and what they report.

use super::{labels, pool, requester, tolerations};
use crate::admission::no_execute_guard::{FleetHealth, NoExecuteGuard, NodeTaintUpdate};
use crate::admission::pod_toleration_restriction::{
    MergeMode, NamespaceTolerationLists, PodTolerationRestriction, TolerationListAnnotation,
};
use crate::admission::policy::{DefaultTolerationSeconds, RequestedSeconds};
use crate::admission::pool::{DedicatedPool, PoolEnforcement, PoolExemption};
use crate::admission::request::*;
use crate::admission::review::*;
use crate::fact::PodOwnerKind;
use crate::lint;
use crate::testkit::taint;
use crate::toleration_guard::{CEILING_LABEL, own_tolerations};
use alloc::string::String;
use alloc::vec::Vec;

fn all_on() -> ReviewSettings {
    ReviewSettings {
        defaults: Some(DefaultTolerationSeconds::default()),
        restriction: Some(PodTolerationRestriction::default()),
        extended: true,
        advice: Some(LintAdvice::default()),
        guard: Some(NoExecuteGuard::default()),
        ..ReviewSettings::default()
    }
}

fn created(pod: AdmittedPod) -> PodRequest {
    PodRequest { operation: Operation::Create, requester: Some(requester("ann", &[])), pod, old: None }
}

fn as_it_was(pod: &AdmittedPod) -> PreviousPod {
    PreviousPod { tolerations: pod.tolerations.clone(), gated: pod.gated, ..PreviousPod::default() }
}

fn namespace(team: &str) -> NamespaceFact {
    NamespaceFact { labels: labels(team), ..NamespaceFact::default() }
}

fn view<'s>(namespace: &'s NamespaceFact, pools: &'s [DedicatedPool]) -> ClusterView<'s> {
    ClusterView {
        namespace: Some(namespace),
        policies: Some(&[]),
        pools: Some(pools),
        node_pool: NodePoolMembership::Unknown,
    }
}

#[test]
fn ad_1_rules_apply_in_upstreams_order_and_report_what_they_did() {
    let mut shop = namespace("team=a");
    shop.lists.defaults = TolerationListAnnotation::Present(tolerations("d Exists"));
    shop.requested = RequestedSeconds { not_ready: Some("60".into()), unreachable: None };
    let pools = [pool("a", 1)];
    let pod = AdmittedPod {
        tolerations: tolerations("own Exists"),
        resources: ["gpu.com/x".into()].into(),
        ..AdmittedPod::default()
    };
    let made = mutate(&created(pod), &view(&shop, &pools), &all_on());
    let expected = "own Exists | nr Exists - NoExecute 60 | ur Exists - NoExecute 300 | d Exists \
                    | node.kubernetes.io/memory-pressure Exists - NoSchedule | gpu.com/x Exists - NoSchedule \
                    | dedicated Equal a";
    assert_eq!(made.tolerations, tolerations(expected));
    assert_eq!(made.required.as_ref().map(Vec::len), Some(1));
    let acts: Vec<(AdmissionRule, ActionKind)> = made.acts.iter().map(|act| (act.rule, act.deed)).collect();
    assert_eq!(
        acts,
        [
            (AdmissionRule::Defaults, ActionKind::Added(2)),
            (AdmissionRule::Restriction, ActionKind::Added(2)),
            (AdmissionRule::Extended, ActionKind::Added(1)),
            (AdmissionRule::Pools, ActionKind::Added(1)),
            (AdmissionRule::Pools, ActionKind::Narrowed),
        ]
    );
    assert_eq!((made.warnings, made.unknown), (Vec::new(), Vec::new()));
}

#[test]
fn a_new_pod_of_a_guarded_namespace_gets_the_ceiling_and_keeps_its_own_seconds_in_a_record() {
    let mut shop = namespace("team=a");
    shop.labels.insert(CEILING_LABEL.into(), "3600".into());
    let settings = ReviewSettings { toleration_guard: true, ..all_on() };
    let pod = AdmittedPod { tolerations: tolerations("nr Exists - NoExecute 60"), ..AdmittedPod::default() };
    let pod = AdmittedPod { best_effort: true, ..pod };
    let made = mutate(&created(pod.clone()), &view(&shop, &[]), &settings);
    let given = tolerations("nr Exists - NoExecute 3600 | ur Exists - NoExecute 3600");
    assert_eq!(made.tolerations, given);
    let own = tolerations("nr Exists - NoExecute 60 | ur Exists - NoExecute 300");
    assert_eq!(own_tolerations(&made.tolerations, made.guard.as_ref()), own);
    assert!(
        made.acts
            .contains(&RuleAction { rule: AdmissionRule::TolerationGuard, deed: ActionKind::Changed(2) })
    );
    // A second call, as API servers may make: nothing.
    let again = mutate(
        &created(AdmittedPod { tolerations: given.clone(), ..pod.clone() }),
        &view(&shop, &[]),
        &settings,
    );
    assert_eq!((again.tolerations, again.guard), (given, None));
    // The controller handles running pods, and without the rule nothing is guarded.
    let changed =
        PodRequest { operation: Operation::Update, old: Some(as_it_was(&pod)), ..created(pod.clone()) };
    assert_eq!(mutate(&changed, &view(&shop, &[]), &settings).guard, None);
    assert_eq!(mutate(&created(pod), &view(&shop, &[]), &all_on()).guard, None);
}

#[test]
fn nothing_is_done_when_all_rules_are_off() {
    let pod = AdmittedPod { tolerations: tolerations("own Exists"), ..AdmittedPod::default() };
    let done = review(created(pod.clone()), &view(&namespace(""), &[]), &ReviewSettings::default());
    let same = Mutation { tolerations: pod.tolerations, ..Mutation::default() };
    assert_eq!(done, AdmissionReviewResult { mutation: same, ruling: AdmissionDecision::default() });
}

#[test]
fn ad_12_rules_without_facts_are_skipped_and_reported() {
    let pod =
        AdmittedPod { tolerations: tolerations("- Exists"), best_effort: true, ..AdmittedPod::default() };
    let pools = [DedicatedPool { enforcement: PoolEnforcement::Deny, ..pool("a", 1) }];
    let lacking = |view: ClusterView<'_>| {
        let done = review(created(pod.clone()), &view, &ReviewSettings { advice: None, ..all_on() });
        assert_eq!(done.mutation.tolerations, pod.tolerations);
        // A pool that denies rejects a pod of unknown membership.
        assert_eq!(done.ruling.denial.is_some(), view.pools.is_some_and(|pools| !pools.is_empty()));
        let names = |unknown: &[SkippedRule]| -> Vec<String> {
            unknown.iter().map(|one| alloc::format!("{} {}", one.rule.name(), one.missing.name())).collect()
        };
        (names(&done.mutation.unknown), names(&done.ruling.unknown))
    };
    let (given, judged) = lacking(ClusterView::default());
    assert_eq!(
        given,
        ["default-tolerations namespace", "toleration-restriction namespace", "dedicated-pools pools"]
    );
    assert_eq!(judged, ["toleration-restriction namespace", "dedicated-pools pools"]);
    let (given, judged) = lacking(ClusterView { pools: Some(&pools), ..ClusterView::default() });
    assert_eq!(given[2..], ["dedicated-pools membership"]);
    assert_eq!(judged[1..], ["dedicated-pools namespace"]);
    let shop = namespace("");
    let (given, _) = lacking(ClusterView { policies: None, ..view(&shop, &[]) });
    assert_eq!(given, ["default-tolerations policies"]);
}

#[test]
fn ad_11_a_refusal_and_the_first_rule_to_refuse() {
    let lists = NamespaceTolerationLists {
        whitelist: TolerationListAnnotation::Present(tolerations("w Exists")),
        ..NamespaceTolerationLists::default()
    };
    let strict = NamespaceFact { lists, ..namespace("team=b") };
    let pools = [
        DedicatedPool { enforcement: PoolEnforcement::Deny, ..pool("a", 1) },
        pool("b", 2),
        DedicatedPool { enforcement: PoolEnforcement::Warn, ..pool("c", 3) },
    ];
    let pod = AdmittedPod { tolerations: tolerations("- Exists"), ..AdmittedPod::default() };
    let ruling = validate(&created(pod.clone()), &view(&strict, &pools), &all_on());
    assert_eq!(ruling.denial.as_ref().map(|denial| denial.rule), Some(AdmissionRule::Restriction));
    let ruling = validate(&created(pod.clone()), &view(&namespace("team=b"), &pools), &all_on());
    let denial = ruling.denial.expect("pool a denies");
    assert_eq!(denial.rule, AdmissionRule::Pools);
    assert!(denial.message.contains("pool a") && !denial.message.contains("pool c"), "{}", denial.message);
    // Pool c warns a pod that tolerates everything.
    assert!(ruling.warnings[0].contains("pool c"), "{:?}", ruling.warnings);
    assert!(ruling.warnings[1].contains("TL201 tolerates-everything"), "{:?}", ruling.warnings);
    let acts: Vec<(AdmissionRule, ActionKind)> = ruling.acts.iter().map(|act| (act.rule, act.deed)).collect();
    let expected = [
        (AdmissionRule::Pools, ActionKind::Warned(1)),
        (AdmissionRule::Pools, ActionKind::Rejected),
        (AdmissionRule::Advice, ActionKind::Warned(1)),
    ];
    assert_eq!(acts, expected);
    // An old pod can be updated.
    let update = PodRequest { operation: Operation::Update, old: Some(as_it_was(&pod)), ..created(pod) };
    assert_eq!(validate(&update, &view(&strict, &pools), &all_on()), AdmissionDecision::default());
}

#[test]
fn an_exempt_pod_is_counted_as_such_and_gets_nothing() {
    let pools = [DedicatedPool { enforcement: PoolEnforcement::Deny, ..pool("a", 1) }];
    let mirror = AdmittedPod {
        identity: PodIdentity { mirror: true, ..PodIdentity::default() },
        tolerations: tolerations("- Exists"),
        ..AdmittedPod::default()
    };
    let kubelet = requester("system:node:n1", &["system:nodes"]);
    let by_kubelet = PodRequest { requester: Some(kubelet), ..created(mirror.clone()) };
    let settings = ReviewSettings { advice: None, ..ReviewSettings::default() };
    let done = review(by_kubelet, &view(&namespace("team=b"), &pools), &settings);
    assert_eq!(done.ruling.denial, None);
    assert_eq!(
        done.ruling.acts,
        [RuleAction { rule: AdmissionRule::Pools, deed: ActionKind::Exempted(PoolExemption::Mirror) }]
    );
    // The annotation is not accepted from another requester.
    let forged = review(created(mirror), &view(&namespace("team=b"), &pools), &settings);
    assert!(forged.ruling.denial.is_some());
    let daemon = PodIdentity { owner: PodOwnerKind::DaemonSet, ..PodIdentity::default() };
    let own = AdmittedPod { identity: daemon, ..AdmittedPod::default() };
    let done = mutate(&created(own), &view(&namespace("team=a"), &pools), &settings);
    assert_eq!((done.tolerations, done.required), (Vec::new(), None));
}

#[test]
fn advice_comes_from_lint_and_not_about_what_a_pool_adds() {
    let message = |rows: &str, pools: &[DedicatedPool], settings: &ReviewSettings| {
        let pod = AdmittedPod { tolerations: tolerations(rows), ..AdmittedPod::default() };
        validate(&created(pod), &view(&namespace("team=a"), pools), settings).warnings
    };
    let misspelt = "x Exists - NoSchedule | node.kubernetes.io/notready Exists - NoExecute 5";
    let reported = message(misspelt, &[], &all_on());
    assert_eq!(reported.len(), 1);
    let expected = "toleration 1: \"node.kubernetes.io/notready\" resembles node.kubernetes.io/not-ready, but is a different key; \
                    write node.kubernetes.io/not-ready (TL205 misspelt-key)";
    assert_eq!(reported[0], expected);
    let with = |advice| ReviewSettings { advice: Some(advice), ..all_on() };
    let silenced = LintAdvice { silenced: [lint::Rule::MisspeltKey].into(), ..LintAdvice::default() };
    assert_eq!(message(misspelt, &[], &with(silenced)), Vec::<String>::new());
    let least = LintAdvice { least: lint::Severity::Error, ..LintAdvice::default() };
    assert_eq!(message(misspelt, &[], &with(least)), Vec::<String>::new());
    // Without a pool of this name, nothing attracts the pod to any node.
    assert!(message("dedicated Equal a", &[], &all_on())[0].contains("TL303"));
    assert_eq!(message("dedicated Equal a", &[pool("a", 1)], &all_on()), Vec::<String>::new());
    let many = "node.kubernetes.io/notready Exists - NoExecute 5 |".repeat(5_000);
    assert_eq!(message(&many, &[], &all_on()).len(), 8);
    // There is no second warning about a pod whose tolerations do not change.
    let pod = AdmittedPod { tolerations: tolerations(misspelt), ..AdmittedPod::default() };
    let update = PodRequest { operation: Operation::Update, old: Some(as_it_was(&pod)), ..created(pod) };
    assert_eq!(validate(&update, &view(&namespace("team=a"), &[]), &all_on()), AdmissionDecision::default());
}

#[test]
fn a_change_of_a_node_is_guarded_and_warned_about() {
    let (old, new) = ([], [taint("node.kubernetes.io/notready:NoExecute")]);
    let change = NodeTaintUpdate {
        name: "n",
        old: Some(&old),
        new: &new,
        allow: None,
        ready: Some(true),
        requester: None,
        own: &[],
    };
    let last = FleetHealth { total: 3, healthy: 1, ..FleetHealth::default() };
    let ruling = change_of_node(&change, &[], Some(last), &all_on());
    assert_eq!(ruling.denial.map(|denial| denial.rule), Some(AdmissionRule::Brake));
    assert!(
        ruling.warnings[0].starts_with("taint 0: ") && ruling.warnings[0].contains("TL205"),
        "{:?}",
        ruling.warnings
    );
    let ruling = change_of_node(&change, &[], None, &all_on());
    assert_eq!(
        (ruling.denial, ruling.unknown),
        (None, [SkippedRule { rule: AdmissionRule::Brake, missing: MissingInput::Nodes }].into())
    );
    let same = NodeTaintUpdate { old: Some(&new), ..change };
    assert_eq!(change_of_node(&same, &[], Some(last), &all_on()), AdmissionDecision::default());
    assert_eq!(
        change_of_node(&change, &[], Some(last), &ReviewSettings::default()),
        AdmissionDecision::default()
    );
}

#[test]
fn ad_10_a_toleration_that_upstream_would_drop_is_reported() {
    let mut shop = namespace("");
    shop.lists.defaults = TolerationListAnnotation::Present(tolerations("a Exists"));
    let exact =
        PodTolerationRestriction { merging: MergeMode::AsUpstream, ..PodTolerationRestriction::default() };
    let settings = ReviewSettings { restriction: Some(exact), ..ReviewSettings::default() };
    let pod =
        AdmittedPod { tolerations: tolerations("a Equal v"), best_effort: true, ..AdmittedPod::default() };
    let made = mutate(&created(pod), &view(&shop, &[]), &settings);
    assert_eq!(made.tolerations, tolerations("a Exists"));
    let deeds: Vec<ActionKind> = made.acts.iter().map(|act| act.deed).collect();
    assert_eq!(deeds, [ActionKind::Added(1), ActionKind::Dropped(1)]);
}

#[test]
fn ad_4_an_update_without_a_known_old_state_adds_nothing_new() {
    let lists = NamespaceTolerationLists {
        whitelist: TolerationListAnnotation::Present(tolerations("w Exists")),
        ..NamespaceTolerationLists::default()
    };
    let strict = NamespaceFact {
        lists,
        requested: RequestedSeconds { not_ready: Some("60".into()), unreachable: None },
        ..namespace("")
    };
    let pools = [DedicatedPool { enforcement: PoolEnforcement::Deny, ..pool("a", 1) }];
    let pod = AdmittedPod {
        tolerations: tolerations("dedicated Exists | nr Exists - NoExecute 300 | ur Exists - NoExecute 300"),
        best_effort: true,
        ..AdmittedPod::default()
    };
    let untold = PodRequest { operation: Operation::Update, ..created(pod.clone()) };
    let done = review(untold, &view(&strict, &pools), &all_on());
    assert_eq!((done.mutation.tolerations, done.ruling.denial), (pod.tolerations, None));
}

#[test]
fn names_in_metrics_are_distinct() {
    let mut names: Vec<&str> = AdmissionRule::ALL.iter().map(|rule| rule.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), AdmissionRule::ALL.len());
}

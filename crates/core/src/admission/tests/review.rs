//! Whole requests.

use super::guard::requester;
use super::pools::{labels, pool};
use super::{taint, tolerations};
use crate::admission::brake::{Brake, Fleet, NodeChange};
use crate::admission::policy::{Asked, Upstream};
use crate::admission::pool::{Enforcement, Exempt, Pool};
use crate::admission::request::*;
use crate::admission::restriction::{Listed, Merging, NamespaceLists, Restriction};
use crate::admission::review::*;
use crate::fact::Owner;
use crate::lint;
use alloc::string::String;
use alloc::vec::Vec;

fn all_on() -> Settings {
    Settings {
        defaults: Some(Upstream::default()),
        restriction: Some(Restriction::default()),
        extended: true,
        advice: Some(Advice::default()),
        brake: Some(Brake::default()),
        ..Settings::default()
    }
}

fn created(pod: PodAsked) -> PodRequest {
    PodRequest { operation: Operation::Create, requester: Some(requester("ann", &[])), pod, old: None }
}

fn as_it_was(pod: &PodAsked) -> PodBefore {
    PodBefore { tolerations: pod.tolerations.clone(), gated: pod.gated, ..PodBefore::default() }
}

fn namespace(team: &str) -> NamespaceFacts {
    NamespaceFacts { labels: labels(team), ..NamespaceFacts::default() }
}

fn around<'s>(namespace: &'s NamespaceFacts, pools: &'s [Pool]) -> Surroundings<'s> {
    Surroundings {
        namespace: Some(namespace),
        policies: Some(&[]),
        pools: Some(pools),
        node_pool: NodePool::Unknown,
    }
}

#[test]
fn ad_1_the_rules_come_in_the_order_of_upstream_and_say_what_they_did() {
    let mut shop = namespace("team=a");
    shop.lists.defaults = Listed::Present(tolerations("d Exists"));
    shop.asked = Asked { not_ready: Some("60".into()), unreachable: None };
    let pools = [pool("a", 1)];
    let pod = PodAsked {
        tolerations: tolerations("own Exists"),
        resources: ["gpu.com/x".into()].into(),
        ..PodAsked::default()
    };
    let made = mutate(&created(pod), &around(&shop, &pools), &all_on());
    let expected = "own Exists | nr Exists - NoExecute 60 | ur Exists - NoExecute 300 | d Exists \
                    | node.kubernetes.io/memory-pressure Exists - NoSchedule | gpu.com/x Exists - NoSchedule \
                    | dedicated Equal a";
    assert_eq!(made.tolerations, tolerations(expected));
    assert_eq!(made.required.as_ref().map(Vec::len), Some(1));
    let acts: Vec<(Rule, Deed)> = made.acts.iter().map(|act| (act.rule, act.deed)).collect();
    assert_eq!(
        acts,
        [
            (Rule::Defaults, Deed::Added(2)),
            (Rule::Restriction, Deed::Added(2)),
            (Rule::Extended, Deed::Added(1)),
            (Rule::Pools, Deed::Added(1)),
            (Rule::Pools, Deed::Narrowed),
        ]
    );
    assert_eq!((made.warnings, made.unknown), (Vec::new(), Vec::new()));
}

#[test]
fn nothing_is_done_where_nothing_is_on() {
    let pod = PodAsked { tolerations: tolerations("own Exists"), ..PodAsked::default() };
    let done = review(created(pod.clone()), &around(&namespace(""), &[]), &Settings::default());
    let same = Mutation { tolerations: pod.tolerations, ..Mutation::default() };
    assert_eq!(done, Review { mutation: same, ruling: Ruling::default() });
}

#[test]
fn ad_12_what_is_not_known_is_left_out_and_said() {
    let pod = PodAsked { tolerations: tolerations("- Exists"), best_effort: true, ..PodAsked::default() };
    let pools = [Pool { enforcement: Enforcement::Deny, ..pool("a", 1) }];
    let lacking = |around: Surroundings<'_>| {
        let done = review(created(pod.clone()), &around, &Settings { advice: None, ..all_on() });
        assert_eq!(done.mutation.tolerations, pod.tolerations);
        // A pool that denies keeps out what it does not know.
        assert_eq!(done.ruling.denial.is_some(), around.pools.is_some_and(|pools| !pools.is_empty()));
        let names = |unknown: &[Unknown]| -> Vec<String> {
            unknown.iter().map(|one| alloc::format!("{} {}", one.rule.name(), one.missing.name())).collect()
        };
        (names(&done.mutation.unknown), names(&done.ruling.unknown))
    };
    let (given, judged) = lacking(Surroundings::default());
    assert_eq!(
        given,
        ["default-tolerations namespace", "toleration-restriction namespace", "dedicated-pools pools"]
    );
    assert_eq!(judged, ["toleration-restriction namespace", "dedicated-pools pools"]);
    let (given, judged) = lacking(Surroundings { pools: Some(&pools), ..Surroundings::default() });
    assert_eq!(given[2..], ["dedicated-pools membership"]);
    assert_eq!(judged[1..], ["dedicated-pools namespace"]);
    let shop = namespace("");
    let (given, _) = lacking(Surroundings { policies: None, ..around(&shop, &[]) });
    assert_eq!(given, ["default-tolerations policies"]);
}

#[test]
fn ad_11_a_refusal_and_the_first_rule_to_refuse() {
    let lists =
        NamespaceLists { whitelist: Listed::Present(tolerations("w Exists")), ..NamespaceLists::default() };
    let strict = NamespaceFacts { lists, ..namespace("team=b") };
    let pools = [
        Pool { enforcement: Enforcement::Deny, ..pool("a", 1) },
        pool("b", 2),
        Pool { enforcement: Enforcement::Warn, ..pool("c", 3) },
    ];
    let pod = PodAsked { tolerations: tolerations("- Exists"), ..PodAsked::default() };
    let ruling = validate(&created(pod.clone()), &around(&strict, &pools), &all_on());
    assert_eq!(ruling.denial.as_ref().map(|denial| denial.rule), Some(Rule::Restriction));
    let ruling = validate(&created(pod.clone()), &around(&namespace("team=b"), &pools), &all_on());
    let denial = ruling.denial.expect("pool a denies");
    assert_eq!(denial.rule, Rule::Pools);
    assert!(denial.message.contains("pool a") && !denial.message.contains("pool c"), "{}", denial.message);
    // Pool c warns; and a pod that bears everything is told so.
    assert!(ruling.warnings[0].contains("pool c"), "{:?}", ruling.warnings);
    assert!(ruling.warnings[1].contains("TL201 tolerates-everything"), "{:?}", ruling.warnings);
    let acts: Vec<(Rule, Deed)> = ruling.acts.iter().map(|act| (act.rule, act.deed)).collect();
    let expected =
        [(Rule::Pools, Deed::Warned(1)), (Rule::Pools, Deed::Refused), (Rule::Advice, Deed::Warned(1))];
    assert_eq!(acts, expected);
    // An old pod can be changed.
    let update = PodRequest { operation: Operation::Update, old: Some(as_it_was(&pod)), ..created(pod) };
    assert_eq!(validate(&update, &around(&strict, &pools), &all_on()), Ruling::default());
}

#[test]
fn who_is_exempt_is_counted_as_such_and_gets_nothing() {
    let pools = [Pool { enforcement: Enforcement::Deny, ..pool("a", 1) }];
    let mirror = PodAsked {
        identity: Identity { mirror: true, ..Identity::default() },
        tolerations: tolerations("- Exists"),
        ..PodAsked::default()
    };
    let kubelet = requester("system:node:n1", &["system:nodes"]);
    let by_kubelet = PodRequest { requester: Some(kubelet), ..created(mirror.clone()) };
    let settings = Settings { advice: None, ..Settings::default() };
    let done = review(by_kubelet, &around(&namespace("team=b"), &pools), &settings);
    assert_eq!(done.ruling.denial, None);
    assert_eq!(done.ruling.acts, [Act { rule: Rule::Pools, deed: Deed::Exempted(Exempt::Mirror) }]);
    // Another requester that writes such an annotation down is not believed.
    let forged = review(created(mirror), &around(&namespace("team=b"), &pools), &settings);
    assert!(forged.ruling.denial.is_some());
    let daemon = Identity { owner: Owner::DaemonSet, ..Identity::default() };
    let own = PodAsked { identity: daemon, ..PodAsked::default() };
    let done = mutate(&created(own), &around(&namespace("team=a"), &pools), &settings);
    assert_eq!((done.tolerations, done.required), (Vec::new(), None));
}

#[test]
fn advice_is_lints_and_not_about_what_a_pool_gives() {
    let said = |rows: &str, pools: &[Pool], settings: &Settings| {
        let pod = PodAsked { tolerations: tolerations(rows), ..PodAsked::default() };
        validate(&created(pod), &around(&namespace("team=a"), pools), settings).warnings
    };
    let misspelt = "x Exists - NoSchedule | node.kubernetes.io/notready Exists - NoExecute 5";
    let told = said(misspelt, &[], &all_on());
    assert_eq!(told.len(), 1);
    let expected = "toleration 1: \"node.kubernetes.io/notready\" is almost node.kubernetes.io/not-ready, and is another key; \
                    write node.kubernetes.io/not-ready (TL205 misspelt-key)";
    assert_eq!(told[0], expected);
    let with = |advice| Settings { advice: Some(advice), ..all_on() };
    let silenced = Advice { silenced: [lint::Rule::MisspeltKey].into(), ..Advice::default() };
    assert_eq!(said(misspelt, &[], &with(silenced)), Vec::<String>::new());
    let least = Advice { least: lint::Severity::Error, ..Advice::default() };
    assert_eq!(said(misspelt, &[], &with(least)), Vec::<String>::new());
    // Without a pool of this name, nothing leads the pod anywhere.
    assert!(said("dedicated Equal a", &[], &all_on())[0].contains("TL303"));
    assert_eq!(said("dedicated Equal a", &[pool("a", 1)], &all_on()), Vec::<String>::new());
    let many = "node.kubernetes.io/notready Exists - NoExecute 5 |".repeat(5_000);
    assert_eq!(said(&many, &[], &all_on()).len(), 8);
    // Nothing is said again of a pod whose tolerations stay as they are.
    let pod = PodAsked { tolerations: tolerations(misspelt), ..PodAsked::default() };
    let update = PodRequest { operation: Operation::Update, old: Some(as_it_was(&pod)), ..created(pod) };
    assert_eq!(validate(&update, &around(&namespace("team=a"), &[]), &all_on()), Ruling::default());
}

#[test]
fn a_change_of_a_node_is_braked_and_advised() {
    let (old, new) = ([], [taint("node.kubernetes.io/notready", "", "NoExecute")]);
    let change = NodeChange {
        name: "n",
        old: Some(&old),
        new: &new,
        allow: None,
        ready: Some(true),
        requester: None,
        own: &[],
    };
    let last = Fleet { total: 3, healthy: 1, ..Fleet::default() };
    let ruling = change_of_node(&change, &[], Some(last), &all_on());
    assert_eq!(ruling.denial.map(|denial| denial.rule), Some(Rule::Brake));
    assert!(
        ruling.warnings[0].starts_with("taint 0: ") && ruling.warnings[0].contains("TL205"),
        "{:?}",
        ruling.warnings
    );
    let ruling = change_of_node(&change, &[], None, &all_on());
    assert_eq!(
        (ruling.denial, ruling.unknown),
        (None, [Unknown { rule: Rule::Brake, missing: Missing::Nodes }].into())
    );
    let same = NodeChange { old: Some(&new), ..change };
    assert_eq!(change_of_node(&same, &[], Some(last), &all_on()), Ruling::default());
    assert_eq!(change_of_node(&change, &[], Some(last), &Settings::default()), Ruling::default());
}

#[test]
fn ad_10_what_upstream_would_drop_is_told() {
    let mut shop = namespace("");
    shop.lists.defaults = Listed::Present(tolerations("a Exists"));
    let exact = Restriction { merging: Merging::AsUpstream, ..Restriction::default() };
    let settings = Settings { restriction: Some(exact), ..Settings::default() };
    let pod = PodAsked { tolerations: tolerations("a Equal v"), best_effort: true, ..PodAsked::default() };
    let made = mutate(&created(pod), &around(&shop, &[]), &settings);
    assert_eq!(made.tolerations, tolerations("a Exists"));
    let deeds: Vec<Deed> = made.acts.iter().map(|act| act.deed).collect();
    assert_eq!(deeds, [Deed::Added(1), Deed::Dropped(1)]);
}

#[test]
fn ad_4_a_change_whose_old_state_is_not_told_brings_nothing_new() {
    let lists =
        NamespaceLists { whitelist: Listed::Present(tolerations("w Exists")), ..NamespaceLists::default() };
    let strict = NamespaceFacts {
        lists,
        asked: Asked { not_ready: Some("60".into()), unreachable: None },
        ..namespace("")
    };
    let pools = [Pool { enforcement: Enforcement::Deny, ..pool("a", 1) }];
    let pod = PodAsked {
        tolerations: tolerations("dedicated Exists | nr Exists - NoExecute 300 | ur Exists - NoExecute 300"),
        best_effort: true,
        ..PodAsked::default()
    };
    let untold = PodRequest { operation: Operation::Update, ..created(pod.clone()) };
    let done = review(untold, &around(&strict, &pools), &all_on());
    assert_eq!((done.mutation.tolerations, done.ruling.denial), (pod.tolerations, None));
}

#[test]
fn names_for_counting_are_told_apart() {
    let mut names: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), Rule::ALL.len());
}

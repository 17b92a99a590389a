//! Tests default tolerations with configured seconds (AD-2 to AD-4).

use super::tolerations;
use crate::admission::policy::*;
use crate::admission::{DefaultSeconds, LabelSelector};
use crate::scheduling::{Labels, NodeOperator, NodeRequirement};
use crate::toleration::Toleration;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

fn requested(not_ready: &str, unreachable: &str) -> RequestedSeconds {
    let text = |text: &str| (!text.is_empty()).then(|| text.into());
    RequestedSeconds { not_ready: text(not_ready), unreachable: text(unreachable) }
}

fn policy(name: &str, not_ready: Option<i64>, least: Option<i64>, most: Option<i64>) -> TolerationPolicy {
    TolerationPolicy {
        name: name.into(),
        not_ready: not_ready.map(TolerationDuration::For),
        unreachable: not_ready.map(TolerationDuration::For),
        bounds: SecondsBounds { least, most },
        ..TolerationPolicy::default()
    }
}

#[test]
fn ad_3_precedence_of_the_sources_of_seconds() {
    let own = policy("p", Some(30), None, None);
    for (workload, namespace, policy, stay, source) in [
        ("60", "50", Some(&own), TolerationDuration::For(60), SecondsSource::Workload),
        ("", "50", Some(&own), TolerationDuration::For(50), SecondsSource::Namespace),
        ("", "", Some(&own), TolerationDuration::For(30), SecondsSource::Policy("p".into())),
        ("", "", None, TolerationDuration::For(300), SecondsSource::BuiltIn),
        ("forever", "50", None, TolerationDuration::Forever, SecondsSource::Workload),
        ("0", "50", None, TolerationDuration::For(0), SecondsSource::Workload),
        ("-9223372036854775808", "", None, TolerationDuration::For(i64::MIN), SecondsSource::Workload),
        ("5m", "50", None, TolerationDuration::For(50), SecondsSource::Namespace),
        ("5m", "1e3", Some(&own), TolerationDuration::For(30), SecondsSource::Policy("p".into())),
    ] {
        let decision =
            decide(&requested(workload, ""), &requested(namespace, ""), policy, DefaultSeconds::default());
        assert_eq!(
            (decision.not_ready.stay, &decision.not_ready.source),
            (stay, &source),
            "{workload} {namespace}"
        );
        // The other taint is resolved separately.
        let other = policy.map_or(TolerationDuration::For(300), |_| TolerationDuration::For(30));
        assert_eq!(decision.unreachable.stay, other);
        let odd = [workload, namespace].iter().filter(|text| ["5m", "1e3"].contains(text)).count();
        assert_eq!(decision.not_ready.warnings.len(), odd, "{workload} {namespace}");
    }
}

#[test]
fn an_invalid_value_is_named_and_skipped() {
    for text in ["", "5m", "60s", " 60", "+60", "060", "1.5", "Forever", "9223372036854775808", "\u{1b}[31m"]
    {
        assert_eq!(TolerationDuration::parse(text), None, "{text}");
    }
    let decision =
        decide(&requested("\u{1b}[31m", ""), &requested("", "5m"), None, DefaultSeconds::default());
    let message = &decision.not_ready.warnings[0];
    assert!(
        message.contains(NOT_READY_SECONDS) && message.contains("of the pod") && !message.contains('\u{1b}'),
        "{message}"
    );
    let message = &decision.unreachable.warnings[0];
    assert!(
        message.contains(UNREACHABLE_SECONDS) && message.contains("of the namespace is \"5m\""),
        "{message}"
    );
}

#[test]
fn bounds_clamp_annotations_with_a_warning_but_not_the_policys_own_seconds() {
    for (text, least, most, expected, words) in [
        ("60", None, None, TolerationDuration::For(60), ""),
        ("60", Some(60), Some(60), TolerationDuration::For(60), ""),
        ("5", Some(60), None, TolerationDuration::For(60), "at least 60 s"),
        ("500", Some(60), Some(100), TolerationDuration::For(100), "at most 100 s"),
        ("forever", None, Some(100), TolerationDuration::For(100), "asks for \"forever\""),
        ("forever", Some(100), None, TolerationDuration::Forever, ""),
        ("50", Some(60), Some(10), TolerationDuration::For(10), "at most 10 s"),
    ] {
        let policy = policy("p", Some(1_000), least, most);
        for (workload, namespace) in [(text, "7"), ("", text)] {
            let chosen = decide(
                &requested(workload, ""),
                &requested(namespace, ""),
                Some(&policy),
                DefaultSeconds::default(),
            )
            .not_ready;
            assert_eq!(chosen.stay, expected, "{text} {least:?} {most:?}");
            assert_eq!(chosen.warnings.len(), usize::from(!words.is_empty()));
            assert!(chosen.warnings.iter().all(|warning| warning.contains(words)), "{:?}", chosen.warnings);
        }
        let own = decide(&requested("", ""), &requested("", ""), Some(&policy), DefaultSeconds::default());
        assert_eq!(own.not_ready.stay, TolerationDuration::For(1_000));
    }
}

fn in_team(team: &str) -> Labels {
    [("team".into(), team.into())].into()
}

#[test]
fn one_policy_applies_to_a_namespace() {
    let with = |name: &str, priority, selector| TolerationPolicy {
        priority,
        namespaces: selector,
        ..policy(name, None, None, None)
    };
    let a = || LabelSelector::of_labels([("team", "a")]);
    let odd = LabelSelector(vec![NodeRequirement {
        key: "team".into(),
        operator: NodeOperator::Gt,
        values: vec!["1".into()],
    }]);
    let policies = [
        with("z", 0, LabelSelector::default()),
        with("y", 0, LabelSelector::default()),
        with("x", 5, a()),
        with("w", 5, a()),
        with("v", 9, odd),
    ];
    let name = |team| policy_for(&policies, &in_team(team)).map(|policy| &*policy.name);
    assert_eq!(name("a"), Some("w"));
    assert_eq!(name("2"), Some("y"));
    assert!(policy_for(&policies[2..], &in_team("b")).is_none());
}

#[test]
fn faults_of_a_policy() {
    let reasons =
        |policy: &TolerationPolicy| policy.errors().iter().map(|error| error.reason).collect::<Vec<_>>();
    assert_eq!(reasons(&policy("p", Some(60), Some(10), Some(100))), Vec::<&str>::new());
    assert_eq!(reasons(&policy("p", None, Some(100), Some(10))), ["BoundsContradict"]);
    assert_eq!(reasons(&policy("p", Some(60), None, Some(10))), ["OutsideOwnBounds", "OutsideOwnBounds"]);
    let odd = TolerationPolicy {
        namespaces: LabelSelector::of_labels([("a b", "")]),
        ..TolerationPolicy::default()
    };
    assert_eq!(reasons(&odd), ["BadSelector"]);
}

const SIXTY: &str = "nr Exists - NoExecute 60 | ur Exists - NoExecute 60";
const UPSTREAM: &str = "nr Exists - NoExecute 300 | ur Exists - NoExecute 300";

fn made(
    existing: &[Toleration],
    old: Option<&[Toleration]>,
    behind: &str,
    may_run: bool,
) -> DefaultedTolerations {
    let upstream = DefaultTolerationSeconds { may_run, ..DefaultTolerationSeconds::default() };
    let decision = decide(&requested("60", "60"), &requested("", ""), None, upstream.seconds);
    with_defaults(existing, old, &tolerations(behind), upstream, &decision)
}

#[test]
fn ad_2_only_upstreams_defaults_are_recognized() {
    for (existing, expected) in [
        ("", SIXTY),
        (UPSTREAM, SIXTY),
        ("own Exists", &*alloc::format!("own Exists | {SIXTY}")),
        // None of these can come from upstream.
        (
            "nr Exists - NoExecute 300 | ur Exists - NoExecute 300 | own Exists",
            "nr Exists - NoExecute 300 | ur Exists - NoExecute 300 | own Exists",
        ),
        (
            "nr Exists - NoExecute 301 | ur Exists - NoExecute 299",
            "nr Exists - NoExecute 301 | ur Exists - NoExecute 299",
        ),
        ("nr Exists - NoExecute | ur Exists - - -", "nr Exists - NoExecute | ur Exists - - -"),
        ("- Exists | nr Exists - NoExecute 300", "- Exists | nr Exists - NoExecute 300"),
        (
            "nr Exists | ur Exists | nr Exists - NoExecute 300",
            "nr Exists | ur Exists | nr Exists - NoExecute 300",
        ),
        // The second of upstream's two, after a first of the author's own.
        ("nr Exists | ur Exists - NoExecute 300", "nr Exists | ur Exists - NoExecute 60"),
        (
            "nr Equal x NoExecute | ur Exists - NoExecute 300",
            "nr Equal x NoExecute | ur Exists - NoExecute 60",
        ),
        // Upstream's come in this order only: the first is the author's.
        (
            "ur Exists - NoExecute 300 | nr Exists - NoExecute 300",
            "ur Exists - NoExecute 300 | nr Exists - NoExecute 60",
        ),
        ("ur Exists - NoExecute 300", "ur Exists - NoExecute 300 | nr Exists - NoExecute 60"),
        // The author's toleration is the same as upstream's, also before upstream has added its own.
        ("nr Exists - NoExecute 300", SIXTY),
        // Before another of the author's own, it is not.
        (
            "nr Exists - NoExecute 300 | own Exists",
            "nr Exists - NoExecute 300 | own Exists | ur Exists - NoExecute 60",
        ),
    ] {
        let made = made(&tolerations(existing), None, "", true);
        assert_eq!(made.tolerations, tolerations(expected), "{existing}");
    }
}

#[test]
fn ad_2_with_upstream_off_nothing_is_attributed_to_it() {
    assert_eq!(made(&tolerations(UPSTREAM), None, "", false).tolerations, tolerations(UPSTREAM));
    let half = made(&tolerations("nr Exists - NoExecute 300"), None, "", false);
    assert_eq!(half.tolerations, tolerations("nr Exists - NoExecute 300 | ur Exists - NoExecute 60"));
    assert_eq!((half.added, half.changed), (1, 0));
}

#[test]
fn ad_1_tolerations_of_upstreams_other_plugins_are_skipped() {
    let gpu = "gpu.com/x Exists - NoSchedule";
    let list = alloc::format!("{UPSTREAM} | {gpu}");
    assert_eq!(
        made(&tolerations(&list), None, gpu, true).tolerations,
        tolerations(&alloc::format!("{SIXTY} | {gpu}"))
    );
    assert_eq!(made(&tolerations(&list), None, "", true).tolerations, tolerations(&list));
}

#[test]
fn ad_8_a_namespaces_defaults_for_these_taints_hide_nothing_of_the_authors() {
    let list = tolerations("ur Exists - NoExecute 300 | nr Exists - NoExecute 60");
    assert_eq!(made(&list, None, "nr Exists - NoExecute 60", true).tolerations, list);
}

#[test]
fn ad_4_on_update_only_new_tolerations_can_be_upstreams() {
    let old = tolerations(UPSTREAM);
    assert_eq!(made(&old, Some(&old), "", true).tolerations, old);
    assert_eq!(made(&old, Some(&[]), "", true).tolerations, tolerations(SIXTY));
    assert_eq!(made(&old, Some(&old[..1]), "", true).tolerations[..1], old[..1]);
    assert_eq!(made(&[], Some(&[]), "", true).tolerations, tolerations(SIXTY));
}

#[test]
fn a_warning_is_given_only_where_it_matters() {
    let upstream = DefaultTolerationSeconds::default();
    let decision = decide(&requested("5m", "5m"), &requested("", ""), None, upstream.seconds);
    let warnings =
        |existing: &str| with_defaults(&tolerations(existing), None, &[], upstream, &decision).warnings.len();
    assert_eq!(warnings(""), 2);
    assert_eq!(warnings("nr Exists"), 1);
    assert_eq!(warnings("- Exists"), 0);
}

#[test]
fn a_selector_is_formatted_and_its_faults_are_named() {
    let one = |operator: &str, values: &[&str]| NodeRequirement {
        key: "k".into(),
        operator: NodeOperator::new(operator),
        values: values.iter().map(|&value| value.into()).collect(),
    };
    for (requirement, text, right) in [
        (one("In", &["a"]), "k=a", true),
        (one("In", &["a", "b"]), "k in (a, b)", true),
        (one("NotIn", &["a"]), "k!=a", true),
        (one("Exists", &[]), "k", true),
        (one("DoesNotExist", &[]), "!k", true),
        (one("In", &[]), "k in ()", false),
        (one("NotIn", &[]), "k notin ()", false),
        (one("Exists", &["a"]), "k exists (a)", false),
        (one("Gt", &["1"]), "k gt (1)", false),
        (one("In", &["a b"]), "k=a b", false),
    ] {
        let selector = LabelSelector(vec![requirement]);
        assert_eq!(alloc::format!("{selector}"), text);
        assert_eq!(selector.errors().is_empty(), right, "{text}");
        let everything = [Labels::new(), [("k".into(), "a".into())].into()];
        assert!(right || !everything.iter().any(|labels| selector.selects(labels)), "{text}");
    }
    assert_eq!(alloc::format!("{}", LabelSelector::default()), "any label");
    let two: String = alloc::format!("{}", LabelSelector::of_labels([("a", "1"), ("b", "2")]));
    assert_eq!(two, "a=1,b=2");
}

#[test]
fn the_tolerations_that_get_other_seconds_are_counted() {
    let upstream = DefaultTolerationSeconds::default();
    let decision =
        decide(&requested("60", "300"), &RequestedSeconds::default(), None, DefaultSeconds::default());
    let count = |existing: &[Toleration]| {
        let result = with_defaults(existing, None, &[], upstream, &decision);
        (result.added, result.changed)
    };
    assert_eq!(count(&[]), (2, 0), "they are new");
    let given = crate::admission::default_tolerations(&[], DefaultSeconds::default());
    assert_eq!(count(&given), (0, 1), "the other one has 300 s already");
    let both = decide(&requested("60", "60"), &RequestedSeconds::default(), None, DefaultSeconds::default());
    assert_eq!(with_defaults(&given, None, &[], upstream, &both).changed, 2);
}

#[test]
fn equal_bounds_do_not_contradict_each_other() {
    let reasons = |least, most| -> Vec<&str> {
        policy("p", None, Some(least), Some(most)).errors().iter().map(|error| error.reason).collect()
    };
    assert_eq!(reasons(60, 60), [""; 0]);
    assert_eq!(reasons(61, 60), ["BoundsContradict"]);
}

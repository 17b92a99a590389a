//! Tests the whole tables of taints and conditions (NL-5, NL-12, NL-15, NL-16, NL-24).

use crate::node_lifecycle::desired_taints::cause;
use crate::node_lifecycle::effect::TaintCause;
use crate::node_lifecycle::{
    ConditionExpiry, ConditionKind, ConditionStatus, ManagedTaint, ManagedTaints, NodeCondition,
    NodeConditions, NodeSituation, ZoneKey, ZoneLabels, expired, plan,
};
use crate::testkit::taint_of;
use crate::time::Mono;
use alloc::string::ToString;
use alloc::vec::Vec;

const STATUSES: [Option<ConditionStatus>; 5] = [
    None,
    Some(ConditionStatus::True),
    Some(ConditionStatus::False),
    Some(ConditionStatus::Unknown),
    Some(ConditionStatus::Other),
];

fn conditions(reported: &[(ConditionKind, Option<ConditionStatus>)]) -> NodeConditions {
    let condition = |(kind, status): &(ConditionKind, Option<ConditionStatus>)| {
        Some(NodeCondition { kind: *kind, status: (*status)?, heartbeat: None })
    };
    NodeConditions::of(&reported.iter().filter_map(condition).collect::<Vec<_>>())
}

fn situation(conditions: NodeConditions) -> NodeSituation {
    NodeSituation {
        conditions,
        unschedulable: false,
        own: ManagedTaints::NONE,
        silent: false,
        all_down: false,
    }
}

#[test]
fn nl_5_no_schedule_taints() {
    use ConditionKind::{DiskPressure, MemoryPressure, NetworkUnavailable, PidPressure, Ready};
    let pressures = [
        (MemoryPressure, ManagedTaint::MemoryPressure),
        (DiskPressure, ManagedTaint::DiskPressure),
        (PidPressure, ManagedTaint::PidPressure),
        (NetworkUnavailable, ManagedTaint::NetworkUnavailable),
    ];
    for (kind, taint) in pressures {
        for status in STATUSES {
            let wanted = status == Some(ConditionStatus::True);
            let mut situation = situation(conditions(&[(kind, status)]));
            assert_eq!(plan(&situation).add.has(taint), wanted, "{kind:?} {status:?}");
            situation.own = ManagedTaints::NONE.with(taint);
            let keeps = wanted || status == Some(ConditionStatus::Other);
            assert_eq!(plan(&situation).remove.has(taint), !keeps, "{kind:?} {status:?}");
            assert!(plan(&situation).add.is_empty(), "the node has it already (NL-6)");
        }
    }
    for status in STATUSES {
        let plan = plan(&situation(conditions(&[(Ready, status)])));
        let wanted: ManagedTaints = match status {
            Some(ConditionStatus::False) => ManagedTaints::NONE.with(ManagedTaint::NotReady),
            Some(ConditionStatus::Unknown) => ManagedTaints::NONE.with(ManagedTaint::Unreachable),
            _ => ManagedTaints::NONE,
        };
        assert_eq!(plan.add, wanted, "{status:?}");
        // AD-6: the taint that a node is created with is removed once a known status of `Ready` does not require it.
        for taint in [ManagedTaint::NotReady, ManagedTaint::Unreachable] {
            let own = ManagedTaints::NONE.with(taint);
            let has = NodeSituation { own, ..situation(conditions(&[(Ready, status)])) };
            let keeps = matches!(status, None | Some(ConditionStatus::Other)) || wanted.has(taint);
            assert_eq!(super::super::plan(&has).remove.has(taint), !keeps, "{taint} {status:?}");
        }
    }
    let cordoned = NodeSituation { unschedulable: true, ..situation(NodeConditions::default()) };
    assert_eq!(plan(&cordoned).add, ManagedTaints::NONE.with(ManagedTaint::Unschedulable), "NL-9");
}

/// Every status of Ready, every set of NoExecute taints, silent or not, all zones down or not.
#[test]
fn nl_15_nl_16_no_execute_taints() {
    let (not_ready, unreachable) = (ManagedTaint::NotReadyNoExecute, ManagedTaint::UnreachableNoExecute);
    let sets = [
        ManagedTaints::NONE,
        ManagedTaints::NONE.with(not_ready),
        ManagedTaints::NONE.with(unreachable),
        ManagedTaints::NO_EXECUTE,
    ];
    for ready in STATUSES {
        for own in sets {
            for (silent, all_down) in [(false, false), (true, false), (false, true), (true, true)] {
                let conditions = conditions(&[(ConditionKind::Ready, ready)]);
                let made = plan(&NodeSituation { conditions, unschedulable: false, own, silent, all_down });
                let after = own.without(made.remove.no_execute()).and(made.add.no_execute());
                let (wanted, queue) = match (ready, all_down, own.is_empty()) {
                    (Some(ConditionStatus::Other), ..) | (None, false, _) => (own, None),
                    (Some(ConditionStatus::True), ..) | (_, true, _) => (ManagedTaints::NONE, None),
                    (Some(ConditionStatus::False), _, false) => (ManagedTaints::NONE.with(not_ready), None),
                    (Some(ConditionStatus::False), _, true) => (ManagedTaints::NONE, Some(not_ready)),
                    (Some(ConditionStatus::Unknown), _, false) => {
                        (ManagedTaints::NONE.with(unreachable), None)
                    }
                    (Some(ConditionStatus::Unknown), _, true) => {
                        (ManagedTaints::NONE, silent.then_some(unreachable))
                    }
                };
                let about = (ready, own, silent, all_down);
                assert_eq!((after, made.queue), (wanted, queue), "{about:?}");
                let declares =
                    silent && !matches!(ready, Some(ConditionStatus::Unknown | ConditionStatus::Other));
                assert_eq!(made.declare, declares, "{about:?}");
                let again = NodeSituation { conditions, unschedulable: false, own: after, silent, all_down };
                let rest = plan(&again);
                assert!(rest.add.no_execute().is_empty() && rest.remove.no_execute().is_empty(), "{about:?}");
            }
        }
    }
}

#[test]
fn nl_12_conditions_that_expire() {
    use ConditionKind::{DiskPressure, MemoryPressure, NetworkUnavailable, PidPressure, Ready};
    let expiring = [Ready, MemoryPressure, DiskPressure, PidPressure];
    for kind in ConditionKind::ALL {
        for status in STATUSES {
            let others = expiring.into_iter().filter(|other| *other != kind);
            let mut reported: Vec<_> = others.map(|other| (other, Some(ConditionStatus::Unknown))).collect();
            reported.push((kind, status));
            let wanted = match (kind, status) {
                (NetworkUnavailable, _) | (_, Some(ConditionStatus::Unknown)) => None,
                (kind, None) => Some((kind, ConditionExpiry::NeverPosted)),
                (kind, Some(_)) => Some((kind, ConditionExpiry::Stopped)),
            };
            assert_eq!(expired(&conditions(&reported)), Vec::from_iter(wanted), "{kind:?} {status:?}");
        }
    }
}

#[test]
fn nl_24_zone_keys() {
    let labels = |beta_region, beta_zone, region, zone| ZoneLabels { beta_region, beta_zone, region, zone };
    for (labels, key, shown) in [
        (labels(None, None, None, None), "", "(no zone)"),
        (labels(None, None, Some(""), Some("")), "", "(no zone)"),
        (labels(None, None, Some("r"), Some("z")), "r:\0:z", "r/z"),
        (labels(None, None, None, Some("z")), ":\0:z", "z"),
        (labels(None, None, Some("r"), None), "r:\0:", "r"),
        (labels(Some("R"), Some("Z"), Some("r"), Some("z")), "R:\0:Z", "R/Z"),
        (labels(None, Some("Z"), Some("r"), Some("z")), "r:\0:Z", "r/Z"),
        (labels(Some(""), Some(""), Some("r"), Some("z")), "", "(no zone)"),
        (labels(None, None, Some("\u{e9}\n"), Some("::")), "\u{e9}\n:\0:::", "\u{e9}\n/::"),
    ] {
        let made = ZoneKey::of(labels);
        assert_eq!((made.as_str(), made.to_string().as_str()), (key, shown));
    }
}

/// A duplicate condition counts if both agree; otherwise it is not understood (D11).
#[test]
fn two_ready_conditions() {
    let ready = |status| (ConditionKind::Ready, Some(status));
    let reported = [ready(ConditionStatus::True), ready(ConditionStatus::True)];
    assert_eq!(conditions(&reported).ready(), Some(ConditionStatus::True));
    let reported = [ready(ConditionStatus::True), ready(ConditionStatus::False)];
    assert_eq!(conditions(&reported).ready(), Some(ConditionStatus::Other));
    assert!(conditions(&reported).is_obscure());
    let own = ManagedTaints::NONE.with(ManagedTaint::NotReady).with(ManagedTaint::UnreachableNoExecute);
    let nothing = plan(&NodeSituation { own, silent: true, ..situation(conditions(&reported)) });
    assert_eq!(nothing, super::super::TaintPlan::default(), "it keeps what it has");
}

/// S8, NL-6: a key without its effect, or an effect without its key, is not managed.
#[test]
fn managed_taints_are_key_and_effect() {
    let managed = |key: &str, effect: &str| ManagedTaint::of(&taint_of(key, "mine", effect));
    for own in ManagedTaint::ALL {
        assert_eq!(managed(own.key(), own.effect().as_str()), Some(own), "whatever its value");
        for effect in ["PreferNoSchedule", "noexecute"] {
            assert_eq!(managed(own.key(), effect), None);
        }
    }
    assert_eq!(managed("node.kubernetes.io/unschedulable", "NoExecute"), None, "NL-9");
    assert_eq!(managed("node.kubernetes.io/out-of-service", "NoExecute"), None);
    assert_eq!(ManagedTaint::UnreachableNoExecute.to_string(), "node.kubernetes.io/unreachable:NoExecute");
}

/// NL-17, NL-19: upstream's texts.
#[test]
fn nl_19_texts_are_upstreams() {
    let node = crate::identity::NodeName::new("n1");
    use super::super::event_messages;
    assert_eq!(event_messages::registered(&node), "Node n1 event: Registered Node n1 in Controller");
    assert_eq!(event_messages::removing(&node), "Node n1 event: Removing Node n1 from Controller");
    assert_eq!(event_messages::not_ready(&node), "Node n1 status is now: NodeNotReady");
}

#[test]
fn a_write_says_why() {
    use ManagedTaint::{MemoryPressure, NotReadyNoExecute, UnreachableNoExecute};
    let (none, since) = (ManagedTaints::NONE, Mono::from_secs(7));
    let why = |ready, own: ManagedTaints, all_down, (add, remove)| {
        let conditions = conditions(&[(ConditionKind::Ready, ready)]);
        cause(&NodeSituation { own, all_down, ..situation(conditions) }, Some(since), add, remove)
    };
    let (not_ready, unreachable) = (none.with(NotReadyNoExecute), none.with(UnreachableNoExecute));
    let (is_true, is_false) = (Some(ConditionStatus::True), Some(ConditionStatus::False));
    let unknown = Some(ConditionStatus::Unknown);
    for (found, expected) in [
        (why(is_true, none, false, (none.with(MemoryPressure), none)), TaintCause::Conditions),
        (why(is_true, not_ready, true, (none, not_ready)), TaintCause::Recovered),
        (why(is_false, not_ready, true, (none, not_ready)), TaintCause::EverythingDown),
        (why(is_false, not_ready, false, (none, not_ready)), TaintCause::Swap),
        (why(unknown, not_ready, false, (unreachable, not_ready)), TaintCause::Swap),
        (why(is_false, none, false, (not_ready, none)), TaintCause::NotReady),
        (why(unknown, none, false, (unreachable, none)), TaintCause::Silent { since }),
    ] {
        assert_eq!(found, expected);
    }
}

#[test]
fn sets_of_taints_and_zones_have_readable_values() {
    let (not_ready, memory) = (ManagedTaint::NotReadyNoExecute, ManagedTaint::MemoryPressure);
    let set = ManagedTaints::NONE.with(not_ready);
    assert_eq!(set.and(set), set, "a set");
    assert_eq!(set.and(ManagedTaints::NONE.with(memory)), [memory, not_ready].into_iter().collect());
    assert_eq!(alloc::format!("{set:?}"), "{NotReadyNoExecute}");
    let zone = ZoneKey::of(ZoneLabels { zone: Some("a"), ..ZoneLabels::default() });
    assert_eq!(alloc::format!("{zone:?}"), "zone/a");
}

//! NL-5, NL-12, NL-15, NL-16, NL-24: the tables, whole.

use crate::health::{
    Condition, ConditionKind, Conditions, Expiry, OwnTaint, OwnTaints, Situation, Status, ZoneKey,
    ZoneLabels, expired, plan,
};
use crate::taint::{Effect, Taint};
use alloc::string::ToString;
use alloc::vec::Vec;

const STATUSES: [Option<Status>; 5] =
    [None, Some(Status::True), Some(Status::False), Some(Status::Unknown), Some(Status::Other)];

fn conditions(told: &[(ConditionKind, Option<Status>)]) -> Conditions {
    let condition = |(kind, status): &(ConditionKind, Option<Status>)| {
        Some(Condition { kind: *kind, status: (*status)?, heartbeat: None })
    };
    Conditions::of(&told.iter().filter_map(condition).collect::<Vec<_>>())
}

fn situation(conditions: Conditions) -> Situation {
    Situation { conditions, unschedulable: false, own: OwnTaints::NONE, silent: false, all_down: false }
}

#[test]
fn nl_5_keeping_pods_off() {
    use ConditionKind::{DiskPressure, MemoryPressure, NetworkUnavailable, PidPressure, Ready};
    let pressures = [
        (MemoryPressure, OwnTaint::MemoryPressure),
        (DiskPressure, OwnTaint::DiskPressure),
        (PidPressure, OwnTaint::PidPressure),
        (NetworkUnavailable, OwnTaint::NetworkUnavailable),
    ];
    for (kind, taint) in pressures {
        for status in STATUSES {
            let wanted = status == Some(Status::True);
            let mut situation = situation(conditions(&[(kind, status)]));
            assert_eq!(plan(&situation).add.has(taint), wanted, "{kind:?} {status:?}");
            situation.own = OwnTaints::NONE.with(taint);
            let keeps = wanted || status == Some(Status::Other);
            assert_eq!(plan(&situation).remove.has(taint), !keeps, "{kind:?} {status:?}");
            assert!(plan(&situation).add.is_empty(), "it is there already (NL-6)");
        }
    }
    for status in STATUSES {
        let plan = plan(&situation(conditions(&[(Ready, status)])));
        let wanted: OwnTaints = match status {
            Some(Status::False) => OwnTaints::NONE.with(OwnTaint::NotReady),
            Some(Status::Unknown) => OwnTaints::NONE.with(OwnTaint::Unreachable),
            _ => OwnTaints::NONE,
        };
        assert_eq!(plan.add, wanted, "{status:?}");
        // AD-6: what a node is created with goes when it says that it is ready, or says something else.
        for taint in [OwnTaint::NotReady, OwnTaint::Unreachable] {
            let own = OwnTaints::NONE.with(taint);
            let has = Situation { own, ..situation(conditions(&[(Ready, status)])) };
            let keeps = matches!(status, None | Some(Status::Other)) || wanted.has(taint);
            assert_eq!(super::super::plan(&has).remove.has(taint), !keeps, "{taint} {status:?}");
        }
    }
    let cordoned = Situation { unschedulable: true, ..situation(Conditions::default()) };
    assert_eq!(plan(&cordoned).add, OwnTaints::NONE.with(OwnTaint::Unschedulable), "NL-9");
}

/// Every status of Ready, every set of NoExecute taints, silent or not, everything down or not.
#[test]
fn nl_15_nl_16_sending_pods_away() {
    let (not_ready, unreachable) = (OwnTaint::NotReadyNoExecute, OwnTaint::UnreachableNoExecute);
    let sets = [
        OwnTaints::NONE,
        OwnTaints::NONE.with(not_ready),
        OwnTaints::NONE.with(unreachable),
        OwnTaints::NO_EXECUTE,
    ];
    for ready in STATUSES {
        for own in sets {
            for (silent, all_down) in [(false, false), (true, false), (false, true), (true, true)] {
                let conditions = conditions(&[(ConditionKind::Ready, ready)]);
                let made = plan(&Situation { conditions, unschedulable: false, own, silent, all_down });
                let after = own.without(made.remove.no_execute()).and(made.add.no_execute());
                let (wanted, queue) = match (ready, all_down, own.is_empty()) {
                    (Some(Status::Other), ..) | (None, false, _) => (own, None),
                    (Some(Status::True), ..) | (_, true, _) => (OwnTaints::NONE, None),
                    (Some(Status::False), _, false) => (OwnTaints::NONE.with(not_ready), None),
                    (Some(Status::False), _, true) => (OwnTaints::NONE, Some(not_ready)),
                    (Some(Status::Unknown), _, false) => (OwnTaints::NONE.with(unreachable), None),
                    (Some(Status::Unknown), _, true) => (OwnTaints::NONE, silent.then_some(unreachable)),
                };
                let about = (ready, own, silent, all_down);
                assert_eq!((after, made.queue), (wanted, queue), "{about:?}");
                let declares = silent && !matches!(ready, Some(Status::Unknown | Status::Other));
                assert_eq!(made.declare, declares, "{about:?}");
                let again = Situation { conditions, unschedulable: false, own: after, silent, all_down };
                let rest = plan(&again);
                assert!(rest.add.no_execute().is_empty() && rest.remove.no_execute().is_empty(), "{about:?}");
            }
        }
    }
}

#[test]
fn nl_12_what_expires() {
    use ConditionKind::{DiskPressure, MemoryPressure, NetworkUnavailable, PidPressure, Ready};
    let expiring = [Ready, MemoryPressure, DiskPressure, PidPressure];
    for kind in ConditionKind::ALL {
        for status in STATUSES {
            let others = expiring.into_iter().filter(|other| *other != kind);
            let mut told: Vec<_> = others.map(|other| (other, Some(Status::Unknown))).collect();
            told.push((kind, status));
            let wanted = match (kind, status) {
                (NetworkUnavailable, _) | (_, Some(Status::Unknown)) => None,
                (kind, None) => Some((kind, Expiry::NeverPosted)),
                (kind, Some(_)) => Some((kind, Expiry::Stopped)),
            };
            assert_eq!(expired(&conditions(&told)), Vec::from_iter(wanted), "{kind:?} {status:?}");
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

/// A condition told twice counts if both agree; else it is not understood (D11).
#[test]
fn two_ready_conditions() {
    let ready = |status| (ConditionKind::Ready, Some(status));
    let told = [ready(Status::True), ready(Status::True)];
    assert_eq!(conditions(&told).ready(), Some(Status::True));
    let told = [ready(Status::True), ready(Status::False)];
    assert_eq!(conditions(&told).ready(), Some(Status::Other));
    assert!(conditions(&told).is_obscure());
    let own = OwnTaints::NONE.with(OwnTaint::NotReady).with(OwnTaint::UnreachableNoExecute);
    let nothing = plan(&Situation { own, silent: true, ..situation(conditions(&told)) });
    assert_eq!(nothing, super::super::Plan::default(), "it keeps what it has");
}

/// S8, NL-6: a key without its effect, or an effect without its key, is nobody's here.
#[test]
fn own_taints_are_key_and_effect() {
    let taint = |key: &str, effect| Taint { key: key.into(), value: "mine".into(), effect, time_added: None };
    for own in OwnTaint::ALL {
        assert_eq!(OwnTaint::of(&taint(own.key(), own.effect())), Some(own), "whatever its value");
        for effect in [Effect::PreferNoSchedule, Effect::new("noexecute")] {
            assert_eq!(OwnTaint::of(&taint(own.key(), effect)), None);
        }
    }
    assert_eq!(OwnTaint::of(&taint("node.kubernetes.io/unschedulable", Effect::NoExecute)), None, "NL-9");
    assert_eq!(OwnTaint::of(&taint("node.kubernetes.io/out-of-service", Effect::NoExecute)), None);
    assert_eq!(OwnTaint::UnreachableNoExecute.to_string(), "node.kubernetes.io/unreachable:NoExecute");
}

/// NL-17, NL-19: upstream's words.
#[test]
fn nl_19_words() {
    let node = crate::names::NodeName::new("n1");
    use super::super::words;
    assert_eq!(words::registered(&node), "Node n1 event: Registered Node n1 in Controller");
    assert_eq!(words::removing(&node), "Node n1 event: Removing Node n1 from Controller");
    assert_eq!(words::not_ready(&node), "Node n1 status is now: NodeNotReady");
}

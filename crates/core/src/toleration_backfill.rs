//! Decides which seconds a running pod's default tolerations get: those that a new pod like it would get now.
//!
//! - Invariant: a toleration that the pod's author wrote never changes, as in admission; no toleration is added.
//! - See `admission/policy.rs` for which seconds a new pod gets, and which tolerations count as defaults.

use crate::admission::extended_resource_toleration::is_extended_resource;
use crate::admission::policy::{DefaultDurations, default_positions, has_seconds};
use crate::taint::{TaintEffect, keys};
use crate::toleration::{SecondsChanges, Toleration, TolerationOperator};

/// The result of backfill for a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BackfillVerdict {
    /// Its tolerations are its author's, or none of them are defaults.
    Own,
    /// Its default tolerations have the seconds that a new pod would get.
    Current,
    /// These tolerations get these seconds.
    Differs(SecondsChanges),
}

/// Decides the default tolerations of a running pod.
///
/// `wanted` is what a new pod would get. Tolerations count as defaults if they stand where admission appends them, and
/// have the seconds of one of `replaced`, both of one pair. `namespace_defaults` are the tolerations that the
/// namespace's own list may have appended after them (AD-8).
pub fn backfill(
    tolerations: &[Toleration],
    namespace_defaults: &[Toleration],
    wanted: DefaultDurations,
    replaced: &[DefaultDurations],
) -> BackfillVerdict {
    let behind = |one: &Toleration| namespace_defaults.contains(one) || may_be_appended_behind(one);
    let of = |seconds| default_positions(tolerations, behind, |one| has_seconds(one, seconds));
    let given = core::iter::once(wanted).chain(replaced.iter().copied());
    // The longest range: one of two defaults may have the wanted seconds by chance. Of equally long ranges the first.
    let positions = given.map(of).reduce(|best, one| if one.len() > best.len() { one } else { best });
    let Some(positions) = positions.filter(|positions| !positions.is_empty()) else {
        return BackfillVerdict::Own;
    };
    let changes: SecondsChanges = positions
        .map(|at| (at, wanted.of(&tolerations[at].key).seconds()))
        .filter(|(at, seconds)| tolerations[*at].seconds != *seconds)
        .collect();
    if changes.is_empty() { BackfillVerdict::Current } else { BackfillVerdict::Differs(changes) }
}

/// Whether upstream's other plugins, or the webhook, may append it for a pod's resources and its QoS class (AD-1, AD-7,
/// AD-9).
fn may_be_appended_behind(one: &Toleration) -> bool {
    one.operator == TolerationOperator::Exists
        && one.effect == Some(TaintEffect::NoSchedule)
        && one.seconds.is_none()
        && (*one.key == *keys::MEMORY_PRESSURE || is_extended_resource(&one.key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::policy::{
        DefaultTolerationSeconds, ResolvedSeconds, SecondsDecision, SecondsSource, TolerationDuration,
        with_defaults,
    };
    use crate::admission::{DefaultSeconds, default_tolerations};
    use crate::testkit::{node_health_tolerations, toleration, toleration_of};
    use crate::toleration::daemon_tolerations;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const UPSTREAM_SECONDS: DefaultSeconds = DefaultSeconds { not_ready: 300, unreachable: 300 };
    const UPSTREAM: DefaultDurations = DefaultDurations {
        not_ready: TolerationDuration::For(UPSTREAM_SECONDS.not_ready),
        unreachable: TolerationDuration::For(UPSTREAM_SECONDS.unreachable),
    };

    fn both(not_ready: i64, unreachable: i64) -> Vec<Toleration> {
        node_health_tolerations(Some(not_ready), Some(unreachable))
    }

    fn durations(not_ready: i64, unreachable: i64) -> DefaultDurations {
        DefaultSeconds { not_ready, unreachable }.into()
    }

    #[test]
    fn defaults_get_the_wanted_seconds() {
        let of = |tolerations: &[Toleration], wanted| backfill(tolerations, &[], wanted, &[UPSTREAM]);
        let differs = |changes: &[(usize, i64)]| {
            BackfillVerdict::Differs(changes.iter().map(|(at, seconds)| (*at, Some(*seconds))).collect())
        };
        assert_eq!(of(&both(300, 300), durations(600, 900)), differs(&[(0, 600), (1, 900)]));
        assert_eq!(of(&both(300, 300), durations(600, 300)), differs(&[(0, 600)]));
        assert_eq!(of(&both(600, 900), durations(600, 900)), BackfillVerdict::Current);
        assert_eq!(of(&both(300, 300), durations(300, 300)), BackfillVerdict::Current);
        assert_eq!(of(&[], durations(600, 600)), BackfillVerdict::Own);
        let forever = DefaultDurations { not_ready: TolerationDuration::Forever, ..durations(0, 300) };
        assert_eq!(of(&both(300, 300), forever), BackfillVerdict::Differs(vec![(0, None)]));
    }

    #[test]
    fn tolerations_of_the_author_stay() {
        let of = |tolerations: &[Toleration]| backfill(tolerations, &[], durations(600, 600), &[UPSTREAM]);
        assert_eq!(of(&both(60, 300)), BackfillVerdict::Differs(vec![(1, Some(600))]));
        assert_eq!(of(&both(300, 60)), BackfillVerdict::Own);
        let mut before_another = both(300, 300);
        before_another.push(toleration("maintenance", Some(300)));
        assert_eq!(of(&before_another), BackfillVerdict::Own);
        assert_eq!(of(&daemon_tolerations(&[], true)), BackfillVerdict::Own);
        let mut equal = both(300, 300);
        equal[0].operator = TolerationOperator::Equal;
        assert_eq!(of(&equal), BackfillVerdict::Differs(vec![(1, Some(600))]));
    }

    #[test]
    fn tolerations_that_admission_appends_after_the_defaults_are_skipped() {
        let gpu = toleration_of("nvidia.com/gpu", "Exists", "", "NoSchedule");
        let own = toleration("team", None);
        let tolerations = [both(300, 300), vec![gpu, own.clone()]].concat();
        let of = |defaults: &[Toleration]| backfill(&tolerations, defaults, durations(600, 600), &[UPSTREAM]);
        assert_eq!(of(&[own]), BackfillVerdict::Differs(vec![(0, Some(600)), (1, Some(600))]));
        assert_eq!(of(&[]), BackfillVerdict::Own);
    }

    /// The webhook and upstream's plugins append nothing else (AD-1, AD-7, AD-9).
    #[test]
    fn other_tolerations_after_the_defaults_are_the_authors() {
        let pressure = || toleration_of(keys::MEMORY_PRESSURE, "Exists", "", "NoSchedule");
        let of = |behind| {
            let tolerations = [both(300, 300), vec![behind]].concat();
            backfill(&tolerations, &[], durations(600, 600), &[UPSTREAM])
        };
        assert_eq!(of(pressure()), BackfillVerdict::Differs(vec![(0, Some(600)), (1, Some(600))]));
        for other in [
            toleration_of(keys::MEMORY_PRESSURE, "Equal", "", "NoSchedule"),
            toleration_of(keys::MEMORY_PRESSURE, "Exists", "", "NoExecute"),
            toleration_of(keys::DISK_PRESSURE, "Exists", "", "NoSchedule"),
            toleration_of("team", "Exists", "", "NoSchedule"),
            Toleration { seconds: Some(5), ..pressure() },
        ] {
            assert_eq!(of(other.clone()), BackfillVerdict::Own, "{other:?}");
        }
    }

    #[test]
    fn seconds_of_an_earlier_policy_are_replaced_if_they_are_configured() {
        let earlier = durations(60, 600);
        let of = |replaced: &[DefaultDurations]| backfill(&both(60, 600), &[], durations(90, 90), replaced);
        assert_eq!(of(&[UPSTREAM]), BackfillVerdict::Own);
        assert_eq!(of(&[UPSTREAM, earlier]), BackfillVerdict::Differs(vec![(0, Some(90)), (1, Some(90))]));
    }

    #[test]
    fn a_policy_without_a_limit_can_be_undone() {
        let forever = DefaultDurations {
            not_ready: TolerationDuration::Forever,
            unreachable: TolerationDuration::Forever,
        };
        let given = node_health_tolerations(None, None);
        let of = |tolerations: &[Toleration], replaced: &[DefaultDurations]| {
            backfill(tolerations, &[], durations(600, 900), replaced)
        };
        assert_eq!(of(&given, &[UPSTREAM]), BackfillVerdict::Own);
        let changes = BackfillVerdict::Differs(vec![(0, Some(600)), (1, Some(900))]);
        assert_eq!(of(&given, &[UPSTREAM, forever]), changes);
        assert_eq!(of(&both(300, 300), &[UPSTREAM, forever]), changes);
        // Those of a DaemonSet have others behind them.
        assert_eq!(of(&daemon_tolerations(&[], true), &[UPSTREAM, forever]), BackfillVerdict::Own);
    }

    fn some_tolerations() -> impl Strategy<Value = Vec<Toleration>> {
        let key = prop_oneof![Just(keys::NOT_READY), Just(keys::UNREACHABLE), Just("k"), Just("")];
        let operator = prop_oneof![3 => Just("Exists"), 1 => Just("Equal"), 1 => Just("")];
        let effect = prop_oneof![3 => Just("NoExecute"), 1 => Just(""), 1 => Just("NoSchedule")];
        let seconds = prop_oneof![2 => Just(Some(300)), 1 => Just(Some(60)), 1 => Just(None)];
        let one = (key, operator, effect, seconds).prop_map(|(key, operator, effect, seconds)| Toleration {
            seconds,
            ..toleration_of(key, operator, "", effect)
        });
        prop::collection::vec(one, 0..4)
    }

    proptest! {
        /// A pod that upstream's plugin completed has, after backfill, the tolerations of a new pod of the same author.
        #[test]
        fn a_running_pod_gets_what_a_new_one_gets(
            authors in some_tolerations(),
            not_ready in prop_oneof![Just(300_i64), Just(600), Just(60)],
            unreachable in prop_oneof![Just(300_i64), Just(600), Just(60)],
        ) {
            let mut running = authors.clone();
            running.extend(default_tolerations(&authors, UPSTREAM_SECONDS));
            let resolved = |seconds| ResolvedSeconds {
                stay: TolerationDuration::For(seconds),
                source: SecondsSource::BuiltIn,
                warnings: Vec::new(),
            };
            let decision = SecondsDecision {
                not_ready: resolved(not_ready),
                unreachable: resolved(unreachable),
            };
            let upstream = DefaultTolerationSeconds { seconds: UPSTREAM_SECONDS, may_run: true };
            let new = with_defaults(&running, None, &[], upstream, &decision).tolerations;
            if let BackfillVerdict::Differs(changes) = backfill(&running, &[], decision.durations(), &[UPSTREAM]) {
                for (at, seconds) in changes {
                    running[at].seconds = seconds;
                }
            }
            prop_assert_eq!(&running, &new);
            // A second backfill changes nothing.
            let again = backfill(&running, &[], decision.durations(), &[UPSTREAM]);
            prop_assert!(!matches!(again, BackfillVerdict::Differs(_)), "{:?}", again);
        }
    }
}

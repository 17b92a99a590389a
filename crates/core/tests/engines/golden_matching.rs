//! Compares toleration matching with recorded results of the Go functions (`golden/matching.txt`).
//!
//! - D11: an operator or effect that Go does not know never matches there; here it is a value of its own.
//! - D7: seconds that overflow in Go (above 9,223,372,036) saturate here.

use crate::rows::section;
use std::collections::BTreeMap;
use taintward_core::fact::PodLifePhase;
use taintward_core::ordered_hold::OrderedHolds;
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::taint_start::{BindingSource, PodBinding, TaintStart, TaintStartSource};
use taintward_core::testkit::{taint_of, toleration_of};
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_core::toleration::{Toleration, TolerationOperator, TolerationPeriod};
use taintward_core::toleration_matching::{
    NumericOperators, TaintMatch, TolerationMatch, match_taint, match_taints, tolerates,
};
use taintward_core::verdict::{EvictionExemption, Outcome, PodInput, StayReason, TaintInstance, judge};

const ROWS: &str = include_str!("../golden/matching.txt");

/// The longest `tolerationSeconds` whose nanoseconds fit into 64 bits.
const SECONDS_MAX: i64 = 9_223_372_036;

fn taint_of_columns(columns: &[String]) -> Taint {
    let [key, value, effect] = columns else { panic!("{columns:?}") };
    taint_of(key, value, effect)
}

fn toleration_of_columns(columns: &[String], seconds: Option<i64>) -> Toleration {
    let [key, operator, value, effect] = columns else { panic!("{columns:?}") };
    Toleration { seconds, ..toleration_of(key, operator, value, effect) }
}

fn seconds(text: &str) -> Option<i64> {
    (text != "-").then(|| text.parse().expect("a number of seconds"))
}

fn numeric(text: &str) -> NumericOperators {
    match text {
        "on" => NumericOperators::On,
        "off" => NumericOperators::Off,
        other => panic!("neither on nor off: {other}"),
    }
}

fn is_understood(toleration: &Toleration) -> bool {
    !matches!(toleration.operator, TolerationOperator::Unknown(_))
        && !matches!(toleration.effect, Some(TaintEffect::Unknown(_)))
}

/// Go's 18446744074 s are 0.29 s (TE-20).
fn overflows(toleration: &Toleration) -> bool {
    toleration.seconds.is_some_and(|seconds| seconds > SECONDS_MAX)
}

fn bit(bits: &str, at: usize) -> bool {
    let digit = bits.as_bytes()[at / 4] as char;
    digit.to_digit(16).expect("a hexadecimal digit") & (8 >> (at % 4)) != 0
}

/// MATCH-4, MATCH-6: compares every toleration with every taint.
fn check_matches(name: &str) -> (usize, usize) {
    let taints: Vec<_> =
        section(ROWS, name).filter(|row| row[0] == "taint").map(|row| taint_of_columns(&row[1..])).collect();
    let (mut compared, mut not_understood) = (0, 0);
    for row in section(ROWS, name).filter(|row| row[0] == "row") {
        let switch = numeric(&row[1]);
        let toleration = toleration_of_columns(&row[2..6], None);
        for (at, taint) in taints.iter().enumerate() {
            let go = bit(&row[6], at);
            compared += 1;
            match tolerates(&toleration, taint, switch) {
                TolerationMatch::Yes => assert!(go, "{toleration:?} tolerates {taint:?}"),
                TolerationMatch::No => assert!(!go, "{toleration:?} does not tolerate {taint:?}"),
                TolerationMatch::NotUnderstood => {
                    not_understood += 1;
                    assert!(!go && !is_understood(&toleration), "D11: {toleration:?} {taint:?}");
                }
            }
        }
    }
    (compared, not_understood)
}

#[test]
fn match_4_is_gos() {
    let (compared, not_understood) = check_matches("cross");
    assert!(compared > 80_000 && not_understood > 0, "{compared} {not_understood}");
}

#[test]
fn match_6_is_gos() {
    let (compared, not_understood) = check_matches("numeric");
    assert!(compared > 1_000 && not_understood == 0, "{compared} {not_understood}");
}

/// Go's result: no taint counts, the pod is evicted, or it stays for this long by these tolerations.
enum Go<'a> {
    NothingCounts,
    Goes,
    Stays { used: &'a str, nanos: i64 },
}

struct Lists {
    tolerations: Vec<Toleration>,
    taints: Vec<Taint>,
    nodes: Vec<Vec<usize>>,
    stays: BTreeMap<String, i64>,
}

impl Lists {
    fn read() -> Self {
        let mut lists = Self { tolerations: vec![], taints: vec![], nodes: vec![], stays: BTreeMap::new() };
        for row in section(ROWS, "lists") {
            match row[0].as_str() {
                "toleration" => lists.tolerations.push(toleration_of_columns(&row[1..5], seconds(&row[5]))),
                "taint" => lists.taints.push(taint_of_columns(&row[1..])),
                "node" => lists.nodes.push(numbers(&row[1])),
                "stay" => {
                    lists.stays.insert(row[1].clone(), row[2].parse().expect("nanoseconds"));
                }
                _ => {}
            }
        }
        lists
    }

    fn go<'a>(&self, response: &'a str) -> Go<'a> {
        match response {
            "." => Go::NothingCounts,
            "!" => Go::Goes,
            response => {
                let (used, letter) = response.split_at(response.len() - 1);
                Go::Stays { used, nanos: self.stays[letter] }
            }
        }
    }
}

fn numbers(text: &str) -> Vec<usize> {
    text.split(' ')
        .filter(|number| !number.is_empty())
        .map(|number| number.parse().expect("a number"))
        .collect()
}

/// MATCH-9, TE-17, TE-19: which tolerations are used, and how long the pod stays.
#[test]
fn match_9_is_gos() {
    let lists = Lists::read();
    let (mut compared, mut overflowing, mut not_understood) = (0, 0, 0);
    for row in section(ROWS, "lists").filter(|row| row[0] == "row") {
        let switch = numeric(&row[1]);
        let pod: Vec<_> = numbers(&row[2]).into_iter().map(|at| lists.tolerations[at].clone()).collect();
        for (node, response) in lists.nodes.iter().zip(row[3].split(' ')) {
            let taints: Vec<_> = node.iter().map(|&at| lists.taints[at].clone()).collect();
            compared += 1;
            match pod.iter().all(is_understood) {
                true => overflowing += check_list(&pod, &taints, switch, lists.go(response)),
                false => not_understood += check_unclear_list(&pod, &taints, switch, lists.go(response)),
            }
        }
    }
    assert!(compared > 100_000 && overflowing > 0 && not_understood > 0);
}

fn check_list(pod: &[Toleration], taints: &[Taint], switch: NumericOperators, go: Go<'_>) -> usize {
    let evicting: Vec<_> = taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute).collect();
    let used = match_taints(pod, evicting.iter().copied(), switch);
    let each: Vec<_> = evicting.iter().map(|taint| match_taint(pod, taint, switch)).collect();
    assert_eq!(used, each, "{pod:?} {taints:?}");
    let outcome = outcome(pod, &evicting, switch);
    match go {
        Go::NothingCounts => assert_eq!(outcome, Outcome::Stays(StayReason::NoTaint)),
        Go::Goes => {
            assert!(used.contains(&TaintMatch::Untolerated));
            assert_eq!(outcome, Outcome::Leaves { due: Mono::from_secs(0) });
        }
        Go::Stays { used: go, nanos } => {
            let positions: Vec<_> =
                go.chars().filter_map(|position| position.to_digit(36)).map(|at| at as usize).collect();
            let ours: Vec<_> = positions.iter().map(|&at| TaintMatch::Tolerated(at)).collect();
            assert_eq!(used, ours, "{pod:?} {taints:?}");
            let used: Vec<_> = positions.iter().map(|&at| &pod[at]).collect();
            let stays = shortest(&used);
            let expected = match stays {
                TolerationPeriod::Forever => Outcome::Stays(StayReason::Tolerated),
                TolerationPeriod::For(Span::ZERO) => Outcome::Leaves { due: Mono::from_secs(0) },
                TolerationPeriod::For(span) => Outcome::StaysUntil(Mono::from_secs(0).plus(span)),
            };
            assert_eq!(outcome, expected, "{pod:?} {taints:?}");
            return check_timeouts(&used, nanos);
        }
    }
    0
}

fn outcome(pod: &[Toleration], evicting: &[&Taint], switch: NumericOperators) -> Outcome {
    let at = Mono::from_secs(0);
    let start = TaintStart { at, source: TaintStartSource::SeenLive, clamped: false };
    let taints: Vec<_> =
        evicting.iter().map(|&taint| TaintInstance { taint: taint.clone(), start }).collect();
    let arrival = PodBinding { at, source: BindingSource::SeenLive };
    let exemption = EvictionExemption::of(PodLifePhase::Live, false);
    let now = Now::exact(at, Wall::from_secs(1_800_000_000));
    judge(
        &PodInput { tolerations: pod, arrival, exemption, holds: OrderedHolds::default() },
        &taints,
        switch,
        now,
    )
    .outcome
}

/// D11: what Go does not know it skips; here it is undecided, unless an earlier toleration matches.
fn check_unclear_list(pod: &[Toleration], taints: &[Taint], switch: NumericOperators, go: Go<'_>) -> usize {
    let evicting: Vec<_> = taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute).collect();
    let ours = match_taints(pod, evicting.iter().copied(), switch);
    let unclear = |response: &TaintMatch| matches!(response, TaintMatch::Unsupported(_));
    for response in &ours {
        if let TaintMatch::Unsupported(at) = response {
            assert!(!is_understood(&pod[*at]), "{pod:?}");
        }
    }
    match go {
        Go::NothingCounts => assert!(ours.is_empty()),
        Go::Goes => {
            assert!(ours.iter().any(|response| unclear(response) || *response == TaintMatch::Untolerated))
        }
        Go::Stays { used, .. } => {
            let positions = used.chars().filter_map(|position| position.to_digit(36)).map(|at| at as usize);
            for (ours, go) in ours.iter().zip(positions) {
                match ours {
                    TaintMatch::Tolerated(at) => assert_eq!(*at, go),
                    TaintMatch::Unsupported(at) => assert!(*at < go),
                    TaintMatch::Untolerated => panic!("{pod:?} {taints:?}"),
                }
            }
        }
    }
    usize::from(ours.iter().any(unclear))
}

fn shortest(used: &[&Toleration]) -> TolerationPeriod {
    used.iter().map(|toleration| toleration.period()).min().unwrap_or(TolerationPeriod::Forever)
}

/// TE-17b, TE-19; returns 1 if D7 makes the difference.
fn check_timeouts(used: &[&Toleration], nanos: i64) -> usize {
    let ours = shortest(used);
    if used.iter().any(|toleration| overflows(toleration)) {
        let finite = used.iter().filter_map(|toleration| toleration.seconds).min();
        let finite = finite.expect("one of them overflows, so one is finite");
        assert_eq!(ours, TolerationPeriod::For(Span::from_secs(finite)), "D7: {used:?}");
        return 1;
    }
    match ours {
        TolerationPeriod::Forever => assert!(nanos < 0, "{used:?}"),
        TolerationPeriod::For(span) => {
            assert_eq!(span.as_micros().checked_mul(1000), Some(nanos), "{used:?}")
        }
    }
    0
}

#[test]
fn te_19_the_shortest_period_is_gos() {
    let any = |seconds| Toleration { seconds, ..toleration_of("", "Exists", "", "") };
    let (mut rows, mut overflowing) = (0, 0);
    for row in section(ROWS, "minimum") {
        let used: Vec<_> = row[1].split(' ').map(|text| any(seconds(text))).collect();
        let used: Vec<_> = used.iter().collect();
        overflowing += check_timeouts(&used, row[2].parse().expect("nanoseconds"));
        rows += 1;
    }
    assert!(rows > 1_000 && overflowing > 0 && overflowing < rows, "{rows} {overflowing}");
}

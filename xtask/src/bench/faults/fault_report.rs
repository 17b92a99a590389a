//! Judges the readings by the goals, and writes docs/reliability.md.

use super::FaultReadings;
use super::fault::{Fault, FaultKind};
use super::proxy::ProxyFault;
use super::verdict::FaultVerdict;
use crate::bench::report::{Report, met};
use crate::contender::Contender;
use anyhow::Result;
use std::fmt::Write as _;

/// From the first successful request until the last pod that became due meanwhile is deleted, in seconds.
const GOAL: f64 = 5.0;
/// The same, as a multiple of kube-controller-manager's time where that evicts all pods.
const RATIO: f64 = 1.2;
/// The ratio while a webhook is slow.
const WEBHOOK_RATIO: f64 = 1.3;
/// A comparison of shorter times shows how busy the machine was.
const COMPARABLE: f64 = 1.0;
/// In addition to the time of a read that is slow.
const ASIDE: f64 = 2.0;

const COLUMNS: [&str; 10] = [
    "fault",
    "contender",
    "early / wrong / missing",
    "due",
    "late, median / max",
    "backlog",
    "after success",
    "new taint",
    "not ready",
    "goal",
];

/// Publishes the page.
pub(crate) fn publish(quick: bool, rows: &str, pods_per_node: usize, version: &str) -> Result<()> {
    let mut report = Report::new("reliability.md", "Reliability", &COLUMNS);
    report.rows(rows);
    let measured = format!(
        "Taintward and kube-controller-manager, in turns, on one etcd and one API server ({version}). In each run, one contender \
         evicts the pods of 10 nodes with {pods_per_node} pods each while one fault happens."
    );
    report.publish(quick, &measured, "")
}

/// One line for each contender in a fault.
pub(crate) fn rows(fault: &Fault, readings: &FaultReadings) -> String {
    let of = |who| readings.get(&(fault.name, who));
    let (mut text, mut title) = (String::new(), fault.title);
    for (who, name) in [
        (Contender::Ours, "Taintward"),
        (Contender::Earlier, "earlier build"),
        (Contender::Original, "kube-controller-manager"),
    ] {
        let Some((verdict, unready)) = of(who) else { continue };
        let original = of(Contender::Original).map(|(verdict, _)| verdict);
        let goal = match who {
            Contender::Original => "",
            _ => met(is_met(fault, verdict, original)),
        };
        let _ = writeln!(
            text,
            "| {title} | {name} | {} / {} / {} | {} | {} / {} | {} | {} | {} | {} | {goal} |",
            verdict.early,
            verdict.wrong,
            verdict.missing,
            verdict.due,
            shown(verdict.late.get(verdict.late.len() / 2).copied()),
            shown(verdict.late.last().copied()),
            shown(verdict.backlog),
            shown(verdict.since_success),
            shown(verdict.probe),
            shown(*unready),
        );
        title = "";
    }
    text
}

fn shown(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "–".to_owned(), |seconds| format!("{seconds:.2}"))
}

/// Whether Taintward meets the goals of a fault, also those in comparison with kube-controller-manager.
fn is_met(fault: &Fault, ours: &FaultVerdict, original: Option<&FaultVerdict>) -> bool {
    let within = |time: Option<f64>, most: f64| time.is_none_or(|time| time <= most);
    let original = original.filter(|other| other.missing + other.wrong == 0);
    let compared = |ours: Option<f64>, other: fn(&FaultVerdict) -> Option<f64>, ratio: f64| {
        original.and_then(other).is_none_or(|other| within(ours, ratio * other.max(COMPARABLE)))
    };
    let is_quick = match fault.kind {
        FaultKind::LastingProxy(ProxyFault::SlowNodes(late)) => {
            within(ours.late.last().copied(), late.as_secs_f64() + ASIDE)
        }
        kind if kind.is_lasting() => {
            compared(ours.late.last().copied(), |other| other.late.last().copied(), WEBHOOK_RATIO)
        }
        _ => {
            within(ours.since_success.or(ours.backlog), GOAL)
                && within(ours.probe, GOAL)
                && compared(ours.backlog, |other| other.backlog, RATIO)
        }
    };
    is_quick && ours.early + ours.wrong + ours.missing == 0
}

#[cfg(test)]
mod tests {
    use super::super::fault::FAULTS;
    use super::*;

    fn reading(backlog: f64, late: f64) -> FaultVerdict {
        FaultVerdict {
            backlog: Some(backlog),
            since_success: Some(backlog + 1.0),
            late: vec![0.0, late],
            ..FaultVerdict::default()
        }
    }

    fn named(name: &str) -> &'static Fault {
        FAULTS.iter().find(|fault| fault.name == name).unwrap()
    }

    #[test]
    fn the_goal_is_five_seconds_and_a_ratio() {
        let killed = named("killed-5");
        assert!(is_met(killed, &reading(4.0, 4.0), None));
        assert!(!is_met(killed, &reading(4.1, 4.1), None));
        assert!(is_met(killed, &reading(4.0, 4.0), Some(&reading(3.4, 3.4))));
        assert!(!is_met(killed, &reading(4.0, 4.0), Some(&reading(3.3, 3.3))));
        assert!(is_met(killed, &reading(1.2, 1.2), Some(&reading(0.1, 0.1))));
        let lossy = FaultVerdict { missing: 1, ..reading(0.1, 0.1) };
        assert!(is_met(killed, &reading(4.0, 4.0), Some(&lossy)));
        assert!(!is_met(killed, &lossy, None));
    }

    #[test]
    fn slow_faults_have_their_own_goals() {
        assert!(is_met(named("slow-reads-4"), &reading(9.0, 6.0), Some(&reading(0.1, 0.1))));
        assert!(!is_met(named("slow-reads-4"), &reading(9.0, 6.1), None));
        assert!(is_met(named("slow-webhook"), &reading(9.0, 6.5), Some(&reading(5.0, 5.0))));
        assert!(!is_met(named("slow-webhook"), &reading(9.0, 6.6), Some(&reading(5.0, 5.0))));
    }

    #[test]
    fn each_contender_of_a_fault_has_a_line() {
        let mut readings = FaultReadings::new();
        readings.insert(("cut", Contender::Ours), (reading(1.0, 2.0), Some(11.0)));
        readings.insert(("cut", Contender::Original), (reading(1.0, 2.0), None));
        let rows = rows(named("cut"), &readings);
        assert_eq!(
            rows.lines().collect::<Vec<_>>(),
            [
                "| network cut for 15 s | Taintward | 0 / 0 / 0 | 0 | 2.00 / 2.00 | 1.00 | 2.00 | – | 11.00 | met |",
                "|  | kube-controller-manager | 0 / 0 / 0 | 0 | 2.00 / 2.00 | 1.00 | 2.00 | – | – |  |",
            ]
        );
    }
}

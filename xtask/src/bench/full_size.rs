//! Runs the stories of eviction policies and of the brake on a real control plane at their full size, and collects their figures.
//!
//! - The stories are tests of `crates/cli/tests/cluster`, which run in CI at a smaller size; one that fails is an error here.
//! - Writes docs/benchmarks-policies-full.md.

use super::report::Report;
use crate::sources;
use anyhow::{Result, ensure};
use std::process::Stdio;
use taintward_envtest::{Binaries, binaries};

/// The stories with figures.
const STORIES: [&str; 4] = [
    "an_app_never_falls_below_its_budget_and_leaves_tainted_nodes",
    "a_budget_holds_pods_back_until_the_deadline_and_no_longer",
    "a_taint_may_respect_budgets_without_a_policy",
    "a_mistake_costs_the_pods_of_the_first_nodes_also_if_the_leader_is_killed",
];

/// The begin of a line with a figure: what was measured, the reading, and what was required.
const FIGURE: &str = "figure: ";

pub(crate) fn run(quick: bool) -> Result<()> {
    Binaries::find_or_build()?;
    binaries::KWOK.find_or_build()?;
    let mut command = sources::cargo();
    command
        .args(["test", "--workspace", "--test", "cluster", "--", "--nocapture", "--test-threads=1"])
        .args(STORIES);
    command.stderr(Stdio::inherit());
    if !quick {
        command.env("TAINTWARD_FULL_SIZE", "1");
    }
    let printed = sources::output(&mut command)?;
    let figures: Vec<[&str; 3]> = printed.lines().filter_map(figure).collect();
    ensure!(figures.len() > STORIES.len(), "the stories printed {} figures only", figures.len());
    let title = "Eviction policies and the brake at full size";
    let mut report = Report::new("benchmarks-policies-full.md", title, &["", "reading", "required"]);
    figures.iter().for_each(|figure| report.row(figure));
    let measured = "the tests of eviction policies and of the brake on a real control plane, as CI runs them with fewer pods and \
                    nodes: kube-controller-manager counts for budgets and recreates pods, kube-scheduler binds them, KWOK runs \
                    them, and the audit log is the witness. One app has 100 replicas of which 90 % must stay healthy; five of six \
                    nodes are tainted, and the leader is killed in the middle. Another has 100 replicas and a budget that never \
                    allows a disruption; the API server of these two runs with `GOGC=400`, because everything shares the \
                    machine's cores. The mistake is `kubectl taint nodes --all k=v:NoExecute` on 1000 nodes, with \
                    `--brake-limit=10`.";
    report.publish(quick, measured, "")
}

fn figure(line: &str) -> Option<[&str; 3]> {
    // The test harness may begin the line.
    let (_, figure) = line.split_once(FIGURE)?;
    let mut cells = figure.split(" | ");
    Some([cells.next()?, cells.next()?, cells.next()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_found_behind_the_name_of_its_test() {
        let line = "test eviction_brake::a ... figure: nodes | 11 | at most 11";
        assert_eq!(figure(line), Some(["nodes", "11", "at most 11"]));
        assert_eq!(figure("figure: nodes"), None);
        assert_eq!(figure("ok"), None);
    }
}

//! Builds the report: findings, silenced findings, and totals, in a stable order.

use super::baseline::Baseline;
use super::collect::{CollectedCounts, CollectedObjects};
use super::config::LintConfig;
use super::finding::ReportedFinding;
use super::policy_findings;
use crate::cluster_state::ReadError;
use crate::messages::counted;
use std::collections::BTreeMap;
use taintward_core::lint::{self, Severity};

/// The data of a report.
pub(crate) struct LintReportData {
    pub(crate) findings: Vec<ReportedFinding>,
    /// With the reason of the config, or a note that the baseline has it.
    pub(crate) silenced: Vec<(ReportedFinding, String)>,
    pub(crate) unreadable: Vec<ReadError>,
    pub(crate) gaps: Vec<String>,
    /// What was not checked, and may not exist.
    pub(crate) unchecked: Vec<String>,
    /// Entries of the config that silenced nothing.
    pub(crate) unused_silences: Vec<String>,
    /// Findings of the baseline that were not found again.
    pub(crate) gone: usize,
    pub(crate) counts: CollectedCounts,
    /// The number of eviction policies, those of a cluster included.
    pub(crate) policies: usize,
    /// The number of findings that are not among `findings`.
    counted: BTreeMap<Severity, usize>,
    pub(crate) from_cluster: bool,
}

impl LintReportData {
    pub(crate) fn new(gathered: CollectedObjects, config: &LintConfig, mut baseline: Baseline) -> Self {
        let mut reported: Vec<(usize, ReportedFinding)> = lint::lint(&gathered.facts)
            .into_iter()
            .map(|finding| {
                let (order, subject) = match finding.subject {
                    lint::LintSubject::Workload(at) => (at, &gathered.workloads[at]),
                    lint::LintSubject::Node(at) => (gathered.workloads.len() + at, &gathered.nodes[at]),
                };
                (order, ReportedFinding::new(finding, subject))
            })
            .collect();
        let others = gathered.workloads.len() + gathered.nodes.len();
        reported
            .extend(policy_findings::check(&gathered.policies).into_iter().map(|finding| (others, finding)));
        // For files, the cluster is only a reference.
        if gathered.counts.files > 0 {
            reported.retain(|(_, reported)| reported.location.is_some());
        }
        reported.sort_by(|(order, one), (other_order, other)| {
            let key = |reported: &ReportedFinding| (reported.location.clone(), reported.rule);
            key(one).cmp(&key(other)).then(order.cmp(other_order)).then(one.object.cmp(&other.object))
        });
        let mut used = vec![false; config.silences.len()];
        let (mut findings, mut silenced) = (Vec::new(), Vec::new());
        for (_, reported) in reported {
            match config.silences.iter().position(|silence| silence.fits(&reported)) {
                Some(at) => {
                    used[at] = true;
                    silenced.push((reported, config.silences[at].reason.clone()));
                }
                None if baseline.takes(&reported) => silenced.push((reported, "in the baseline".to_owned())),
                None => findings.push(reported),
            }
        }
        let unused = config.silences.iter().zip(used).filter(|(_, used)| !used);
        Self {
            findings,
            silenced,
            unused_silences: unused.map(|(silence, _)| silence.to_string()).collect(),
            gone: baseline.gone(),
            from_cluster: gathered.counts.files == 0,
            counts: gathered.counts,
            policies: gathered.policies.count(),
            counted: gathered.counted,
            unreadable: gathered.unreadable,
            gaps: gathered.gaps,
            unchecked: gathered.unchecked,
        }
    }

    /// Whether something could not be read.
    pub(crate) fn is_partial(&self) -> bool {
        !self.unreadable.is_empty() || !self.gaps.is_empty()
    }

    pub(crate) fn count(&self, severity: Severity) -> usize {
        let reported = self.findings.iter().filter(|reported| reported.rule.severity() == severity).count();
        reported + self.counted.get(&severity).copied().unwrap_or_default()
    }

    /// Whether the input has no tolerations, no taints, no object that could have some, and no eviction policy.
    pub(crate) fn is_empty(&self) -> bool {
        let CollectedCounts { workloads, nodes, by_shape, .. } = self.counts;
        workloads + nodes + self.policies + by_shape == 0
    }

    /// One line.
    pub(crate) fn summary(&self) -> String {
        let CollectedCounts { files, workloads, nodes, other_kinds, by_shape, foreign } = self.counts;
        let checked = match self.policies {
            0 => format!("{} and {}", counted(workloads, "workload"), counted(nodes, "node")),
            1 => format!("{}, {} and 1 policy", counted(workloads, "workload"), counted(nodes, "node")),
            many => {
                format!("{}, {} and {many} policies", counted(workloads, "workload"), counted(nodes, "node"))
            }
        };
        let mut text = format!(
            "{}, {}, {} in {checked}",
            counted(self.count(Severity::Error), "error"),
            counted(self.count(Severity::Warning), "warning"),
            counted(self.count(Severity::Info), "info"),
        );
        if !self.from_cluster {
            text += &format!(" of {}", counted(files, "file"));
        }
        if !self.silenced.is_empty() {
            text += &format!("; {} silenced", self.silenced.len());
        }
        if by_shape > 0 {
            text += &format!("; {} of other kinds checked by shape", counted(by_shape, "object"));
        }
        if other_kinds > 0 {
            text += &format!("; {} of other kinds", counted(other_kinds, "object"));
        }
        if foreign > 0 && !self.is_partial() {
            text += &format!("; {} without apiVersion and kind", counted(foreign, "document"));
        }
        if self.is_partial() {
            text += "; some reads failed";
        }
        text
    }
}

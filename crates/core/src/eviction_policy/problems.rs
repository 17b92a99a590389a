//! Finds what is wrong with an eviction policy.
//!
//! - Invariant: an invalid policy delays every eviction that it selects, because its author wanted a gentler one.

use super::{EvictionPolicy, is_dead_node_key};
use crate::label::is_key;
use crate::time::Span;
use alloc::boxed::Box;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::fmt;

/// The longest deadline: 30 days. A longer one is more likely a mistake in the unit than a wish.
pub const DEADLINE_MAX: Span = Span::from_secs(30 * 24 * 3600);

/// Something wrong with a policy, or a warning about it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PolicyProblem {
    /// `spec.respectBudgets.deadlineSeconds` is not between a second and [`DEADLINE_MAX`].
    Deadline(Span),
    /// A limit is zero: no eviction would ever be sent. The field.
    ZeroLimit(&'static str),
    /// A percentage is not between 1 and 100.
    Percentage(u32),
    /// `spec.waveTimeoutSeconds` is not positive.
    WaveTimeout(Span),
    /// Not a key of a taint.
    TaintKey(Box<str>),
    /// A selector is invalid, so that what it selects is unknown: it counts as selecting everything. The field, and why.
    Selector(&'static str, String),
    /// The policy is about dead nodes: an eviction there frees nothing. The key.
    DeadNode(Box<str>),
}

impl PolicyProblem {
    /// Whether it makes the policy invalid; otherwise it is a warning.
    pub const fn is_error(&self) -> bool {
        !matches!(self, Self::DeadNode(_))
    }

    /// The path of the field.
    pub const fn field(&self) -> &'static str {
        match self {
            Self::Deadline(_) => "spec.respectBudgets.deadlineSeconds",
            Self::ZeroLimit(field) | Self::Selector(field, _) => field,
            Self::Percentage(_) => "spec.maxUnavailablePerWorkload",
            Self::WaveTimeout(_) => "spec.waveTimeoutSeconds",
            Self::TaintKey(_) | Self::DeadNode(_) => "spec.taints",
        }
    }
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |span: &Span| span.as_micros() / 1_000_000;
        match self {
            Self::Deadline(span) => write!(
                f,
                "spec.respectBudgets.deadlineSeconds is {}: write 1 to {}, or leave it out if budgets must never be violated",
                seconds(span),
                seconds(&DEADLINE_MAX)
            ),
            Self::ZeroLimit(field) => {
                write!(f, "{field} is 0, so no pod would ever be evicted: write 1 or more, or leave it out")
            }
            Self::Percentage(percent) => {
                write!(f, "spec.maxUnavailablePerWorkload is {percent}%: write 1% to 100%")
            }
            Self::WaveTimeout(span) => {
                write!(f, "spec.waveTimeoutSeconds is {}: write 1 or more, or leave it out", seconds(span))
            }
            Self::TaintKey(key) => write!(f, "spec.taints has {key:?}, which cannot be the key of a taint"),
            Self::Selector(field, why) => write!(f, "{field} is invalid: {why}"),
            Self::DeadNode(key) => write!(
                f,
                "spec.taints has {key}: pods of a dead node do not run any more, and their workloads wait for as long as \
                 their eviction does"
            ),
        }
    }
}

impl EvictionPolicy {
    /// Returns what is wrong with the policy, errors first.
    pub fn problems(&self) -> Vec<PolicyProblem> {
        let mut problems = Vec::new();
        if let Some(deadline) = self.budgets.and_then(|budgets| budgets.deadline)
            && !(Span::from_secs(1)..=DEADLINE_MAX).contains(&deadline)
        {
            problems.push(PolicyProblem::Deadline(deadline));
        }
        let unavailable = self.unavailable_per_workload.unwrap_or_default();
        let limits = [
            (self.pods_per_minute, "spec.maxPodsPerMinute"),
            (self.nodes_at_once, "spec.maxNodesAtOnce"),
            (unavailable.replicas, "spec.maxUnavailablePerWorkload"),
        ];
        let zero = limits.into_iter().filter(|(limit, _)| *limit == Some(0));
        problems.extend(zero.map(|(_, field)| PolicyProblem::ZeroLimit(field)));
        let percent = unavailable.percent.filter(|percent| !(1..=100).contains(percent));
        problems.extend(percent.map(PolicyProblem::Percentage));
        let timeout = self.order.and_then(|order| order.timeout);
        let timeout = timeout.filter(|timeout| *timeout < Span::from_secs(1));
        problems.extend(timeout.map(PolicyProblem::WaveTimeout));
        let keys = self.taints.iter().map(|taint| &taint.key);
        problems.extend(keys.clone().filter(|key| !is_key(key)).cloned().map(PolicyProblem::TaintKey));
        let selectors = [
            (&self.nodes, "spec.nodeSelector"),
            (&self.namespaces, "spec.namespaceSelector"),
            (&self.pods, "spec.podSelector"),
        ];
        for (selector, field) in selectors {
            let errors = selector.errors().into_iter();
            problems.extend(errors.map(|why| PolicyProblem::Selector(field, why.to_string())));
        }
        problems.extend(keys.filter(|key| is_dead_node_key(key)).cloned().map(PolicyProblem::DeadNode));
        problems
    }

    /// Whether nothing is wrong that makes it invalid.
    pub fn is_valid(&self) -> bool {
        !self.problems().iter().any(PolicyProblem::is_error)
    }
}

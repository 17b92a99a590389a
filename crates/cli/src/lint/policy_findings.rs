//! Checks eviction policies (TL401 to TL406): each by itself, with the others, and with disruption budgets.
//!
//! - See `eviction_policy/comparison.rs` and `eviction_policy/problems.rs` in core for what is checked.

use super::eviction_policies::{CollectedPolicies, CollectedPolicy};
use super::finding::{FindingLocation, ReportedFinding};
use crate::manifest::TextSpan;
use taintward_core::cluster_snapshot::DisruptionBudget;
use taintward_core::eviction_policy::{EvictionPolicy, PolicyConflict, PolicyProblem};
use taintward_core::lint::Rule;

/// How many budgets a finding names.
const BUDGETS_MAX: usize = 3;

/// Returns all findings, in the order of the policies.
pub(super) fn check(collected: &CollectedPolicies) -> Vec<ReportedFinding> {
    let CollectedPolicies { policies, budgets } = collected;
    let readable: Vec<&EvictionPolicy> =
        policies.iter().filter_map(|one| one.policy.as_deref().ok()).collect();
    policies.iter().flat_map(|one| one.findings(&readable, budgets)).collect()
}

impl CollectedPolicy {
    fn findings(&self, all: &[&EvictionPolicy], budgets: &[DisruptionBudget]) -> Vec<ReportedFinding> {
        let policy = match &self.policy {
            Ok(policy) => policy,
            Err(why) => {
                // The position is one of the object as JSON, which the user has not written.
                let why = why.split(" at line ").next().unwrap_or(why);
                let path = why.split_once(": ").map(|(path, _)| path);
                let field = path.filter(|path| path.starts_with("spec")).unwrap_or_default();
                let fix = "correct the field; docs/eviction-policy.md describes all fields";
                return vec![self.finding(
                    Rule::InvalidEvictionPolicy,
                    field,
                    why.to_owned(),
                    fix.to_owned(),
                )];
            }
        };
        let mut found: Vec<ReportedFinding> =
            policy.problems().iter().map(|problem| self.problem(problem)).collect();
        if policy.selects_nothing() {
            let reason = "its selectors exclude each other: the policy selects no eviction".to_owned();
            let fix = "remove one of the requirements that no labels can meet together".to_owned();
            found.push(self.finding(Rule::SelectsNothing, "spec", reason, fix));
        }
        found.extend(policy.conflict(all).map(|conflict| self.conflict(policy, conflict)));
        let never: Vec<String> = budgets
            .iter()
            .filter(|budget| policy.never_evicts(budget))
            .map(|budget| match &*budget.namespace {
                "" => budget.name.to_string(),
                namespace => format!("{namespace}/{}", budget.name),
            })
            .collect();
        found.extend((!never.is_empty()).then(|| self.never_evicts(&never)));
        found
    }

    fn problem(&self, problem: &PolicyProblem) -> ReportedFinding {
        let sentence = problem.to_string();
        let (rule, reason, fix) = match problem {
            PolicyProblem::DeadNode(_) => {
                (Rule::DelaysDeadNodes, &*sentence, "remove the key, unless you want just that")
            }
            // These quote what is written, and say what is wrong with it.
            PolicyProblem::TaintKey(_) | PolicyProblem::Selector(..) => {
                (Rule::InvalidEvictionPolicy, &*sentence, "correct the field")
            }
            _ => {
                let (reason, fix) = sentence.split_once(": ").unwrap_or((&sentence, "correct the field"));
                (Rule::InvalidEvictionPolicy, reason, fix)
            }
        };
        self.finding(rule, problem.field(), reason.to_owned(), fix.to_owned())
    }

    fn conflict(&self, policy: &EvictionPolicy, conflict: PolicyConflict<'_>) -> ReportedFinding {
        let field = "spec.priority";
        match conflict {
            PolicyConflict::Shadowed(other) => {
                let before = match other.priority == policy.priority {
                    true => "comes first by its name".to_owned(),
                    false => format!("has the higher priority {}", other.priority),
                };
                let reason = format!("never applies: {} selects all of it and {before}", other.name);
                let fix = match other.priority.checked_add(1) {
                    Some(higher) => format!("remove it, or set spec.priority to {higher}"),
                    None => format!("remove it, or lower the priority of {}", other.name),
                };
                self.finding(Rule::ShadowedEvictionPolicy, field, reason, fix)
            }
            PolicyConflict::EqualPriority(other) => {
                let reason = format!(
                    "may select the same evictions as {}, with the same priority: {} applies to them, because its name \
                     is first",
                    other.name, other.name
                );
                let fix = "give the policy that should apply a higher spec.priority".to_owned();
                self.finding(Rule::EqualPriority, field, reason, fix)
            }
        }
    }

    fn never_evicts(&self, budgets: &[String]) -> ReportedFinding {
        let named = budgets.iter().take(BUDGETS_MAX).cloned().collect::<Vec<_>>().join(", ");
        let more = match budgets.len().saturating_sub(BUDGETS_MAX) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let reason = format!("never evicts a pod of {named}{more}: the budget never allows a disruption");
        let fix = "set spec.respectBudgets.deadlineSeconds, or allow a disruption in the budget".to_owned();
        self.finding(Rule::NeverEvicted, "spec.respectBudgets", reason, fix)
    }

    /// A field that is absent has the position of the object's name.
    fn finding(&self, rule: Rule, field: &str, reason: String, fix: String) -> ReportedFinding {
        let location =
            self.file.as_ref().map(|file| FindingLocation { file: file.clone(), span: self.span(field) });
        ReportedFinding { rule, object: self.name.clone(), field: field.to_owned(), location, reason, fix }
    }

    fn span(&self, field: &str) -> TextSpan {
        let steps: Vec<&str> = field.split('.').collect();
        let name = self.tree.at(&["metadata", "name"]).unwrap_or(&self.tree);
        self.tree.at(&steps).unwrap_or(name).span
    }
}

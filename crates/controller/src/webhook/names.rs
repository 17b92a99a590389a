//! # Names: what the webhook is called
//! Room:     the names of its Service, and those of the rules that hold.
//! Comes in: a Service and its namespace; settings of rules.
//! Goes out: names for a certificate; words for the log.
//! Not here: the rules themselves.

use taintward_core::admission::review::{AdmissionRule, ReviewSettings};

/// Every name by which an API server may call a Service; the first is the one it uses.
pub fn service_names(service: &str, namespace: &str) -> Vec<String> {
    let short = format!("{service}.{namespace}.svc");
    let long = format!("{short}.cluster.local");
    vec![short, long]
}

/// `default-tolerations,dedicated-pools`
pub(super) fn of_rules(settings: &ReviewSettings) -> String {
    let holds = |rule: &AdmissionRule| match rule {
        AdmissionRule::Defaults => settings.defaults.is_some(),
        AdmissionRule::Restriction => settings.restriction.is_some(),
        AdmissionRule::Extended => settings.extended,
        AdmissionRule::Pools => settings.pools,
        AdmissionRule::Advice => settings.advice.is_some(),
        AdmissionRule::Brake => settings.guard.is_some(),
    };
    let names: Vec<&str> =
        AdmissionRule::ALL.iter().filter(|rule| holds(rule)).map(|rule| rule.name()).collect();
    names.join(",")
}

//! # Names: what the webhook is called
//! Room:     the names of its Service, and those of the rules that hold.
//! Comes in: a Service and its namespace; settings of rules.
//! Goes out: names for a certificate; words for the log.
//! Not here: the rules themselves.

use taintward_core::admission::review::{Rule, Settings};

/// Every name by which an API server may call a Service; the first is the one it uses.
pub fn service_names(service: &str, namespace: &str) -> Vec<String> {
    let short = format!("{service}.{namespace}.svc");
    let long = format!("{short}.cluster.local");
    vec![short, long]
}

/// `default-tolerations,dedicated-pools`
pub(super) fn of_rules(settings: &Settings) -> String {
    let holds = |rule: &Rule| match rule {
        Rule::Defaults => settings.defaults.is_some(),
        Rule::Restriction => settings.restriction.is_some(),
        Rule::Extended => settings.extended,
        Rule::Pools => settings.pools,
        Rule::Advice => settings.advice.is_some(),
        Rule::Brake => settings.brake.is_some(),
    };
    let names: Vec<&str> = Rule::ALL.iter().filter(|rule| holds(rule)).map(|rule| rule.name()).collect();
    names.join(",")
}

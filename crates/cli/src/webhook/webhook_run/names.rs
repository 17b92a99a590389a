//! Lists the DNS names of the webhook's Service, and the names of its active rules.

use taintward_core::admission::review::{AdmissionRule, ReviewSettings};

/// All DNS names of a Service; API servers use the first one.
pub(crate) fn service_names(service: &str, namespace: &str) -> Vec<String> {
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
        AdmissionRule::TolerationGuard => settings.toleration_guard,
        AdmissionRule::Advice => settings.advice.is_some(),
        AdmissionRule::Brake => settings.guard.is_some(),
    };
    let names: Vec<&str> =
        AdmissionRule::ALL.iter().filter(|rule| holds(rule)).map(|rule| rule.name()).collect();
    names.join(",")
}

//! Recognizes admission webhooks that receive requests of evictions.

use super::strings;
use crate::manifest::YamlNode;

/// A webhook that receives requests of evictions.
#[derive(Clone, Debug)]
pub(crate) struct WebhookFacts {
    /// `ValidatingWebhookConfiguration NAME, webhook NAME`.
    pub(crate) place: String,
    /// The requests that it receives: `DELETE pods`.
    pub(crate) sees: Vec<String>,
    pub(crate) fails_closed: bool,
    /// In seconds.
    pub(crate) timeout: i64,
}

impl WebhookFacts {
    /// A webhook that receives an eviction or the request before it; `None` for other webhooks, and for Taintward's own.
    pub(crate) fn of(kind: &str, configuration: &str, hook: &YamlNode) -> Option<Self> {
        if hook.text("name").ends_with(".taintward.io") {
            return None;
        }
        let rules = hook.get("rules").map_or(&[][..], YamlNode::items);
        let has = |rule: &YamlNode, field: &str, wanted: &[&str]| {
            let values = strings(rule.get(field));
            values.iter().any(|value| wanted.contains(&value.as_str()))
        };
        let steps = [
            ("DELETE", "pods", ["pods", "*", "*/*"]),
            ("UPDATE", "pods/status", ["pods/status", "pods/*", "*/*"]),
            ("CREATE", "pods/eviction", ["pods/eviction", "pods/*", "*/*"]),
        ];
        let sees = |(operation, resource, named): &(&str, &str, [&str; 3])| {
            let seen = rules.iter().any(|rule| {
                has(rule, "apiGroups", &["", "*"])
                    && has(rule, "operations", &[operation, "*"])
                    && has(rule, "resources", named)
            });
            seen.then(|| format!("{operation} {resource}"))
        };
        let sees: Vec<String> = steps.iter().filter_map(sees).collect();
        (!sees.is_empty()).then(|| Self {
            place: format!("{kind} {configuration}, webhook {}", hook.text("name")),
            sees,
            fails_closed: hook.text("failurePolicy") != "Ignore",
            timeout: hook.text("timeoutSeconds").parse().unwrap_or(10),
        })
    }
}

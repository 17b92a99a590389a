//! Defines the decision of a reviewer: allowed or denied, patch, warnings, outcomes of rules.
//!
//! - Invariant: messages have no control characters and keep Kubernetes' length limits.

use super::patch::JsonPatchBuilder;
use taintward_core::text::is_hazard;
use taintward_server::closed_label;

/// The longest warning, in characters, as Kubernetes requires; longer ones are truncated.
pub const WARNING_MAX: usize = 256;

/// All warnings of a response together, in characters; further ones are left out and counted.
pub const WARNINGS_MAX: usize = 4096;

/// The longest reason of a denial or annotation, in characters.
const MESSAGE_MAX: usize = 4096;

/// The decision of a reviewer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewVerdict {
    /// Why the object is rejected; `None`: it is allowed.
    pub denial: Option<ReviewDenial>,
    /// Warnings for the requester; one line each, they are sanitized and truncated.
    pub warnings: Vec<String>,
    /// What is added to the object; ignored if there is a denial.
    pub patch: JsonPatchBuilder,
    /// Annotations for the API server's audit log: a key and a value.
    pub audit: Vec<(&'static str, String)>,
    /// What rules did, to be counted.
    pub notes: Vec<RuleOutcome>,
    /// An object in the request is newer than the last watch event: a caller that can wait a little tries again.
    pub is_early: bool,
}

impl ReviewVerdict {
    /// The object is allowed unchanged.
    pub fn allow() -> Self {
        Self::default()
    }

    /// The object is rejected: 403, `Forbidden`.
    pub fn deny(message: impl Into<String>) -> Self {
        Self { denial: Some(ReviewDenial::forbidden(message)), ..Self::default() }
    }

    /// The same with one more warning.
    #[must_use]
    pub fn warn(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }

    /// The warnings of the response: sanitized, truncated, and limited in number.
    pub(super) fn clean_warnings(&self) -> Vec<String> {
        let mut warnings = Vec::with_capacity(self.warnings.len());
        let mut room = WARNINGS_MAX;
        for warning in &self.warnings {
            let warning = clean(warning, WARNING_MAX);
            let length = warning.chars().count();
            // There is always room for one more, which counts the omitted ones.
            if length + WARNING_MAX > room {
                warnings.push(format!("{} more warnings are left out", self.warnings.len() - warnings.len()));
                break;
            }
            room -= length;
            warnings.push(warning);
        }
        warnings
    }
}

/// Why an object is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewDenial {
    /// The HTTP status for the requester; anything but 4xx and 5xx becomes 403.
    pub code: u16,
    /// The reason, in CamelCase.
    pub reason: &'static str,
    /// What is wrong, and the remedy.
    pub message: String,
}

impl ReviewDenial {
    /// 403, `Forbidden`.
    pub fn forbidden(message: impl Into<String>) -> Self {
        Self { code: 403, reason: "Forbidden", message: message.into() }
    }

    pub(super) fn clean_code(&self) -> u16 {
        if (400..600).contains(&self.code) { self.code } else { 403 }
    }
}

closed_label! {
    /// What a rule did.
    RuleEffect, "did", {
        /// It added something to the object.
        Changed => "changed",
        /// It warned the requester.
        Warned => "warned",
        /// It rejected the object.
        Denied => "denied",
        /// It would have rejected the object, which is exempt.
        Exempted => "exempted",
        /// It could not decide, because facts were missing, and did nothing.
        Unknown => "unknown",
    }
}

/// The outcome of a rule. Rules that the metrics do not know are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleOutcome {
    /// The rule.
    pub rule: &'static str,
    /// What it did.
    pub effect: RuleEffect,
}

/// Text for people: one line without anything that controls a terminal, at most `most` characters.
pub(super) fn clean(text: &str, most: usize) -> String {
    let mut line: String =
        text.chars().map(|c| if is_hazard(c) { ' ' } else { c }).take(most.saturating_add(1)).collect();
    if line.chars().count() > most {
        line = line.chars().take(most.saturating_sub(3)).chain("...".chars()).collect();
    }
    line.truncate(line.trim_end().len());
    line
}

/// A reason for people, as [`clean`].
pub(super) fn clean_message(text: &str) -> String {
    clean(text, MESSAGE_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_cannot_control_a_terminal_and_is_short() {
        assert_eq!(clean("a\u{1b}[31mb\nc\u{202e}d\u{7f}", 99), "a [31mb c d");
        let long = clean(&"ä".repeat(1000), WARNING_MAX);
        assert_eq!(long.chars().count(), WARNING_MAX);
        assert!(long.ends_with("ä..."));
        assert_eq!(clean(&"ä".repeat(WARNING_MAX), WARNING_MAX).chars().count(), WARNING_MAX);
    }

    #[test]
    fn warnings_beyond_the_limit_are_counted() {
        let mut verdict = ReviewVerdict::allow();
        verdict.warnings = vec!["x".repeat(200); 100];
        let warnings = verdict.clean_warnings();
        assert!(warnings.iter().map(String::len).sum::<usize>() <= WARNINGS_MAX);
        let left = 100 - (warnings.len() - 1);
        assert_eq!(warnings.last(), Some(&format!("{left} more warnings are left out")));
        assert_eq!(ReviewVerdict::allow().warn("a").warn("b").clean_warnings(), ["a", "b"]);
    }
}

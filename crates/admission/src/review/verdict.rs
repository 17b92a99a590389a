//! Defines the decision of a reviewer: allowed or denied, patch, warnings, outcomes of rules.
//!
//! - Invariant: messages have no control characters and keep Kubernetes' length limits.

use super::patch::JsonPatchBuilder;
use taintward_core::text::is_hazard;
use taintward_server::closed_label;

/// The longest warning, in characters, as Kubernetes wants it; longer ones are cut.
pub const WARNING_MAX: usize = 256;

/// All warnings of an answer together, in characters; what is more is left out, and said to be.
pub const WARNINGS_MAX: usize = 4096;

/// The longest reason of a denial or annotation, in characters.
const MESSAGE_MAX: usize = 4096;

/// What a reviewer says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewVerdict {
    /// Why the object may not come in; `None`: it may.
    pub denial: Option<ReviewDenial>,
    /// Warnings to the person who sent the object; one line each, they are cleaned and cut.
    pub warnings: Vec<String>,
    /// What is added to the object; nothing of it happens if there is a denial.
    pub patch: JsonPatchBuilder,
    /// What is written into the API server's audit log: a word of ours and what goes with it.
    pub audit: Vec<(&'static str, String)>,
    /// What rules did, to be counted.
    pub notes: Vec<RuleOutcome>,
    /// Something in the question is younger than the last news: whoever can wait a little asks again.
    pub is_early: bool,
}

impl ReviewVerdict {
    /// The object may come in as it is.
    pub fn allow() -> Self {
        Self::default()
    }

    /// The object may not come in: 403, `Forbidden`.
    pub fn deny(message: impl Into<String>) -> Self {
        Self { denial: Some(ReviewDenial::forbidden(message)), ..Self::default() }
    }

    /// The same with one more warning.
    #[must_use]
    pub fn warn(mut self, warning: impl Into<String>) -> Self {
        self.warnings.push(warning.into());
        self
    }

    /// The warnings as they go out: clean, cut, and not too many.
    pub(super) fn clean_warnings(&self) -> Vec<String> {
        let mut warnings = Vec::with_capacity(self.warnings.len());
        let mut room = WARNINGS_MAX;
        for warning in &self.warnings {
            let warning = clean(warning, WARNING_MAX);
            let length = warning.chars().count();
            // One more always has room, to say how many have none.
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

/// Why an object may not come in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewDenial {
    /// The HTTP status the person who sent the object gets; anything but 4xx and 5xx becomes 403.
    pub code: u16,
    /// The word for it, in CamelCase.
    pub reason: &'static str,
    /// What is wrong, and the way out.
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
    Did, "did", {
        /// It added something to the object.
        Changed => "changed",
        /// It told the person something.
        Warned => "warned",
        /// It kept the object out.
        Denied => "denied",
        /// It would have kept the object out, which is exempt.
        Exempted => "exempted",
        /// It could not tell, for facts were missing, and did nothing.
        Unknown => "unknown",
    }
}

/// A rule did something. Rules that the metrics were not told of are not counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleOutcome {
    /// The rule.
    pub rule: &'static str,
    /// What it did.
    pub did: Did,
}

/// Text for people: one line without anything that steers a terminal, not longer than `most` characters.
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
    fn a_warning_cannot_steer_a_terminal_and_is_short() {
        assert_eq!(clean("a\u{1b}[31mb\nc\u{202e}d\u{7f}", 99), "a [31mb c d");
        let long = clean(&"ä".repeat(1000), WARNING_MAX);
        assert_eq!(long.chars().count(), WARNING_MAX);
        assert!(long.ends_with("ä..."));
        assert_eq!(clean(&"ä".repeat(WARNING_MAX), WARNING_MAX).chars().count(), WARNING_MAX);
    }

    #[test]
    fn warnings_that_have_no_room_are_counted() {
        let mut verdict = ReviewVerdict::allow();
        verdict.warnings = vec!["x".repeat(200); 100];
        let warnings = verdict.clean_warnings();
        assert!(warnings.iter().map(String::len).sum::<usize>() <= WARNINGS_MAX);
        let left = 100 - (warnings.len() - 1);
        assert_eq!(warnings.last(), Some(&format!("{left} more warnings are left out")));
        assert_eq!(ReviewVerdict::allow().warn("a").warn("b").clean_warnings(), ["a", "b"]);
    }
}

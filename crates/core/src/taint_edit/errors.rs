//! Formats errors of taint edits: what is wrong at the marked position, in a few words, and kubectl's message (KT-3,
//! KT-5, KT-7).

use super::grammar::is_pair;
use super::{EditError, EditSummary, GrammarError, GrammarErrorKind};
use crate::taint::Taint;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

impl GrammarError {
    /// Says what is wrong at the marked position, in a few words.
    pub fn hint(&self) -> &'static str {
        match &self.error {
            GrammarErrorKind::Colons { .. } => "a second ':'; a taint is key=value:Effect",
            GrammarErrorKind::Equals { .. } => "a second '='; a taint is key=value:Effect",
            GrammarErrorKind::NoEffect { .. } => NO_EFFECT,
            GrammarErrorKind::Key { spec, .. } if is_pair(spec) => NO_EFFECT,
            GrammarErrorKind::Effect { effect } if effect.is_empty() => {
                "an effect is missing after ':': NoSchedule, PreferNoSchedule or NoExecute"
            }
            GrammarErrorKind::Effect { .. } => {
                "an unknown effect; the effects are NoSchedule, PreferNoSchedule and NoExecute"
            }
            GrammarErrorKind::Value { .. } => "a value cannot have this character here",
            GrammarErrorKind::Key { .. } => "a key cannot have this character here",
            GrammarErrorKind::Twice(_) => "an earlier argument has this key and effect",
            GrammarErrorKind::Contradiction(_) => "this removes what is added in the same command",
        }
    }

    /// Whether each argument is valid, but some contradict each other (KT-5).
    pub const fn is_contradiction(&self) -> bool {
        matches!(self.error, GrammarErrorKind::Contradiction(_))
    }
}

const NO_EFFECT: &str = "an effect is missing, as in key=value:NoSchedule; to remove a taint, write key-";

/// kubectl's message, without the regular expressions in it.
impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.error {
            GrammarErrorKind::Colons { spec }
            | GrammarErrorKind::Equals { spec }
            | GrammarErrorKind::NoEffect { spec } => {
                write!(f, "invalid taint spec: {spec}")
            }
            GrammarErrorKind::Effect { effect } => {
                write!(f, "invalid taint effect: {effect}, unsupported taint effect")
            }
            GrammarErrorKind::Value { spec, errors } | GrammarErrorKind::Key { spec, errors } => {
                let errors: Vec<String> = errors.iter().map(|error| without_pattern(error)).collect();
                write!(f, "invalid taint spec: {spec}, {}", errors.join("; "))
            }
            GrammarErrorKind::Twice(Taint { key, value, effect, .. }) => {
                let effect = effect.as_str();
                write!(f, "duplicated taints with the same key and effect: {{{key} {value} {effect} <nil>}}")
            }
            GrammarErrorKind::Contradiction(removals) => {
                let each = removals.iter().map(|removal| {
                    let effect = removal.effect.as_ref().map(|effect| effect.as_str());
                    format!("{}={}", removal.key, effect.unwrap_or_default())
                });
                let each = each.collect::<Vec<String>>().join(", ");
                write!(f, "can not both modify and remove the following taint(s) in the same command: {each}")
            }
        }
    }
}

impl core::error::Error for GrammarError {}

/// Removes the regular expression from one of the API server's messages.
fn without_pattern(error: &str) -> String {
    let parts = error.split_once(", regex used for validation is '");
    let parts = parts.and_then(|(before, after)| Some((before, after.split_once("')")?.1)));
    parts.map_or_else(|| error.to_owned(), |(before, after)| format!("{before}){after}"))
}

impl EditError {
    /// Returns one message for each error of this node.
    pub fn messages(&self, node: &str) -> Vec<String> {
        match self {
            Self::Exists(keys) => {
                let keys = keys.join(",");
                [format!(
                    "node {node} already has {keys} taint(s) with same effect(s) and --overwrite is false"
                )]
                .into()
            }
            Self::NotFound(removals) => {
                removals.iter().map(|removal| format!("taint \"{removal}\" not found")).collect()
            }
        }
    }
}

impl fmt::Display for EditSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tainted => "tainted",
            Self::Untainted => "untainted",
            Self::Modified => "modified",
        })
    }
}

//! Counts identifiers that contain a word which Kubernetes and its libraries have another term for.
//!
//! - Code, tests and examples count; strings and comments do not. Names of tests are sentences: identifiers of four words
//!   and more may contain any word.

use super::measure::Measure;
use crate::files::files_below;
use anyhow::{Context as _, Result, anyhow};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::str::FromStr as _;

/// The words, each group with the terms to choose from.
const BANNED: [(&[&str], &str); 13] = [
    (&["ask", "asks", "asked", "asking"], "request, query, requested"),
    (&["answer", "answers", "answered"], "response, result, received"),
    (&["told", "tell", "tells"], "report, recorded, send"),
    (&["hear", "heard"], "receive, observe"),
    (&["say", "says", "said"], "report, message, text"),
    (&["look", "looks", "looked"], "read, check, get"),
    (&["refuse", "refuses", "refused", "refusal", "refusals"], "reject, rejected, rejection"),
    (&["trouble", "troubles"], "error"),
    (&["news", "tidings"], "change, update"),
    (&["pace", "patience"], "rate, throttle, timeout, period"),
    (&["unmark", "sieve", "sift", "wish"], "clear, filter, requested"),
    (&["anybody", "nobody"], "anyone, none"),
    (&["standing", "trespasser", "offender", "offenders"], "state, validity, violation"),
];

/// Names of the standard library.
const FOREIGN: [&str; 1] = ["ConnectionRefused"];

/// An identifier with this many words is the name of a test.
const SENTENCE_WORDS: usize = 4;

/// The identifiers of all sources of the checkout in `root`.
///
/// # Errors
///
/// A source cannot be read, or its brackets are not balanced.
pub(crate) fn measure(root: &Path) -> Result<Measure> {
    let mut findings = BTreeSet::new();
    for file in files_below(root, &["rs"])? {
        let path = file.strip_prefix(root)?.to_string_lossy();
        let text = fs::read_to_string(&file).with_context(|| format!("reading {path}"))?;
        let tokens = TokenStream::from_str(&text).map_err(|why| anyhow!("{path}: {why}"))?;
        let mut identifiers = BTreeSet::new();
        collect(tokens, &mut identifiers);
        findings.extend(identifiers.iter().filter_map(|name| {
            let terms = terms_instead(name)?;
            Some(format!("{path}: {name}: choose one of {terms}"))
        }));
    }
    Ok(Measure::count("identifiers with a banned word", 0.0, findings.into_iter().collect()))
}

fn collect(tokens: TokenStream, identifiers: &mut BTreeSet<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(name) => _ = identifiers.insert(name.to_string()),
            TokenTree::Group(group) => collect(group.stream(), identifiers),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// The terms for the first banned word of a name.
fn terms_instead(name: &str) -> Option<&'static str> {
    let words = words(name);
    if words.len() >= SENTENCE_WORDS || FOREIGN.contains(&name) {
        return None;
    }
    let group = BANNED.iter().find(|(group, _)| words.iter().any(|word| group.contains(&word.as_str())));
    group.map(|(_, terms)| *terms)
}

/// The words of `snake_case`, `CamelCase` and `CONSTANT_CASE`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    for part in name.split('_').filter(|part| !part.is_empty()) {
        let is_camel = part.chars().any(char::is_lowercase);
        let mut word = String::new();
        for letter in part.chars() {
            if is_camel && letter.is_uppercase() && !word.is_empty() {
                words.push(std::mem::take(&mut word));
            }
            word.extend(letter.to_lowercase());
        }
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::terms_instead;

    #[test]
    fn a_word_is_found_in_every_case() {
        for name in ["ask", "may_ask", "ANSWER_MAX", "NoAnswer", "looked_at", "StampSaid"] {
            assert!(terms_instead(name).is_some(), "{name}");
        }
    }

    #[test]
    fn parts_of_words_sentences_and_foreign_names_are_allowed() {
        for name in ["task", "space", "essay", "lookup", "a_pod_that_is_refused_stays", "ConnectionRefused"] {
            assert_eq!(terms_instead(name), None, "{name}");
        }
    }
}

//! Chooses what replaces each name: a short text at the same place in the order of all names.

use std::collections::{BTreeMap, BTreeSet};

/// What replaces each name that is private.
#[derive(Debug)]
pub(super) struct Replacements(BTreeMap<String, String>);

impl Replacements {
    /// `texts`: all of them. Those between two public ones begin with what is common in their place, and go on with a
    /// number.
    pub(super) fn new(texts: &BTreeSet<String>) -> Self {
        let width = texts.len().to_string().len();
        let mut last = "";
        let mut next = texts.iter().filter(|text| is_public(text)).peekable();
        let mut replacements = BTreeMap::new();
        for (number, text) in texts.iter().enumerate() {
            if is_public(text) {
                last = text;
                next.next();
                continue;
            }
            let place = between(last, next.peek().map(|text| &***text));
            replacements.insert(text.clone(), format!("{place}-{number:0width$}"));
        }
        Self(replacements)
    }

    pub(super) fn of(&self, text: &str) -> String {
        self.0.get(text).map_or_else(|| text.to_owned(), String::clone)
    }
}

/// A text that is not before `last`, and before `next` whatever follows it after a hyphen: mostly a letter.
fn between(last: &str, next: Option<&str>) -> String {
    let next = next.unwrap_or("~");
    let starts = next.char_indices().map(|(at, _)| &next[..at]).filter(|start| !start.is_empty());
    let short = starts.into_iter().find(|start| *start > last).map(str::to_owned);
    let letters = || ('a'..='z').map(String::from).find(|letter| &**letter > last && &**letter < next);
    short.or_else(letters).unwrap_or_else(|| last.to_owned())
}

/// Whether it says nothing about a cluster: it is empty or a number, or its domain is that of Kubernetes or Taintward.
fn is_public(text: &str) -> bool {
    let domain = text.split_once('/').map(|(domain, _)| domain);
    let is_known = |domain: &str| {
        ["kubernetes.io", "k8s.io", "taintward.io"].iter().any(|known| {
            domain.strip_suffix(known).is_some_and(|before| before.is_empty() || before.ends_with('.'))
        })
    };
    text.is_empty()
        || text == "true"
        || text == "false"
        || text.parse::<i64>().is_ok()
        || domain.is_some_and(is_known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced_in_their_order_and_public_ones_stay() {
        let texts = [
            "",
            "17",
            "apps",
            "app.kubernetes.io/name",
            "app.kubernetes.io/name-x",
            "blue",
            "green",
            "node-1",
            "node-10",
            "node-2",
            "node.kubernetes.io/not-ready",
            "node.kubernetes.io/unreachable",
            "shop",
            "kubernetes.io.evil/x",
            "topology.kubernetes.io/zone",
            "topology.kubernetes.io/zone-",
            "true",
            "web",
            "zz",
        ];
        let texts: BTreeSet<String> = texts.map(str::to_owned).into();
        let replacements = Replacements::new(&texts);
        let replaced: Vec<String> = texts.iter().map(|text| replacements.of(text)).collect();
        assert!(replaced.is_sorted_by(|one, next| one < next), "{replaced:?}");
        for (text, replaced) in texts.iter().zip(&replaced) {
            assert_eq!(text == replaced, is_public(text), "{text} {replaced}");
        }
        let private = ["apps", "blue", "kubernetes.io.evil/x", "shop", "web"];
        assert!(private.iter().all(|text| !is_public(text)));
        assert!(["", "-3", "node.kubernetes.io/not-ready", "true"].iter().all(|text| is_public(text)));
        assert!(!replaced.iter().any(|text| text.contains("evil") || text.contains("shop")), "{replaced:?}");
    }
}

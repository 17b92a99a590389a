//! Recognizes keys that differ from those of Kubernetes' own taints: obsolete or misspelled ones (MATCH-10).

use super::nearest;
use crate::taint::keys;
use alloc::string::String;

/// The maximum edit distance between a misspelled key and the right one.
const LETTERS_MAX: usize = 2;

/// What is wrong with a key.
pub(super) enum KeyProblem {
    Old(Option<&'static str>),
    Misspelt(&'static str),
}

/// Whether Kubernetes has this key for itself.
pub(super) fn is_of_kubernetes(key: &str) -> bool {
    keys::ALL.contains(&key) || wrong(key).is_some()
}

pub(super) fn wrong(key: &str) -> Option<KeyProblem> {
    if key.is_empty() || keys::ALL.contains(&key) {
        return None;
    }
    if let Some((_, new)) = keys::OLD.iter().find(|(old, _)| old.eq_ignore_ascii_case(key)) {
        return Some(KeyProblem::Old(*new));
    }
    if key.starts_with("node.alpha.kubernetes.io/") || key.starts_with("node.beta.kubernetes.io/") {
        return Some(KeyProblem::Old(None));
    }
    misspelt_of(key).map(KeyProblem::Misspelt)
}

/// Returns the key that was intended: one that differs only in punctuation and case, in a few letters, or in having no
/// domain or another one of Kubernetes' domains.
fn misspelt_of(key: &str) -> Option<&'static str> {
    let plain = |text: &str| -> String {
        text.chars().filter(|sign| !"-_".contains(*sign)).flat_map(char::to_lowercase).collect()
    };
    let name = |key: &str| key.split_once('/').map_or_else(|| plain(key), |(_, name)| plain(name));
    let same = |known: &&&str| plain(known) == plain(key);
    if let Some(known) = keys::ALL.iter().find(same) {
        return Some(known);
    }
    if let Some(known) = nearest(key, keys::ALL, LETTERS_MAX) {
        return Some(known);
    }
    let of_kubernetes = key.split_once('/').is_none_or(|(domain, _)| {
        ["", "node.k8s.io", "k8s.io"].contains(&domain) || domain.ends_with("kubernetes.io")
    });
    let known = keys::ALL.iter().find(|known| of_kubernetes && name(known) == name(key));
    known.copied()
}

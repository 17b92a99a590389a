//! # Words: text as people write it, and as they miswrite it
//! Room:     what a label's name and value may look like (VAL-1, VAL-3, VAL-8), how far apart two texts are, quoting.
//! Comes in: text, which may be anything.
//! Goes out: answers; text that is safe to show.
//! Not here: which texts are compared with which (`keys.rs`, `one.rs`).

use alloc::vec::Vec;
use core::fmt;

/// What is shown of a text; the longest value that an API server takes has 63.
const SHOWN_MOST: usize = 80;

/// No key is longer; longer text is not compared.
const KEY_MOST: usize = 253 + 1 + 63;

/// Text in quotes, on one line, of bounded length.
pub(super) struct Quoted<'t>(pub(super) &'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(SHOWN_MOST) {
            write!(f, "{}", character.escape_debug())?;
        }
        f.write_str(if characters.next().is_some() { "...\"" } else { "\"" })
    }
}

/// Whether an API server takes it as a key.
pub(super) fn is_key(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    prefix.is_none_or(is_domain) && !name.is_empty() && is_value(name)
}

/// Whether an API server takes it as a value; an empty one is one.
pub(super) fn is_value(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.len() <= 63 && framed(text, |byte| byte.is_ascii_alphanumeric(), inner)
}

fn is_domain(text: &str) -> bool {
    let end = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let label = |label: &str| !label.is_empty() && framed(label, end, |byte| end(byte) || byte == b'-');
    text.len() <= 253 && text.split('.').all(label)
}

fn framed(text: &str, end: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let ends = [text.bytes().next(), text.bytes().next_back()];
    ends.into_iter().flatten().all(end) && text.bytes().all(inner)
}

/// How many letters have to be added, left out, changed or swapped with their neighbour to make one of the other; `None`
/// if that is more than `most`.
pub(super) fn distance(one: &str, other: &str, most: usize) -> Option<usize> {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    if one.len().abs_diff(other.len()) > most || one.len() > KEY_MOST {
        return None;
    }
    let mut before: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, &a) in one.iter().enumerate() {
        let mut next = Vec::with_capacity(row.len());
        next.push(i + 1);
        for (j, &b) in other.iter().enumerate() {
            let changed = row[j] + usize::from(a != b);
            let mut least = changed.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && a == other[j - 1] && one[i - 1] == b {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        before = core::mem::replace(&mut row, next);
    }
    row.last().copied().filter(|&letters| letters <= most)
}

/// The one of `known` that `text` was probably meant to be.
pub(super) fn nearest<'k>(
    text: &str,
    known: impl IntoIterator<Item = &'k str>,
    most: usize,
) -> Option<&'k str> {
    let near = known.into_iter().filter_map(|known| Some((distance(text, known, most)?, known)));
    near.min_by_key(|(letters, _)| *letters).map(|(_, known)| known)
}

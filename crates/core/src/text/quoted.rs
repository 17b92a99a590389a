//! Measures the edit distance between texts and quotes them for messages.

use alloc::vec::Vec;
use core::fmt;

/// At most this many characters of a text are shown; the longest valid value has 63.
const SHOWN_MAX: usize = 80;

/// No key is longer; longer text is not compared.
const KEY_MAX: usize = 253 + 1 + 63;

/// Quotes text on one line, with bounded length.
pub(crate) struct Quoted<'t>(pub(crate) &'t str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        let mut characters = self.0.chars();
        for character in characters.by_ref().take(SHOWN_MAX) {
            write!(f, "{}", character.escape_debug())?;
        }
        f.write_str(if characters.next().is_some() { "...\"" } else { "\"" })
    }
}

/// Returns how many letters have to be added, removed, changed or swapped with their neighbour to turn one into the
/// other; `None` if that is more than `most`.
pub fn distance(one: &str, other: &str, most: usize) -> Option<usize> {
    let (length, other_length) = (one.chars().count(), other.chars().count());
    if length.abs_diff(other_length) > most || length > KEY_MAX {
        return None;
    }
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use proptest::prelude::*;

    /// The same by its definition: of all ways to begin with a change of the first letters, the shortest.
    fn defined(one: &[char], other: &[char]) -> usize {
        let ([a, one_rest @ ..], [b, other_rest @ ..]) = (one, other) else { return one.len() + other.len() };
        let changed = usize::from(a != b) + defined(one_rest, other_rest);
        let added = 1 + defined(one_rest, other).min(defined(one, other_rest));
        let swapped = match (one_rest, other_rest) {
            ([c, one_rest @ ..], [d, other_rest @ ..]) if a == d && b == c => {
                1 + defined(one_rest, other_rest)
            }
            _ => usize::MAX,
        };
        changed.min(added).min(swapped)
    }

    proptest! {
        #[test]
        fn a_distance_is_as_defined(one in "[abc]{0,5}", other in "[abc]{0,5}", most in 0_usize..7) {
            let [letters, other_letters] = [&one, &other].map(|text| text.chars().collect::<Vec<_>>());
            let expected = defined(&letters, &other_letters);
            prop_assert_eq!(distance(&one, &other, most), (expected <= most).then_some(expected));
        }
    }

    #[test]
    fn longer_text_than_a_key_is_not_compared() {
        let text = |length| String::from("k").repeat(length);
        assert_eq!(distance(&text(KEY_MAX), &text(KEY_MAX), 1), Some(0));
        assert_eq!(distance(&text(KEY_MAX + 1), &text(KEY_MAX + 1), 1), None);
        assert_eq!(distance("key", &text(KEY_MAX), 1), None);
    }
}

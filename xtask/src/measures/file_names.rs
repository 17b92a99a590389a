//! Finds file names that occur too often to be distinguished in an editor or a stack trace.

use super::measure::{Goal, Measure};
use super::source::Source;
use std::collections::BTreeMap;

/// A name may occur as often as this.
const OCCURRENCES_MAX: usize = 4;

/// The file names that occur too often.
pub(crate) fn measure(sources: &[Source]) -> Measure {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for name in sources.iter().map(Source::file_name) {
        if !matches!(name, "lib.rs" | "main.rs" | "mod.rs") {
            *counts.entry(name).or_default() += 1;
        }
    }
    let frequent = counts.iter().filter(|(_, count)| **count > OCCURRENCES_MAX);
    let findings = frequent.map(|(name, count)| format!("{name}: {count}")).collect();
    Measure::count("file names that occur more than 4 times", Goal::AtMost(0.0), findings)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "made-up sources parse")]
mod tests {
    use super::super::source::Source;
    use super::measure;

    fn frequent(name: &str, count: usize) -> Vec<String> {
        let paths = (0..count).map(|number| format!("crates/core/src/f{number}/{name}"));
        let sources: Vec<Source> = paths.map(|path| Source::parse(&path, "").unwrap()).collect();
        measure(&sources).findings().to_vec()
    }

    #[test]
    fn the_fifth_file_of_a_name_is_one_too_many() {
        assert_eq!(frequent("words.rs", 4), [""; 0]);
        assert_eq!(frequent("words.rs", 5), ["words.rs: 5"]);
        assert_eq!(frequent("main.rs", 5), [""; 0]);
    }
}

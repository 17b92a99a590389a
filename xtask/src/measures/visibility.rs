//! Counts `pub(super)` and `pub(in ...)`: many of them mean that a type's fields are public in a folder.

use super::measure::Measure;
use super::source::Source;
use syn::Visibility;
use syn::visit::Visit;

/// `pub(super)` and `pub(in ...)` for each thousand of `lines`.
pub(crate) fn measure(sources: &[Source], lines: u32) -> Measure {
    let mut by_file: Vec<(u32, &str)> =
        sources.iter().map(|source| (count(source), source.path())).filter(|(count, _)| *count > 0).collect();
    by_file.sort_by_key(|(count, path)| (std::cmp::Reverse(*count), *path));
    let all: u32 = by_file.iter().map(|(count, _)| count).sum();
    let findings = by_file.iter().map(|(count, path)| format!("{path}: {count}")).collect();
    let each_thousand = if lines == 0 { 0.0 } else { 1_000.0 * f64::from(all) / f64::from(lines) };
    Measure::new("pub(super), pub(in ...) per 1,000 lines", each_thousand, 8.0, findings)
}

fn count(source: &Source) -> u32 {
    let mut restricted = Restricted(0);
    restricted.visit_file(source.syntax());
    restricted.0
}

struct Restricted(u32);

impl<'ast> Visit<'ast> for Restricted {
    fn visit_visibility(&mut self, visibility: &'ast Visibility) {
        if let Visibility::Restricted(restricted) = visibility {
            let counts = restricted.in_token.is_some() || restricted.path.is_ident("super");
            self.0 += u32::from(counts);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "made-up sources parse")]
mod tests {
    use super::super::source::Source;
    use super::measure;

    #[test]
    fn only_what_parents_see_is_counted() {
        let text = "pub struct A { pub(super) a: u8, pub(crate) b: u8, c: u8 }\n\
                    impl A { pub(in crate::x) fn a(&self) {} }\n\
                    pub(super) use b::C;\n\
                    #[cfg(test)] pub(super) fn made_up() {}";
        let source = Source::parse("crates/core/src/a.rs", text).unwrap();
        let measure = measure(&[source], 1_000);
        assert_eq!(measure.value(), 3.0);
        assert_eq!(measure.findings(), ["crates/core/src/a.rs: 3"]);
    }
}

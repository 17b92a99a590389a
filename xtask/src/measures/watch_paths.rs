//! Finds the places that turn watch events into state.
//!
//! - Such a place is a `match` with arms for both the start and the completion of a list. Methods of the event itself, which
//!   say `Self`, give another event and keep no state.

use super::measure::{Goal, Measure};
use super::source::Source;
use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use syn::{ExprMatch, ImplItemFn, ItemFn, Pat, Path, TraitItemFn};

/// The events of a watch: the enum, and its variants around a list.
const EVENTS: [[&str; 3]; 2] =
    [["WatchEvent", "ListStarted", "ListCompleted"], ["ObjectEvent", "ListStarted", "ListCompleted"]];

/// The places that turn the events of a watch into something else.
pub(crate) fn measure(sources: &[Source]) -> Measure {
    let mut found = Vec::new();
    for source in sources {
        let mut matches = EventMatches::default();
        matches.visit_file(source.syntax());
        found.extend(matches.found.iter().map(|function| format!("{}: {function}", source.path())));
    }
    Measure::count("watch-to-store paths", Goal::Exactly(1.0), found)
}

#[derive(Default)]
struct EventMatches {
    function: String,
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for EventMatches {
    fn visit_item_fn(&mut self, function: &'ast ItemFn) {
        self.function = function.sig.ident.to_string();
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, method: &'ast ImplItemFn) {
        self.function = method.sig.ident.to_string();
        visit::visit_impl_item_fn(self, method);
    }

    fn visit_trait_item_fn(&mut self, method: &'ast TraitItemFn) {
        self.function = method.sig.ident.to_string();
        visit::visit_trait_item_fn(self, method);
    }

    fn visit_expr_match(&mut self, expression: &'ast ExprMatch) {
        let mut variants = Variants::default();
        expression.arms.iter().for_each(|arm| variants.visit_pat(&arm.pat));
        let has = |kind: &str, variant: &str| variants.0.contains(&(kind.into(), variant.into()));
        if EVENTS.iter().any(|[kind, started, completed]| has(kind, started) && has(kind, completed)) {
            self.found.push(self.function.clone());
        }
        visit::visit_expr_match(self, expression);
    }
}

/// The enums and variants that patterns name.
#[derive(Default)]
struct Variants(BTreeSet<(String, String)>);

impl<'ast> Visit<'ast> for Variants {
    fn visit_path(&mut self, path: &'ast Path) {
        let names: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        if let [.., kind, variant] = &names[..] {
            self.0.insert((kind.clone(), variant.clone()));
        }
    }

    fn visit_pat(&mut self, pattern: &'ast Pat) {
        visit::visit_pat(self, pattern);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "made-up sources parse")]
mod tests {
    use super::super::source::Source;
    use super::measure;

    fn paths(text: &str) -> Vec<String> {
        let source = Source::parse("crates/kube/src/store.rs", text).unwrap();
        measure(&[source]).findings().to_vec()
    }

    #[test]
    fn a_match_on_both_ends_of_a_list_is_found() {
        let text = "impl S { fn apply(&mut self, event: WatchEvent<T>) { match event {\n\
                        WatchEvent::ListStarted { .. } => self.start(),\n\
                        kube::WatchEvent::ListCompleted | WatchEvent::Bookmark => self.complete(),\n\
                        _ => {}\n\
                    } } }";
        assert_eq!(paths(text), ["crates/kube/src/store.rs: apply"]);
        let text = "trait Index { fn apply(&mut self, event: ObjectEvent<T>) { match event {\n\
                        ObjectEvent::ListStarted { .. } => self.start(),\n\
                        ObjectEvent::ListCompleted => self.complete(),\n\
                        _ => {}\n\
                    } } }";
        assert_eq!(paths(text), ["crates/kube/src/store.rs: apply"]);
    }

    #[test]
    fn an_event_made_of_an_event_is_not_state() {
        let text = "impl WatchEvent { fn map(self) -> ObjectEvent { match self {\n\
                        Self::ListStarted => ObjectEvent::ListStarted,\n\
                        Self::ListCompleted => ObjectEvent::ListCompleted,\n\
                    } } }";
        assert_eq!(paths(text), [""; 0]);
    }

    #[test]
    fn one_end_and_other_enums_are_not_enough() {
        assert_eq!(paths("fn f() { match e { WatchEvent::ListCompleted => 1, _ => 2 } }"), [""; 0]);
        assert_eq!(
            paths("fn f() { match e { Input::ListStarted => 1, Input::ListCompleted => 2, _ => 3 } }"),
            [""; 0]
        );
        assert_eq!(paths("fn f() { [WatchEvent::ListStarted, WatchEvent::ListCompleted]; }"), [""; 0]);
    }
}

//! Puts many changes into one program: each behind a switch that an environment variable turns on ("mutant schemata").
//!
//! - A program is built once for thousands of changes. Only one of them is on in a run, so the code of a change has no switches
//!   inside.

use super::mutant::{CodePosition, Mutant, MutantKind};
use anyhow::{Context as _, Result};
use proc_macro2::Span;
use std::collections::{BTreeMap, BTreeSet};
use std::iter;
use std::ops::Range;
use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};
use syn::{Arm, Block, Expr, ExprBinary, ExprStruct, ExprUnary, Pat, Signature};

/// A mutation and its number, which the environment variable names.
pub(crate) type Numbered<'m> = (usize, &'m Mutant);

/// A source file with switches.
pub(crate) struct SwitchedFile {
    pub(crate) text: String,
    /// The mutations that the text contains.
    pub(crate) switched: BTreeSet<usize>,
    /// The mutations that cannot compile: `||` beside `let` in a condition.
    pub(crate) invalid: BTreeSet<usize>,
    /// The code of each mutation in the text.
    code: Vec<(Range<usize>, usize)>,
    /// All that a switch encloses, and the mutations of this switch.
    enclosed: Vec<(Range<usize>, Vec<usize>)>,
}

impl SwitchedFile {
    /// Adds switches for these mutations. Functions with these names remain `const`, and have none.
    pub(crate) fn new(text: &str, mutations: &[Numbered<'_>], constant: &BTreeSet<String>) -> Result<Self> {
        let syntax = syn::parse_file(text).context("parsing")?;
        let mut places: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for mutation in mutations {
            places.entry((mutation.1.kind(), mutation.1.start())).or_default().push(*mutation);
        }
        let mut writer = SwitchWriter { text, places, constant, edits: Vec::new(), invalid: BTreeSet::new() };
        writer.visit_file(&syntax);
        Ok(writer.finish())
    }

    /// The mutations that an error between these bytes of the text belongs to.
    pub(crate) fn mutations_at(&self, error: &Range<usize>) -> Vec<usize> {
        let is_hit = |code: &Range<usize>| code.start < error.end && error.start < code.end;
        let own: Vec<usize> =
            self.code.iter().filter(|(code, _)| is_hit(code)).map(|(_, number)| *number).collect();
        if !own.is_empty() {
            return own;
        }
        let contains = |outer: &Range<usize>| outer.start <= error.start && error.end <= outer.end;
        let innermost = self.enclosed.iter().filter(|(outer, _)| contains(outer));
        innermost.min_by_key(|(outer, _)| outer.len()).map(|(_, numbers)| numbers.clone()).unwrap_or_default()
    }
}

/// Text of one mutation, or of the switch itself.
type SwitchPiece = (Option<usize>, String);

/// What is inserted around, or before, a place of the text.
struct SwitchEdit {
    enclosed: Range<usize>,
    before: Vec<SwitchPiece>,
    after: String,
    /// Bytes that are left out at the start.
    removed: usize,
}

struct SwitchWriter<'t> {
    text: &'t str,
    places: BTreeMap<(MutantKind, CodePosition), Vec<Numbered<'t>>>,
    constant: &'t BTreeSet<String>,
    /// Outer ones come before inner ones.
    edits: Vec<SwitchEdit>,
    invalid: BTreeSet<usize>,
}

impl<'t> SwitchWriter<'t> {
    fn take(&mut self, kind: MutantKind, span: Span) -> Vec<Numbered<'t>> {
        self.places.remove(&(kind, span.start().into())).unwrap_or_default()
    }

    fn text_of(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }

    /// Chooses between the code of mutations and the code that is there.
    fn choose(&mut self, original: Range<usize>, mutated: Vec<(usize, String)>) {
        if mutated.is_empty() {
            return;
        }
        let mut before = vec![(None, "(".to_owned())];
        for (number, code) in mutated {
            before.push((None, format!("if {} {{ ", is_on(number))));
            before.push((Some(number), format!("({code})")));
            before.push((None, " } else ".to_owned()));
        }
        before.push((None, "{ (".to_owned()));
        self.edits.push(SwitchEdit { enclosed: original, before, after: ") })".to_owned(), removed: 0 });
    }

    fn function(&mut self, signature: &Signature, block: &Block) -> bool {
        if let Some(constness) = &signature.constness {
            if self.constant.contains(&signature.ident.to_string()) {
                return false;
            }
            let range = constness.span().byte_range();
            let removed = range.len();
            let enclosed = range.start..range.start;
            self.edits.push(SwitchEdit { enclosed, before: Vec::new(), after: String::new(), removed });
        }
        let Some(first) = block.stmts.first().map(syn::spanned::Spanned::span) else { return true };
        let (start, end) = (first.byte_range().start, block.span().byte_range().end - 1);
        for (number, mutation) in self.take(MutantKind::FnValue, first) {
            if mutation.returns_opaque_type() {
                continue;
            }
            let code = format!("return {};", mutation.replacement());
            let before = vec![
                (None, format!("if {} {{ ", is_on(number))),
                (Some(number), code),
                (None, " } ".to_owned()),
            ];
            self.edits.push(SwitchEdit { enclosed: start..end, before, after: String::new(), removed: 0 });
        }
        true
    }

    fn finish(self) -> SwitchedFile {
        /// An edit's start or end; at one place, inner ends come before outer ends, and these before starts.
        fn key(at: usize, is_start: bool, order: usize) -> (usize, bool, usize) {
            (at, is_start, if is_start { order } else { usize::MAX - order })
        }
        let mut events: Vec<_> = (self.edits.iter().enumerate())
            .flat_map(|(order, edit)| {
                let end = (!edit.enclosed.is_empty()).then(|| key(edit.enclosed.end, false, order));
                iter::once(key(edit.enclosed.start, true, order)).chain(end)
            })
            .collect();
        events.sort_unstable();
        let (mut text, mut copied) = (String::new(), 0);
        let (mut code, mut starts, mut enclosed) = (Vec::new(), BTreeMap::new(), Vec::new());
        let mut switched = BTreeSet::new();
        for (at, is_start, order) in events {
            let order = if is_start { order } else { usize::MAX - order };
            let Some(edit) = self.edits.get(order) else { continue };
            text += self.text.get(copied..at).unwrap_or_default();
            copied = copied.max(at);
            if is_start {
                starts.insert(order, text.len());
                for (number, piece) in &edit.before {
                    code.extend(number.map(|number| (text.len()..text.len() + piece.len(), number)));
                    switched.extend(*number);
                    text += piece;
                }
                copied += edit.removed;
            } else {
                text += &edit.after;
                let numbers = edit.before.iter().filter_map(|(number, _)| *number).collect();
                enclosed.push((starts.remove(&order).unwrap_or_default()..text.len(), numbers));
            }
        }
        text += self.text.get(copied..).unwrap_or_default();
        SwitchedFile { text, switched, invalid: self.invalid, code, enclosed }
    }
}

fn is_on(number: usize) -> String {
    format!("crate::mutant::is_on({number})")
}

/// Whether a condition contains `let`, so that only `&&` may join its parts.
fn has_let(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(both) => has_let(&both.left) || has_let(&both.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for SwitchWriter<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if self.function(&function.sig, &function.block) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if self.function(&function.sig, &function.block) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if function.default.as_ref().is_none_or(|block| self.function(&function.sig, block)) {
            visit::visit_trait_item_fn(self, function);
        }
    }

    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        let mutations = self.take(MutantKind::BinaryOperator, binary.op.span());
        let (whole, operator) = (binary.span().byte_range(), binary.op.span().byte_range());
        if has_let(&binary.left) || has_let(&binary.right) {
            self.invalid.extend(mutations.iter().map(|(number, _)| number));
        } else {
            let (left, right) =
                (self.text_of(whole.start..operator.start), self.text_of(operator.end..whole.end));
            let codes = mutations
                .iter()
                .map(|(number, mutation)| (*number, format!("{left}{}{right}", mutation.replacement())));
            let codes = codes.collect();
            self.choose(whole, codes);
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast ExprUnary) {
        let mutations = self.take(MutantKind::UnaryOperator, unary.op.span());
        let operand = self.text_of(unary.expr.span().byte_range()).to_owned();
        let codes = mutations.iter().map(|(number, _)| (*number, operand.clone())).collect();
        self.choose(unary.span().byte_range(), codes);
        visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_struct(&mut self, value: &'ast ExprStruct) {
        let whole = value.span().byte_range();
        let mut codes = Vec::new();
        for field in value.fields.pairs() {
            let range = field.span().byte_range();
            let (before, after) =
                (self.text_of(whole.start..range.start), self.text_of(range.end..whole.end));
            let code = format!("{before}{}", after.trim_start().trim_start_matches(','));
            for (number, _) in self.take(MutantKind::StructField, field.value().span()) {
                codes.push((number, code.clone()));
            }
        }
        self.choose(whole, codes);
        visit::visit_expr_struct(self, value);
    }

    fn visit_expr_match(&mut self, matching: &'ast syn::ExprMatch) {
        // The compiler reports a value without an arm at the start of the whole expression.
        let deletions = matching.arms.iter().flat_map(|arm| {
            self.places.get(&(MutantKind::MatchArm, arm.span().start().into())).into_iter().flatten()
        });
        let before: Vec<SwitchPiece> = deletions.map(|(number, _)| (Some(*number), String::new())).collect();
        if !before.is_empty() {
            let enclosed = matching.span().byte_range();
            self.edits.push(SwitchEdit { enclosed, before, after: String::new(), removed: 0 });
        }
        visit::visit_expr_match(self, matching);
    }

    fn visit_arm(&mut self, arm: &'ast Arm) {
        let guard = match &arm.pat {
            Pat::Guard(guarded) => Some(&*guarded.guard),
            _ => None,
        };
        let deletions = self.take(MutantKind::MatchArm, arm.span());
        for (number, _) in deletions {
            let off = format!("!{}", is_on(number));
            let edit = match guard {
                Some(guard) => SwitchEdit {
                    enclosed: guard.span().byte_range(),
                    before: vec![(Some(number), format!("{off} && ("))],
                    after: ")".to_owned(),
                    removed: 0,
                },
                None => {
                    let end = arm.pat.span().byte_range().end;
                    let before = vec![(Some(number), format!(" if {off}"))];
                    SwitchEdit { enclosed: end..end, before, after: String::new(), removed: 0 }
                }
            };
            self.edits.push(edit);
        }
        if let Some(guard) = guard.filter(|guard| !has_let(guard)) {
            let mutations = self.take(MutantKind::MatchArmGuard, guard.span());
            let codes =
                mutations.iter().map(|(number, mutation)| (*number, mutation.replacement().to_owned()));
            let codes = codes.collect();
            self.choose(guard.span().byte_range(), codes);
        }
        visit::visit_arm(self, arm);
    }

    // Only constant code is allowed there.
    fn visit_item_const(&mut self, _: &'ast syn::ItemConst) {}
    fn visit_item_static(&mut self, _: &'ast syn::ItemStatic) {}
    fn visit_impl_item_const(&mut self, _: &'ast syn::ImplItemConst) {}
    fn visit_trait_item_const(&mut self, _: &'ast syn::TraitItemConst) {}
    fn visit_expr_const(&mut self, _: &'ast syn::ExprConst) {}
    fn visit_type(&mut self, _: &'ast syn::Type) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mutation(kind: &str, (line, column): (usize, usize), replacement: &str) -> Mutant {
        let json = serde_json::json!([{
            "name": "", "file": "", "genre": kind, "replacement": replacement, "diff": "",
            "span": { "start": { "line": line, "column": column }, "end": { "line": 0, "column": 0 } },
        }]);
        Mutant::list(&json.to_string()).unwrap().remove(0)
    }

    fn switched(text: &str, mutations: &[Mutant]) -> SwitchedFile {
        let numbered: Vec<_> = mutations.iter().enumerate().collect();
        SwitchedFile::new(text, &numbered, &BTreeSet::from(["stays".to_owned()])).unwrap()
    }

    /// Without what says which switch is on, and without line breaks.
    fn short(file: &SwitchedFile) -> String {
        file.text.replace("crate::mutant::is_on", "on").split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn an_operator_has_one_switch_inside_another() {
        let text = "fn f(a: u8, b: u8) -> bool {\n    a + b < 3\n}\n";
        let mutations = [mutation("BinaryOperator", (2, 11), "=="), mutation("BinaryOperator", (2, 7), "-")];
        let file = switched(text, &mutations);
        let expected = "fn f(a: u8, b: u8) -> bool { (if on(0) { (a + b == 3) } else { ((if on(1) { (a - b) } else { (a + b) }) < 3) }) }";
        assert_eq!(short(&file), expected);
        assert_eq!(file.switched, BTreeSet::from([0, 1]));
    }

    #[test]
    fn a_function_returns_at_once_and_is_no_longer_constant() {
        let text = "const fn f() -> u8 {\n    !1\n}\nconst fn stays() -> u8 {\n    2\n}\n";
        let mutations = [
            mutation("FnValue", (2, 5), "0"),
            mutation("UnaryOperator", (2, 5), ""),
            mutation("FnValue", (5, 5), "0"),
        ];
        let file = switched(text, &mutations);
        let expected = "fn f() -> u8 { if on(0) { return 0; } (if on(1) { (1) } else { (!1) }) } const fn stays() -> u8 { 2 }";
        assert_eq!(short(&file), expected);
        assert_eq!(file.switched, BTreeSet::from([0, 1]), "a constant function has no switch");
    }

    #[test]
    fn an_arm_is_left_out_and_its_guard_replaced() {
        let text = "fn f(a: u8) -> u8 {\n    match a {\n        1 => 1,\n        b if b > 2 => 2,\n        _ => 3,\n    }\n}\n";
        let mutations = [
            mutation("MatchArm", (3, 9), ""),
            mutation("MatchArm", (4, 9), ""),
            mutation("MatchArmGuard", (4, 14), "true"),
        ];
        let expected = "fn f(a: u8) -> u8 { match a { 1 if !on(0) => 1, b if !on(1) && ((if on(2) { (true) } else { (b > 2) })) => 2, _ => 3, } }";
        assert_eq!(short(&switched(text, &mutations)), expected);
    }

    #[test]
    fn a_field_comes_from_the_other_value() {
        let text = "fn f(a: A) -> A {\n    A { b: 1, c: 2, ..a }\n}\n";
        let file = switched(text, &[mutation("StructField", (2, 9), "")]);
        let expected =
            "fn f(a: A) -> A { (if on(0) { (A { c: 2, ..a }) } else { (A { b: 1, c: 2, ..a }) }) }";
        assert_eq!(short(&file), expected);
    }

    #[test]
    fn beside_let_only_and_is_possible() {
        let text = "fn f(a: Option<u8>) {\n    if let Some(b) = a && b > 1 {}\n}\n";
        let file = switched(text, &[mutation("BinaryOperator", (2, 24), "||")]);
        assert_eq!(file.text, text);
        assert_eq!(file.invalid, BTreeSet::from([0]));
    }

    #[test]
    fn an_error_belongs_to_the_code_it_is_in() {
        let text = "fn f(a: u8, b: u8) -> bool {\n    a + b < 3\n}\n";
        let mutations = [mutation("BinaryOperator", (2, 11), "=="), mutation("BinaryOperator", (2, 7), "-")];
        let file = switched(text, &mutations);
        let at = |code: &str| file.text.find(code).map(|start| start..start + 1).unwrap();
        assert_eq!(file.mutations_at(&at("a - b")), [1]);
        assert_eq!(file.mutations_at(&at("a + b == 3")), [0]);
        assert_eq!(file.mutations_at(&at("fn f")), Vec::<usize>::new());
    }
}

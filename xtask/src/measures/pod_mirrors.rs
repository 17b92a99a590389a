//! Finds the files that spell out the JSON fields of a pod.
//!
//! - Such a file derives `Deserialize` for a struct with a field `tolerations`, or reads `tolerations` by name from a
//!   JSON tree into a field of that name.

use super::measure::Measure;
use super::source::Source;
use anyhow::{Result, ensure};
use syn::visit::{self, Visit};
use syn::{Attribute, Expr, ExprIndex, ExprLit, ExprMethodCall, ExprStruct, ItemStruct, Lit, Member};

/// The field by which a pod's specification is recognized.
const FIELD: &str = "tolerations";

/// The files that spell out the JSON fields of a pod; at least one must.
pub(crate) fn measure(sources: &[Source]) -> Result<Measure> {
    let found = find(sources);
    ensure!(!found.is_empty(), "no mirror of a Pod is found: correct the definition in {}", file!());
    Ok(Measure::count("mirrors of a Pod", 1.0, found))
}

fn find(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for source in sources {
        let mut mirrors = Mirrors::default();
        mirrors.visit_file(source.syntax());
        if mirrors.takes_by_name && mirrors.fills_field {
            mirrors.structs.push("by hand".into());
        }
        if !mirrors.structs.is_empty() {
            found.push(format!("{}: {}", source.path(), mirrors.structs.join(", ")));
        }
    }
    found
}

#[derive(Default)]
struct Mirrors {
    structs: Vec<String>,
    takes_by_name: bool,
    fills_field: bool,
}

impl<'ast> Visit<'ast> for Mirrors {
    fn visit_item_struct(&mut self, item: &'ast ItemStruct) {
        let has_field =
            item.fields.iter().any(|field| field.ident.as_ref().is_some_and(|name| name == FIELD));
        if has_field && item.attrs.iter().any(derives_deserialize) {
            self.structs.push(item.ident.to_string());
        }
    }

    fn visit_expr_index(&mut self, expression: &'ast ExprIndex) {
        self.takes_by_name |= is_field_name(&expression.index);
        visit::visit_expr_index(self, expression);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        self.takes_by_name |= call.method == "get" && call.args.iter().any(is_field_name);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_struct(&mut self, expression: &'ast ExprStruct) {
        let names = |member: &Member| matches!(member, Member::Named(name) if name == FIELD);
        self.fills_field |= expression.fields.iter().any(|field| names(&field.member));
        visit::visit_expr_struct(self, expression);
    }
}

fn is_field_name(expression: &Expr) -> bool {
    matches!(expression, Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if text.value() == FIELD)
}

fn derives_deserialize(attribute: &Attribute) -> bool {
    let mut derives = false;
    if attribute.path().is_ident("derive") {
        let parsed = attribute.parse_nested_meta(|meta| {
            derives |= meta.path.segments.last().is_some_and(|segment| segment.ident == "Deserialize");
            Ok(())
        });
        derives &= parsed.is_ok();
    }
    derives
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "made-up sources parse")]
mod tests {
    use super::super::source::Source;
    use super::{find, measure};

    fn mirrors(text: &str) -> Vec<String> {
        let source = Source::parse("crates/kube/src/pod.rs", text).unwrap();
        find(&[source])
    }

    #[test]
    fn nothing_found_is_not_a_success() {
        assert!(measure(&[]).is_err());
    }

    #[test]
    fn a_struct_that_serde_fills_is_a_mirror() {
        assert_eq!(
            mirrors("#[derive(Debug, serde::Deserialize)] struct Spec { tolerations: Vec<T> }"),
            ["crates/kube/src/pod.rs: Spec"]
        );
        assert_eq!(mirrors("#[derive(Debug)] struct Spec { tolerations: Vec<T> }"), [""; 0]);
        assert_eq!(mirrors("#[derive(Deserialize)] struct Spec { taints: Vec<T> }"), [""; 0]);
    }

    #[test]
    fn a_file_counts_once() {
        let text = "#[derive(Deserialize)] struct Spec { tolerations: T }\n\
                    #[derive(Deserialize)] struct OldSpec { tolerations: T }";
        assert_eq!(mirrors(text), ["crates/kube/src/pod.rs: Spec, OldSpec"]);
    }

    #[test]
    fn fields_taken_by_name_into_a_pod_are_a_mirror() {
        let by_hand = ["crates/kube/src/pod.rs: by hand"];
        assert_eq!(mirrors(r#"fn f() { Pod { tolerations: list(&spec["tolerations"]) }; }"#), by_hand);
        assert_eq!(mirrors(r#"fn f() { Pod { tolerations: spec.get("tolerations") }; }"#), by_hand);
        assert_eq!(mirrors(r#"fn f() { check(&spec["tolerations"]); }"#), [""; 0]);
        assert_eq!(mirrors(r#"fn f() { Pod { tolerations: fault.at("tolerations") }; }"#), [""; 0]);
    }
}

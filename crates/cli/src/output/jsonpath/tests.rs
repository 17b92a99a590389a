//! Tests what templates print, without kubectl.
//!
//! - See `differential.rs` for the comparison with kubectl.

mod differential;

use super::*;
use proptest::prelude::*;
use serde_json::json;

fn printed(template: &str) -> Result<String, TemplateError> {
    let object = json!({
        "items": [{"name": "a", "n": 1, "deep": {"x": [1, 2]}}, {"name": "b", "n": 2}],
        "none": null, "text": "<é>", "by.dots": {"a/b": "c"}
    });
    JsonPathTemplate::parse(template)?.execute(&object)
}

#[test]
fn templates_print_what_they_find() {
    for (template, words) in [
        ("names: {.items[*].name}!", "names: a b!"),
        ("{range .items[*]}{.name}={.n}{\"\\n\"}{end}", "a=1\nb=2\n"),
        ("{.items[?(@.n>1)].name}", "b"),
        ("{.items[0].deep}", r#"{"x":[1,2]}"#),
        ("{.none} {.missing} {.text}", "null  <é>"),
        ("{['by\\.dots'].a/b}", "c"),
        ("{..x[-1]}", "2"),
    ] {
        assert_eq!(printed(template).as_deref(), Ok(words), "{template}");
    }
}

#[test]
fn loops_in_loops_are_bounded() {
    let deep = format!("{}x{}", "{range .items[0:1]}".repeat(65), "{end}".repeat(65));
    let why = printed(&deep).map_err(|why| why.to_string());
    assert!(why.as_ref().is_err_and(|why| why.contains("more than 64")), "{why:?}");
    assert!(JsonPathTemplate::parse(&"x".repeat(BYTES_MAX + 1)).is_err());
}

#[test]
fn a_field_may_be_written_in_four_ways() {
    let all: Vec<JsonPathTemplate> =
        ["a.b", ".a.b", "{a.b}", "{.a.b}"].map(|text| JsonPathTemplate::field(text).unwrap()).into();
    assert!(all.iter().all(|one| one == &all[0]));
    for wrong in ["", ".", "{}", "{.a}{.b}", "{.a"] {
        assert!(JsonPathTemplate::field(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    /// Any template gives a text or an error, and soon.
    #[test]
    fn no_template_is_too_odd(
        pieces in prop::collection::vec(prop_oneof![
            Just("{"), Just("}"), Just(".items"), Just("[*]"), Just("[?(@.n>1)]"), Just("{range .items[*]}"), Just("{end}"), Just("["),
            Just("[-9223372036854775808:9223372036854775807]"), Just("[:-9223372036854775808]"), Just("[9223372036854775807]"),
            Just("]"), Just("'"), Just("\""), Just("\\"), Just("\\u00e4"), Just("\\777"), Just("(@"), Just(")"), Just("=="), Just(".."), Just("-"),
            Just("1.2.3"), Just(","), Just("\n"), Just("ä節"), Just("none"), Just(".text.*"), Just("[?(@"),
        ], 0..12),
        any in ".{0,6}",
    ) {
        let _ = printed(&pieces.concat());
        let _ = printed(&format!("{{{}{any}}}", pieces.concat()));
        let _ = JsonPathTemplate::field(&pieces.concat());
    }
}

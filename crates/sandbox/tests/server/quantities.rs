//! Compares the server's form of quantities with that of the Go functions (`crates/core/tests/golden/scheduling.txt`).
#[path = "../../../core/tests/golden/rows.rs"]
mod rows;

use fakekube::canonicalize::normal;
use rows::section;
use serde_json::json;
use taintward_core::quantity::Quantity;

const ROWS: &str = include_str!("../../../core/tests/golden/scheduling.txt");

/// A quantity as the server stores it in a node.
fn canonical(text: &str) -> String {
    let node = json!({"metadata": {"name": "n"}, "status": {"capacity": {"x": text}}});
    let kept = normal("v1", "Node", node).expect("it is a quantity").value;
    kept["status"]["capacity"]["x"].as_str().unwrap().to_owned()
}

/// Asserts that the form is Go's, except for extreme numbers: Go's form of `1000E` is `1`, and above 128 bits of
/// billionths there is only one amount here. Returns whether it is such a number.
fn check_form(text: &str, go: &str) -> bool {
    let amount = Quantity::parse(text).expect("it is a quantity");
    let ours = canonical(text);
    if ours == go {
        return false;
    }
    assert!(amount.units() == i64::MAX || amount.units() == i64::MIN, "{text:?}: {ours:?} {go:?}");
    assert_eq!(Quantity::parse(&ours).map(Quantity::units), Ok(amount.units()), "{text:?}: {ours:?} {go:?}");
    true
}

#[test]
fn the_form_of_quantities_is_gos() {
    let (mut read, mut strange) = (0, 0);
    for row in section(ROWS, "quantity") {
        if let [_, text, _, _, form] = &row[..] {
            strange += usize::from(check_form(text, form));
            read += 1;
        }
    }
    assert!(read > 800 && strange < 40, "{read} {strange}");
}

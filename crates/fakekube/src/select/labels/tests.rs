//! Tests label selectors.

use super::{LabelQuery, from_object};
use serde_json::{Value, json};

fn matches(selector: &str, labels: &Value) -> bool {
    LabelQuery::read(selector).unwrap().match_labels(labels)
}

#[test]
fn each_requirement_holds_and_does_not() {
    let labels = json!({"app": "web", "tier": "front", "n": "7", "empty": ""});
    for (selector, expected) in [
        ("", true),
        ("app=web", true),
        ("app==web", true),
        ("app = web , tier in (front, back)", true),
        ("app=db", false),
        ("app!=db", true),
        ("app!=web", false),
        ("other!=x", true),
        ("app", true),
        ("other", false),
        ("!other", true),
        ("!app", false),
        ("tier in (back)", false),
        ("tier notin (back)", true),
        ("other notin (x)", true),
        ("tier notin (front,back)", false),
        ("n>6", true),
        ("n>7", false),
        ("n<8", true),
        ("app<8", false),
        ("empty=", true),
        ("app=", false),
    ] {
        assert_eq!(matches(selector, &labels), expected, "{selector}");
    }
}

#[test]
fn nonsense_is_rejected() {
    for selector in [
        "a b", "a in", "a in (", "a in x", "=", "a=b c", "a==!b", "a>x", "-a=b", "a=-b-", "a in (b", "a=b,",
        ",a",
    ] {
        assert!(LabelQuery::read(selector).is_err(), "{selector}");
    }
}

#[test]
fn objects_say_the_same() {
    let labels = json!({"app": "web"});
    let selector = json!({"matchLabels": {"app": "web"}, "matchExpressions": [{"key": "x", "operator": "DoesNotExist"}]});
    assert!(from_object(&selector).match_labels(&labels));
    assert!(!from_object(&selector).match_labels(&json!({"app": "web", "x": ""})));
    assert!(from_object(&json!({})).match_labels(&labels), "an empty selector matches everything");
    assert!(!from_object(&Value::Null).match_labels(&labels), "an absent selector matches nothing");
    let unknown = json!({"matchExpressions": [{"key": "app", "operator": "Like", "values": ["w"]}]});
    assert!(!from_object(&unknown).match_labels(&labels), "an invalid selector matches nothing");
}

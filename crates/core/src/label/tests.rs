//! Tests the formats at their limits, and that messages and positions agree with the result for any text.

use super::*;
use proptest::prelude::*;

const LONG: &str = "a123456789b123456789c123456789d123456789e123456789f123456789123";

#[test]
fn keys_and_values_at_their_limits() {
    assert_eq!(LONG.len(), NAME_MAX);
    let long_domain = format!("{LONG}.{LONG}.{LONG}.{}", &LONG[..61]);
    assert_eq!(long_domain.len(), DOMAIN_MAX);
    for key in ["a", "A-b_c.d", "9", "example.com/a", "a/a", "1.2/3", LONG, &format!("{long_domain}/{LONG}")]
    {
        assert!(is_key(key) && key_errors(key).is_empty(), "{key}");
    }
    let odd = [
        ("", 0),
        ("-a", 0),
        ("a-", 1),
        ("a b", 1),
        ("aä", 1),
        ("/a", 0),
        ("a/", 2),
        ("A/a", 0),
        ("a..b/a", 2),
        ("a.b-/a", 3),
        ("my-app.x_y/a", 8),
        ("a-b.c-d_e/a", 7),
        ("a/b/c", 3),
        ("a=b", 1),
    ];
    for (key, at) in odd {
        assert!(!is_key(key) && !key_errors(key).is_empty(), "{key}");
        assert_eq!(odd_in_key(key), Some(at), "{key}");
    }
    assert_eq!(odd_in_key(&format!("{LONG}x")), Some(NAME_MAX));
    assert_eq!(odd_in_key(&format!("{long_domain}x/a")), Some(DOMAIN_MAX));
    assert!(is_value("") && is_value(LONG) && !is_value(&format!("{LONG}x")) && !is_value("a/b"));
    assert_eq!((odd_in_value("a/b"), odd_in_value(".a"), odd_in_value("a.b")), (Some(1), Some(0), None));
}

#[test]
fn messages_are_kubectls() {
    let name = "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an \
                alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is \
                '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
    assert_eq!(key_errors("a=b"), [name]);
    assert_eq!(key_errors(""), ["name part must be non-empty", name]);
    assert_eq!(key_errors("/a"), ["prefix part must be non-empty"]);
    assert_eq!(
        value_errors(&format!("{LONG}/")),
        [
            "must be no more than 63 bytes",
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start \
             and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for \
             validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        ]
    );
    assert!(key_errors("a/b/c")[0].starts_with("a valid label key must consist of alphanumeric"));
    assert!(key_errors("A/b")[0].starts_with("prefix part a lowercase RFC 1123 subdomain must consist"));
}

#[test]
fn a_value_has_63_bytes_at_most() {
    assert!(value_errors(&"a".repeat(63)).is_empty());
    assert_eq!(value_errors(&"a".repeat(64)), ["must be no more than 63 bytes"]);
}

proptest! {
    #[test]
    fn validity_messages_and_positions_agree(text in "[aA9./_=ä-]{0,8}") {
        prop_assert_eq!(is_key(&text), key_errors(&text).is_empty());
        prop_assert_eq!(is_value(&text), value_errors(&text).is_empty());
        for (right, odd) in [(is_key(&text), odd_in_key(&text)), (is_value(&text), odd_in_value(&text))] {
            prop_assert_eq!(right, odd.is_none());
            prop_assert!(odd.is_none_or(|at| text.is_char_boundary(at)), "{:?}", odd);
        }
    }
}

//! Validates keys and values of labels and taints (VAL-1, VAL-3, VAL-8), with kubectl's messages and the position of
//! the error.
//!
//! - Invariant: there are messages exactly if the text is invalid.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

const DOMAIN_PART: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const NAME_WORDS: &str =
    "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const DOMAIN_WORDS: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or \
                            '.', and must start and end with an alphanumeric character";

/// The longest name, and the longest value, in bytes.
const NAME_MAX: usize = 63;

/// The longest domain before a name, in bytes.
const DOMAIN_MAX: usize = 253;

/// Whether the text is a valid key of a label or a taint: a name, optionally preceded by a domain and a slash.
pub fn is_key(text: &str) -> bool {
    let (domain, name) = text.split_once('/').map_or((None, text), |(domain, name)| (Some(domain), name));
    domain.is_none_or(is_domain) && is_name(name)
}

/// Whether the text is a valid value of a label or a taint; an empty one is.
pub fn is_value(text: &str) -> bool {
    text.is_empty() || is_name(text)
}

fn is_name(text: &str) -> bool {
    text.len() <= NAME_MAX && is_framed(text, is_alphanumeric, is_inner)
}

fn is_domain(text: &str) -> bool {
    text.len() <= DOMAIN_MAX && is_domain_of_any_length(text)
}

fn is_domain_of_any_length(text: &str) -> bool {
    text.split('.').all(|part| is_framed(part, is_lower, |byte| is_lower(byte) || byte == b'-'))
}

fn is_alphanumeric(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
}

fn is_lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_inner(byte: u8) -> bool {
    is_alphanumeric(byte) || b"-_.".contains(&byte)
}

/// Whether the text is not empty, starts and ends with `end` bytes, and has only `inner` bytes.
fn is_framed(text: &str, end: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let ends = [text.bytes().next(), text.bytes().next_back()];
    ends.into_iter().all(|byte| byte.is_some_and(&end)) && text.bytes().all(inner)
}

/// Returns the errors of a key; empty if it is valid.
pub fn key_errors(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    let parts: Vec<&str> = text.split('/').collect();
    let name = match parts.as_slice() {
        [name] => *name,
        ["", name] => {
            errors.push("prefix part must be non-empty".to_owned());
            *name
        }
        [domain, name] => {
            errors.extend(domain_errors(domain).iter().map(|error| format!("prefix part {error}")));
            *name
        }
        _ => {
            let optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            let words = format!("a valid label key must consist of {NAME_WORDS}");
            return [format!("{} {optional}", pattern(&words, NAME, &NAME_EXAMPLES))].into();
        }
    };
    match name.len() {
        0 => errors.push("name part must be non-empty".to_owned()),
        1..=NAME_MAX => {}
        _ => errors.push(format!("name part {}", too_long(NAME_MAX))),
    }
    if !is_framed(name, is_alphanumeric, is_inner) {
        let words = format!("name part must consist of {NAME_WORDS}");
        errors.push(pattern(&words, NAME, &NAME_EXAMPLES));
    }
    errors
}

const NAME_EXAMPLES: [&str; 3] = ["MyName", "my.name", "123-abc"];

/// Returns the errors of a value; empty if it is valid.
pub fn value_errors(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > NAME_MAX {
        errors.push(too_long(NAME_MAX));
    }
    if !text.is_empty() && !is_framed(text, is_alphanumeric, is_inner) {
        let words = format!("a valid label must be an empty string or consist of {NAME_WORDS}");
        errors.push(pattern(&words, &format!("({NAME})?"), &["MyValue", "my_value", "12345"]));
    }
    errors
}

fn domain_errors(text: &str) -> Vec<String> {
    let mut errors = Vec::new();
    if text.len() > DOMAIN_MAX {
        errors.push(too_long(DOMAIN_MAX));
    }
    if !is_domain_of_any_length(text) {
        errors.push(pattern(DOMAIN_WORDS, &format!("{DOMAIN_PART}(\\.{DOMAIN_PART})*"), &["example.com"]));
    }
    errors
}

fn too_long(most: usize) -> String {
    format!("must be no more than {most} bytes")
}

fn pattern(words: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{words} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

/// Returns the position of the first byte of a key that is invalid there; the length if something is missing at the
/// end. `None` if the key is valid.
pub fn odd_in_key(text: &str) -> Option<usize> {
    if is_key(text) {
        return None;
    }
    let Some((domain, name)) = text.split_once('/') else { return Some(odd_in_name(text)) };
    if !is_domain(domain) {
        return Some(odd_in_domain(domain));
    }
    Some(domain.len() + 1 + odd_in_name(name))
}

/// The same for a value.
pub fn odd_in_value(text: &str) -> Option<usize> {
    (!is_value(text)).then(|| odd_in_name(text))
}

fn odd_in_name(text: &str) -> usize {
    odd(text, NAME_MAX, is_alphanumeric, is_inner)
}

fn odd_in_domain(text: &str) -> usize {
    let mut from = 0;
    for part in text.split('.') {
        if !is_framed(part, is_lower, |byte| is_lower(byte) || byte == b'-') {
            let within = odd(part, DOMAIN_MAX, is_lower, |byte| is_lower(byte) || byte == b'-');
            return (from + within).min(DOMAIN_MAX);
        }
        from += part.len() + 1;
    }
    DOMAIN_MAX
}

/// Returns the position of the error in invalid text.
fn odd(text: &str, most: usize, end: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> usize {
    let last = text.len().saturating_sub(1);
    let mut bytes = text.bytes().enumerate();
    let wrong = bytes.find(|&(at, byte)| at >= most || !inner(byte) || (at == 0 || at == last) && !end(byte));
    wrong.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests;

//! Validates the formats of names and labels.

const LABEL: &str = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const NAME: &str = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]";
const NAME_WORDS: &str =
    "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const NAME_EXAMPLES: [&str; 3] = ["MyName", "my.name", "123-abc"];

/// The longest name, and the longest value of a label, in bytes.
const NAME_MAX: usize = 63;

fn pattern(words: &str, pattern: &str, examples: &[&str]) -> String {
    let examples: Vec<String> = examples.iter().map(|example| format!("'{example}', ")).collect();
    format!("{words} (e.g. {}regex used for validation is '{pattern}')", examples.join(" or "))
}

fn longest(limit: usize) -> String {
    format!("must be no more than {limit} characters")
}

/// Text is not empty, starts and ends with `end`, and has only `inner` between.
fn framed(text: &str, end: impl Fn(u8) -> bool, inner: impl Fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    let (Some(first), Some(last)) = (bytes.first(), bytes.last()) else { return false };
    end(*first) && end(*last) && bytes.iter().all(|byte| inner(*byte))
}

fn lower(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit()
}

fn is_label(text: &str) -> bool {
    framed(text, lower, |byte| lower(byte) || byte == b'-')
}

fn is_subdomain(text: &str) -> bool {
    text.split('.').all(is_label)
}

/// RFC 1123, one part.
pub(crate) fn dns_label(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if text.len() > 63 {
        messages.push(longest(63));
    }
    if !is_label(text) {
        messages.push(if is_subdomain(text) {
            "must not contain dots".to_owned()
        } else {
            let words = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', \
                         and must start and end with an alphanumeric character";
            pattern(words, LABEL, &["my-name", "123-abc"])
        });
    }
    messages
}

/// RFC 1123, parts with dots between.
pub(crate) fn dns_subdomain(text: &str) -> Vec<String> {
    subdomain_faults(text, longest)
}

fn subdomain_faults(text: &str, longest: fn(usize) -> String) -> Vec<String> {
    let mut messages = Vec::new();
    if text.len() > 253 {
        messages.push(longest(253));
    }
    if !is_subdomain(text) {
        let words = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
                     and must start and end with an alphanumeric character";
        messages.push(pattern(words, &format!("{LABEL}(\\.{LABEL})*"), &["example.com"]));
    }
    messages
}

fn is_name(text: &str) -> bool {
    framed(
        text,
        |byte| byte.is_ascii_alphanumeric(),
        |byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte),
    )
}

fn too_long(most: usize) -> String {
    format!("must be no more than {most} bytes")
}

/// Keys of labels, taints and finalizers: a name, optionally after a domain and a slash.
pub(crate) fn qualified_name(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    let name = match text.split('/').collect::<Vec<_>>()[..] {
        [name] => name,
        ["", name] => {
            messages.push("prefix part must be non-empty".to_owned());
            name
        }
        [domain, name] => {
            let errors = subdomain_faults(domain, too_long);
            messages.extend(errors.iter().map(|error| format!("prefix part {error}")));
            name
        }
        _ => {
            let optional = "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
            let words = format!("a valid label key must consist of {NAME_WORDS}");
            return vec![format!("{} {optional}", pattern(&words, NAME, &NAME_EXAMPLES))];
        }
    };
    match name.len() {
        0 => messages.push("name part must be non-empty".to_owned()),
        1..=NAME_MAX => {}
        _ => messages.push(format!("name part {}", too_long(NAME_MAX))),
    }
    if !is_name(name) {
        messages.push(pattern(&format!("name part must consist of {NAME_WORDS}"), NAME, &NAME_EXAMPLES));
    }
    messages
}

/// Values of labels and taints.
pub(crate) fn label_value(text: &str) -> Vec<String> {
    let mut messages = Vec::new();
    if text.len() > NAME_MAX {
        messages.push(too_long(NAME_MAX));
    }
    if !text.is_empty() && !is_name(text) {
        let words = format!("a valid label must be an empty string or consist of {NAME_WORDS}");
        messages.push(pattern(&words, &format!("({NAME})?"), &["MyValue", "my_value", "12345"]));
    }
    messages
}

/// A percentage.
pub(crate) fn percent(text: &str) -> Vec<String> {
    let number = text.strip_suffix('%').unwrap_or_default();
    if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Vec::new();
    }
    let words = "a valid percent string must be a numeric string followed by an ending '%'";
    vec![pattern(words, "[0-9]+%", &["1%", "93%"])]
}

/// A name that can be a segment of a URL's path.
pub(crate) fn path_segment(text: &str) -> Vec<String> {
    if text == "." || text == ".." {
        return vec![format!("may not be '{text}'")];
    }
    ["/", "%"]
        .iter()
        .filter(|sign| text.contains(**sign))
        .map(|sign| format!("may not contain '{sign}'"))
        .collect()
}

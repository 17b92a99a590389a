//! Parses query strings.

use percent_encoding::percent_decode_str;

/// Names and values, decoded.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn read(text: &str) -> Self {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            // Go's parser passes over what it cannot read, and over semicolons.
            (!part.is_empty() && !part.contains(';') && is_escaped(part))
                .then(|| (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " "))))
        };
        Self(text.split('&').filter_map(pair).collect())
    }

    /// The first value of a name, if it is there at all.
    pub(super) fn find(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// The first value of a name; empty if there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        self.find(name).unwrap_or_default()
    }

    /// All values of a name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// Whether a switch is on.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.find(name).is_some_and(|value| value != "0" && !value.eq_ignore_ascii_case("false"))
    }

    /// A number, if there is one.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.get(name).parse().ok()
    }
}

/// Whether every percent sign begins a byte.
fn is_escaped(text: &str) -> bool {
    text.split('%').skip(1).all(|rest| {
        rest.as_bytes().first_chunk::<2>().is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

/// Percent signs read; what is no text becomes question marks.
pub(super) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

//! # Query: what stands behind the question mark
//! Room:     names and values.
//! Comes in: the query of a URI; clients begin theirs with `&`, too.
//! Goes out: [`Query`].
//! Not here: what the names mean.

use percent_encoding::percent_decode_str;

/// Names and values, decoded.
#[derive(Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    pub(super) fn read(text: &str) -> Self {
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decoded(&name.replace('+', " ")), decoded(&value.replace('+', " ")))
        };
        Self(text.split('&').filter(|part| !part.is_empty()).map(pair).collect())
    }

    /// The first value of a name; empty if there is none.
    pub(super) fn get(&self, name: &str) -> &str {
        self.0.iter().find(|(one, _)| one == name).map_or("", |(_, value)| value)
    }

    /// All values of a name.
    pub(super) fn all(&self, name: &str) -> Vec<&str> {
        self.0.iter().filter(|(one, _)| one == name).map(|(_, value)| value.as_str()).collect()
    }

    /// Whether a switch is on.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.0.iter().any(|(one, value)| one == name && !matches!(value.as_str(), "false" | "0"))
    }

    /// A number, if there is one.
    pub(super) fn number(&self, name: &str) -> Option<i64> {
        self.get(name).parse().ok()
    }
}

/// Percent signs read; what is no text becomes question marks.
pub(super) fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

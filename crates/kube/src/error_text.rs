//! Formats error chains and untrusted texts for messages: one line, bounded, without control characters, and without the
//! passwords of URLs.

use std::borrow::Cow;
use std::error::Error;
use taintward_core::text::{error_chain, is_hazard};

/// Returns the first error of a type in a chain of causes. An I/O error hides the error it wraps from the usual walk.
pub(crate) fn find<'a, E: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a E> {
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(found) = error.downcast_ref::<E>() {
            return Some(found);
        }
        let wrapped = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        at = wrapped.map(|inner| inner as &(dyn Error + 'static)).or_else(|| error.source());
    }
    None
}

/// What libraries put before a cause: the names of their layers.
const LAYERS: [&str; 4] = [
    "ServiceError: ",
    "client error (Connect): ",
    "client error (SendRequest): ",
    "error reading a body from connection: ",
];

/// Returns what happened, without the names of the layers it passed through, and without the address of a library's
/// documentation, which is not about this cluster.
fn essence(text: &str) -> &str {
    let mut text = text;
    while let Some(inner) = LAYERS.iter().find_map(|layer| text.strip_prefix(layer)) {
        text = inner;
    }
    text.split_once(": https://docs.rs/").map_or(text, |(cause, _)| cause)
}

/// Why a connection failed, for a message.
pub(crate) fn connection_error(error: &(dyn Error + 'static)) -> String {
    sanitized(essence(&error_chain(error)))
}

/// The longest untrusted text that is quoted in a message, in bytes.
const QUOTED_MAX: usize = 1000;

/// Stands for the user information of a URL.
const REDACTED: &str = "xxxxx";

/// A URL, or what was meant to be one, without its user information, which may contain a password. The last @ ends it: in
/// a URL that is not valid, any character may be part of a password.
pub(crate) fn redacted_url(url: &str) -> String {
    let (scheme, rest) = url.split_at(url.find("://").map_or(0, |at| at + "://".len()));
    let (authority, _) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let has_port = |(_, port): (&str, &str)| port.bytes().all(|byte| byte.is_ascii_digit());
    let is_host = authority.starts_with('[') || authority.split_once(':').is_none_or(has_port);
    match rest.rsplit_once('@') {
        Some((_, host)) if scheme.is_empty() || !is_host || authority.contains('@') => {
            format!("{scheme}{REDACTED}@{host}")
        }
        _ => url.to_owned(),
    }
}

/// The begin of a text, at least as much of it as a message may have, with its URLs redacted.
fn redacted(text: &str) -> Cow<'_, str> {
    if !(text.contains("://") && text.contains('@')) {
        return text.into();
    }
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("://")
        && out.len() < 8 * QUOTED_MAX
    {
        let length = rest[at..].find(|c: char| c.is_whitespace() || "\"'`<>".contains(c));
        let (url, after) = rest.split_at(length.map_or(rest.len(), |length| at + length));
        // Its scheme needs no separation from the text before it.
        out += &redacted_url(url);
        rest = after;
    }
    out += rest;
    out.into()
}

/// Makes untrusted text fit for a message: bounded, and without characters that move the cursor, break lines or change
/// the reading direction. URLs are redacted.
pub(crate) fn sanitized(text: &str) -> String {
    bounded(text, |_, bytes| bytes >= QUOTED_MAX)
}

/// The same, with at most this many characters.
pub(crate) fn sanitize(text: &str, limit: usize) -> String {
    bounded(text, |characters, _| characters == limit)
}

/// Makes a reason fit for a message, on one line.
pub(crate) fn one_line(text: &str) -> String {
    sanitized(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

/// Text up to where the number of its characters, or of the bytes made from them, is large enough.
fn bounded(text: &str, is_enough: impl Fn(usize, usize) -> bool) -> String {
    let mut out = String::new();
    for (at, c) in redacted(text).chars().enumerate() {
        if is_enough(at, out.len()) {
            out.push('…');
            break;
        }
        if is_hazard(c) { out.extend(c.escape_default()) } else { out.push(c) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_of_a_url_is_quoted() {
        for (url, shown) in [
            ("https://user:PW@host:6443", "https://xxxxx@host:6443"),
            ("https://PW@host/path", "https://xxxxx@host/path"),
            ("http://user:PW@[::1]:80/", "http://xxxxx@[::1]:80/"),
            ("socks5://user:P%40W@host", "socks5://xxxxx@host"),
            ("https://user:P@PW@host", "https://xxxxx@host"),
            ("https://user:P/PW@host", "https://xxxxx@host"),
            ("https://user:P?PW#PW@host", "https://xxxxx@host"),
            ("htps:/user:PW@host", "xxxxx@host"),
            ("user:PW@host", "xxxxx@host"),
            ("https://host:6443/k8s/clusters/c-1", "https://host:6443/k8s/clusters/c-1"),
            ("https://host/image@sha256", "https://host/image@sha256"),
            ("https://[::1]:6443/a@b", "https://[::1]:6443/a@b"),
        ] {
            assert_eq!(redacted_url(url), shown);
            // In a text, only what has a scheme is a URL.
            if url.contains("://") {
                for (before, after) in [("", ""), ("cannot reach \"", "\": no"), ("ü", " "), ("a, ", "\n")] {
                    let expected = format!("{before}{shown}{after}").replace('\n', "\\n");
                    assert_eq!(sanitized(&format!("{before}{url}{after}")), expected);
                }
            }
        }
        assert_eq!(sanitized("a@b http://c d@e https://u:PW@f"), "a@b http://c d@e https://xxxxx@f");
    }

    #[test]
    fn a_connection_error_says_what_happened_without_layers() {
        for (text, cause) in [
            (
                "ServiceError: ServiceError: error reading a body from connection: peer closed connection without sending \
                 TLS close_notify: https://docs.rs/rustls/latest/rustls/manual/_03_howto/index.html#unexpected-eof",
                "peer closed connection without sending TLS close_notify",
            ),
            (
                "ServiceError: client error (Connect): tcp connect error: Connection refused (os error 111)",
                "tcp connect error: Connection refused (os error 111)",
            ),
            ("connection reset: ServiceError: x", "connection reset: ServiceError: x"),
        ] {
            assert_eq!(connection_error(&std::io::Error::other(text)), cause);
        }
    }

    #[test]
    fn quoted_text_is_harmless_and_bounded() {
        assert_eq!(sanitized("a\nb\u{1b}[31mc\u{202e}d"), "a\\nb\\u{1b}[31mc\\u{202e}d");
        assert_eq!(sanitized("grüße"), "grüße");
        for c in ('\0'..=char::MAX).filter(|&c| is_hazard(c)) {
            assert!(!sanitized(&c.to_string()).contains(is_hazard), "{c:?}");
            assert!(!sanitize(&c.to_string(), 9).contains(is_hazard), "{c:?}");
        }
        assert!(sanitized(&"x".repeat(100_000)).len() < 1010);
        assert!(sanitized(&"\n".repeat(100_000)).len() < 1010);
    }
}

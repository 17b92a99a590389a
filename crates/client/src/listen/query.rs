//! # Query: what is asked for
//! Room:     paths and query strings of lists and watches, and their headers.
//! Comes in: the kind, and where to go on.
//! Goes out: requests without body.
//! Not here: sending (`talk.rs`).

use super::Settings;
use super::session::Position;
use super::trouble::Trouble;
use crate::decode::Fact;
use http::{Request, header};
use kube::client::Body;
use std::fmt::Write as _;

const ACCEPT_LIST: &str = "application/vnd.kubernetes.protobuf,application/json";
const ACCEPT_WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch,application/vnd.kubernetes.protobuf,\
                            application/json;stream=watch,application/json";

/// A watch that begins with a consistent list: no resourceVersion, so that nothing stale is served.
pub(super) fn watch_list<F: Fact>(settings: &Settings) -> Result<Request<Body>, Trouble> {
    let asked = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    request(format!("{}{asked}", watch::<F>(settings)), ACCEPT_WATCH)
}

/// A watch that goes on from a known position.
pub(super) fn watch_from<F: Fact>(settings: &Settings, from: &Position) -> Result<Request<Body>, Trouble> {
    let from = encoded(&from.to_string());
    request(format!("{}&resourceVersion={from}", watch::<F>(settings)), ACCEPT_WATCH)
}

/// One page of a consistent list; all of it if `limit` is `None`.
pub(super) fn page<F: Fact>(limit: Option<u32>, onward: Option<&str>) -> Result<Request<Body>, Trouble> {
    let mut path = path::<F>();
    if let Some(limit) = limit {
        let _ = write!(path, "&limit={limit}");
    }
    if let Some(onward) = onward {
        let _ = write!(path, "&continue={}", encoded(onward));
    }
    request(path, ACCEPT_LIST)
}

fn watch<F: Fact>(settings: &Settings) -> String {
    let seconds = settings.watch_timeout.as_secs().max(1);
    format!("{}&watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}", path::<F>())
}

fn path<F: Fact>() -> String {
    let selector = F::FIELD_SELECTOR.map(|selector| format!("fieldSelector={}", encoded(selector)));
    format!("{}?{}", F::PATH, selector.unwrap_or_default())
}

fn request(path: String, accept: &str) -> Result<Request<Body>, Trouble> {
    // Compressed watches lose events in decoders that stop at the first member (P25), and cost more than they save.
    Request::get(path.replace("?&", "?"))
        .header(header::ACCEPT, accept)
        .header(header::ACCEPT_ENCODING, "identity")
        .body(Body::empty())
        .map_err(|error| Trouble::Malformed(format!("a position or continue token fits no URL: {error}")))
}

/// Percent-encodes everything but letters, digits and `-._~`.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

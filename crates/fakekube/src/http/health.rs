//! Serves `/healthz`, `/livez` and `/readyz` with their checks.

use super::query::Query;
use super::response::HttpAnswer;

/// All that is checked: what answers at all is well.
const PING: &str = "ping";

/// The answer of a health endpoint, whatever the method.
pub(super) fn answer(path: &str, query: &Query) -> Option<HttpAnswer> {
    let (endpoint, check) = path
        .strip_prefix('/')?
        .split_once('/')
        .map_or((path.get(1..)?, None), |(endpoint, check)| (endpoint, Some(check)));
    if !matches!(endpoint, "healthz" | "livez" | "readyz") {
        return None;
    }
    match check {
        Some(PING) => Some(HttpAnswer::text("ok".to_owned())),
        Some(_) => Some(HttpAnswer::no_page()),
        None if query.find("verbose").is_some() => Some(HttpAnswer::text(told(endpoint))),
        None => Some(HttpAnswer::text("ok".to_owned())),
    }
}

fn told(endpoint: &str) -> String {
    format!("[+]ping ok\n{endpoint} check passed\n")
}

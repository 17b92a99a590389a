//! Builds the requests of lists and watches.

use super::attempt::WatchPosition;
use super::watch_error::WatchError;
use super::watch_settings::{WatchScope, WatchSettings};
use crate::decode::WatchedObject;
use http::{Request, header};
use kube::client::Body;
use std::fmt::Write as _;

const ACCEPT_LIST: &str = "application/vnd.kubernetes.protobuf,application/json";
const ACCEPT_WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch,application/vnd.kubernetes.protobuf,\
                            application/json;stream=watch,application/json";

/// A watch that begins with a consistent list: no resourceVersion, so that nothing stale is served.
pub(super) fn watch_list<F: WatchedObject>(settings: &WatchSettings) -> Result<Request<Body>, WatchError> {
    let asked = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    request(format!("{}{asked}", watch::<F>(settings)), ACCEPT_WATCH)
}

/// A watch that goes on from a known position.
pub(super) fn watch_from<F: WatchedObject>(
    settings: &WatchSettings,
    from: &WatchPosition,
) -> Result<Request<Body>, WatchError> {
    let from = encoded(&from.to_string());
    request(format!("{}&resourceVersion={from}", watch::<F>(settings)), ACCEPT_WATCH)
}

/// One page of a consistent list; all of it if `limit` is `None`.
pub(super) fn page<F: WatchedObject>(
    scope: &WatchScope,
    limit: Option<u32>,
    onward: Option<&str>,
) -> Result<Request<Body>, WatchError> {
    let mut path = path::<F>(scope);
    if let Some(limit) = limit {
        let _ = write!(path, "&limit={limit}");
    }
    if let Some(onward) = onward {
        let _ = write!(path, "&continue={}", encoded(onward));
    }
    request(path, ACCEPT_LIST)
}

fn watch<F: WatchedObject>(settings: &WatchSettings) -> String {
    let seconds = settings.watch_timeout.as_secs().max(1);
    format!("{}&watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}", path::<F>(&settings.scope))
}

fn path<F: WatchedObject>(scope: &WatchScope) -> String {
    let mut path = match (F::PATH.rsplit_once('/'), scope.namespace.as_str()) {
        (Some((group, plural)), namespace) if !namespace.is_empty() => {
            format!("{group}/namespaces/{}/{plural}?", encoded(namespace))
        }
        _ => format!("{}?", F::PATH),
    };
    let fields = [F::FIELD_SELECTOR.unwrap_or_default(), &scope.fields];
    let fields = fields.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(",");
    for (name, value) in [("fieldSelector", fields.as_str()), ("labelSelector", &scope.labels)] {
        if !value.is_empty() {
            let _ = write!(path, "&{name}={}", encoded(value));
        }
    }
    path
}

fn request(path: String, accept: &str) -> Result<Request<Body>, WatchError> {
    // Compressed watches lose events in decoders that stop at the first member (P25), and cost more than they save.
    Request::get(path.replace("?&", "?"))
        .header(header::ACCEPT, accept)
        .header(header::ACCEPT_ENCODING, "identity")
        .body(Body::empty())
        .map_err(|error| WatchError::Malformed(format!("a position or continue token fits no URL: {error}")))
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

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::fact::{NodeFact, PodFact};

    #[test]
    fn a_part_of_all_objects_is_asked_for() {
        let scope = WatchScope {
            namespace: "shop".into(),
            labels: "a=b,c!=d".into(),
            fields: "spec.nodeName=n1".into(),
        };
        assert_eq!(
            path::<PodFact>(&scope),
            "/api/v1/namespaces/shop/pods?&fieldSelector=spec.nodeName%21%3D%2Cspec.nodeName%3Dn1&labelSelector=a%3Db%2Cc%21%3Dd"
        );
        assert_eq!(
            path::<PodFact>(&WatchScope::default()),
            "/api/v1/pods?&fieldSelector=spec.nodeName%21%3D"
        );
        assert_eq!(path::<NodeFact>(&WatchScope::default()), "/api/v1/nodes?");
    }
}

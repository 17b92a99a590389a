//! Sends the list and watch requests of one kind, and checks by discovery whether the API server lacks the kind.

use super::body_stream::{self, BodyStream};
use super::list_page::{ListPage, PageOutcome};
use super::watch_settings::{WatchScope, WatchSettings};
use super::{NextPage, WatchError, WatchPosition};
use crate::decode::{Encoding, WatchedObject};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Request, header};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use std::fmt::Write as _;
use std::time::Duration;

const ACCEPT_JSON: &str = "application/json";
const ACCEPT_LIST: &str = "application/vnd.kubernetes.protobuf,application/json";
const ACCEPT_WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch,application/vnd.kubernetes.protobuf,\
                            application/json;stream=watch,application/json";
/// The timeout until the server accepts a watch.
const OPENING_MAX: Duration = Duration::from_secs(20);
/// The timeout of reading the version of the store, and from one part of the response to the next.
const VERSION_TIMEOUT: Duration = Duration::from_secs(3);
/// The maximum that is read of one discovery document, in bytes.
const DISCOVERY_MAX: usize = 8 << 20;
/// Its timeout.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);

/// A response whose head is awaited.
pub(super) type PendingResponse = BoxFuture<'static, Result<BodyStream, WatchError>>;

/// Sends list and watch requests.
#[derive(Clone)]
pub(super) struct ListerWatcher {
    client: Client,
    scope: WatchScope,
    page_limit: u32,
    watch_timeout: Duration,
    opening_timeout: Duration,
    frame_limit: usize,
}

impl ListerWatcher {
    pub(super) fn new(client: Client, settings: &WatchSettings) -> Self {
        Self {
            client,
            scope: settings.scope.clone(),
            page_limit: settings.page_limit,
            watch_timeout: settings.watch_timeout,
            opening_timeout: settings.silence.min(OPENING_MAX),
            frame_limit: settings.frame_limit,
        }
    }

    /// Requests one page of a consistent list; all of it if `whole`. Between two parts of it, `silence` may pass.
    pub(super) fn page<F: WatchedObject>(
        &self,
        whole: bool,
        after: &NextPage,
        silence: Duration,
    ) -> PendingResponse {
        let mut path = self.path::<F>();
        if !whole {
            let _ = write!(path, "&limit={}", self.page_limit);
        }
        if let Some((token, _)) = after {
            let _ = write!(path, "&continue={}", encoded(token));
        }
        let accept = if F::JSON_ONLY { ACCEPT_JSON } else { ACCEPT_LIST };
        self.send::<F>(request(path, accept), silence, "list")
    }

    /// Requests the changes after a position; without one a watch that starts with a consistent list: no
    /// resourceVersion, so that nothing stale is served.
    pub(super) fn watch<F: WatchedObject>(&self, from: Option<&WatchPosition>) -> PendingResponse {
        let seconds = self.watch_timeout.as_secs().max(1);
        let start = match from {
            Some(position) => format!("&resourceVersion={}", encoded(&position.to_string())),
            None => "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan".to_owned(),
        };
        let path = format!(
            "{}&watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}{start}",
            self.path::<F>()
        );
        let accept = if F::JSON_ONLY { ACCEPT_JSON } else { ACCEPT_WATCH };
        self.send::<F>(request(path, accept), self.opening_timeout, "watch")
    }

    /// Reads the version of the store from the head of a consistent list of one object: no server responds to that from
    /// a cache that may be older. Without selectors, so that the server does not search for the object.
    pub(super) async fn current_version<F: WatchedObject>(&self) -> Result<WatchPosition, WatchError> {
        let scope = WatchScope { namespace: self.scope.namespace.clone(), ..WatchScope::default() };
        let path = format!("{}&limit=1", path_in(F::RESOURCE.path, &scope, None));
        let accept = if F::JSON_ONLY { ACCEPT_JSON } else { ACCEPT_LIST };
        let body = self.send::<F>(request(path, accept), VERSION_TIMEOUT, "list").await?;
        let mut page = ListPage::new::<F>(body, self.frame_limit, None);
        loop {
            let more = page.receive().await?;
            while page.next_item::<F>()?.is_some() {}
            if !more {
                break;
            }
        }
        match page.finish()? {
            PageOutcome::Next(_, version) | PageOutcome::Complete(version) => Ok(version),
        }
    }

    /// Whether the API server reports that it lacks this kind; false if it does not.
    pub(super) async fn lacks<F: WatchedObject>(&self) -> bool {
        lacks::<F>(&self.client.clone()).await
    }

    fn path<F: WatchedObject>(&self) -> String {
        path::<F>(&self.scope)
    }

    fn send<F: WatchedObject>(
        &self,
        request: Result<Request<Body>, WatchError>,
        silence: Duration,
        verb: &'static str,
    ) -> PendingResponse {
        let client = self.client.clone();
        async move { body_stream::open::<F>(&client, request?, silence, verb).await }.boxed()
    }
}

fn path<F: WatchedObject>(scope: &WatchScope) -> String {
    path_in(F::RESOURCE.path, scope, F::RESOURCE.field_selector)
}

fn path_in(kind: &str, scope: &WatchScope, fields: Option<&str>) -> String {
    let mut path = match (kind.rsplit_once('/'), scope.namespace.as_str()) {
        (Some((group, plural)), namespace) if !namespace.is_empty() => {
            format!("{group}/namespaces/{}/{plural}?", encoded(namespace))
        }
        _ => format!("{kind}?"),
    };
    let fields = [fields.unwrap_or_default(), &scope.fields];
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

/// Whether the API server lists its groups and their versions, or the resources of one, and this kind is not among
/// them.
async fn lacks<F: WatchedObject>(client: &Client) -> bool {
    let Some((version_path, resource)) = F::RESOURCE.path.rsplit_once('/') else { return false };
    let version = version_path.trim_start_matches("/apis/");
    let Some(groups) = discover::<F>(client, "/apis", ("APIGroupList", "groups")).await else { return false };
    let has = |group: &Value| {
        let mut versions = group["versions"].as_array().into_iter().flatten();
        group["name"] == F::RESOURCE.group && versions.any(|one| one["groupVersion"] == version)
    };
    if !groups.iter().any(has) {
        return true;
    }
    let resources = discover::<F>(client, version_path, ("APIResourceList", "resources")).await;
    resources.is_some_and(|resources| resources.iter().all(|one| one["name"] != resource))
}

/// The content of a discovery document; `None` if it is not from an API server.
async fn discover<F: WatchedObject>(
    client: &Client,
    path: &str,
    (kind, list): (&str, &str),
) -> Option<Vec<Value>> {
    let request = Request::get(path)
        .header(header::ACCEPT, "application/json")
        .header(header::ACCEPT_ENCODING, "identity")
        .body(Body::empty())
        .ok()?;
    let body = async {
        let mut incoming = body_stream::open::<F>(client, request, DISCOVERY_TIMEOUT, "get").await.ok()?;
        let mut bytes = Vec::new();
        while let Some(chunk) = incoming.chunk().await.ok()? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > DISCOVERY_MAX {
                return None;
            }
        }
        (incoming.encoding() == Encoding::Json).then_some(bytes)
    };
    let bytes = tokio::time::timeout(DISCOVERY_TIMEOUT, body).await.ok()??;
    let mut document: Value = serde_json::from_slice(&bytes).ok()?;
    let listed = if document["kind"] == kind { document[list].take() } else { Value::Null };
    if let Value::Array(listed) = listed { Some(listed) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::fact::{NodeFact, PodFact};

    #[test]
    fn the_scope_is_part_of_the_request() {
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

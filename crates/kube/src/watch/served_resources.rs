//! Finds out by discovery whether the API server lacks an optional kind.

use super::body_stream;
use super::watch_error::WatchedResource;
use crate::decode::{Encoding, WatchedObject};
use http::{Request, header};
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use std::time::Duration;

/// The most that is read of one account, in bytes.
const ACCOUNT_MAX: usize = 8 << 20;
/// How long it may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether the API server lists its groups and their versions, or the resources of one, and this kind is not among them.
pub(super) async fn lacks<F: WatchedObject>(client: &Client) -> bool {
    let Some((version_path, resource)) = F::PATH.rsplit_once('/') else { return false };
    let version = version_path.trim_start_matches("/apis/");
    let Some(groups) = account(client, "/apis", ("APIGroupList", "groups")).await else { return false };
    let has = |group: &Value| {
        let mut versions = group["versions"].as_array().into_iter().flatten();
        group["name"] == F::GROUP && versions.any(|one| one["groupVersion"] == version)
    };
    if !groups.iter().any(has) {
        return true;
    }
    let resources = account(client, version_path, ("APIResourceList", "resources")).await;
    resources.is_some_and(|resources| resources.iter().all(|one| one["name"] != resource))
}

/// What is listed at this path; `None` if it is not an API server's account.
async fn account(client: &Client, path: &str, (kind, list): (&str, &str)) -> Option<Vec<Value>> {
    let request = Request::get(path)
        .header(header::ACCEPT, "application/json")
        .header(header::ACCEPT_ENCODING, "identity")
        .body(Body::empty())
        .ok()?;
    let source = WatchedResource { verb: "get", group: "", resource: "apis" };
    let told = async {
        let mut incoming = body_stream::open(client, request, PATIENCE, source).await.ok()?;
        let mut bytes = Vec::new();
        while let Some(chunk) = incoming.chunk().await.ok()? {
            bytes.extend_from_slice(&chunk);
            if bytes.len() > ACCOUNT_MAX {
                return None;
            }
        }
        (incoming.encoding == Encoding::Json).then_some(bytes)
    };
    let bytes = tokio::time::timeout(PATIENCE, told).await.ok()??;
    let mut account: Value = serde_json::from_slice(&bytes).ok()?;
    let listed = if account["kind"] == kind { account[list].take() } else { Value::Null };
    if let Value::Array(listed) = listed { Some(listed) } else { None }
}

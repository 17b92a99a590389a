//! Reads, applies, replaces and deletes any object by its path, for interactive commands.

use crate::api::RequestBudget;
use crate::api::{MERGE_PATCH, RawResponse, RequestError, RequestSpec, ResourcePath, exchange, push_encoded};
use crate::node_client::{NodeRequestError, PatchOptions, PatchResponse, successful};
use bytes::Bytes;
use http::{Method, StatusCode};
use kube::Client;
use std::time::Duration;

/// The content type of server-side apply; JSON is YAML.
const APPLY: &str = "application/apply-patch+yaml";

/// The longest list that is read.
const LIST_MAX: usize = 64 << 20;

/// How often a throttled request is sent again.
const THROTTLED_MAX: u64 = 10;

/// The pause before that, which the API server names for a resource that it has only just begun to serve.
const THROTTLED_PAUSE: Duration = Duration::from_secs(1);

/// The path of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectRef<'a> {
    /// API group; empty is core.
    pub group: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The plural, as in RBAC.
    pub plural: &'static str,
    /// Empty for cluster-scoped objects.
    pub namespace: &'a str,
    /// Its name.
    pub name: &'a str,
}

/// Reads and changes objects. A request is sent once, and again only while the API server throttles it (429).
#[derive(Clone)]
pub struct ObjectClient {
    client: Client,
    limit: RequestBudget,
}

impl<'a> ObjectRef<'a> {
    fn resource(self) -> Result<ResourcePath<'a>, NodeRequestError> {
        let Self { group, version, plural, namespace, name } = self;
        // An empty name would turn the request into one about all objects of the kind.
        let named = ResourcePath::named(group, plural, namespace, name)?;
        Ok(ResourcePath { version, ..named })
    }

    fn collection(self) -> Result<ResourcePath<'a>, NodeRequestError> {
        let Self { group, version, plural, namespace, .. } = self;
        Ok(ResourcePath { version, ..ResourcePath::collection(group, plural, namespace)? })
    }
}

impl ObjectClient {
    /// Waits at most `limit` for responses.
    pub fn new(client: Client, limit: impl Into<RequestBudget>) -> Self {
        Self { client, limit: limit.into() }
    }

    /// Reads the current object; `None` if it, or its kind, does not exist.
    ///
    /// # Errors
    /// A [`NodeRequestError`].
    pub async fn read(&self, object: ObjectRef<'_>) -> Result<Option<PatchResponse>, NodeRequestError> {
        let resource = object.resource()?;
        present(self.send(Method::GET, &resource, resource.path(), RequestSpec::default()).await)
    }

    /// Lists all objects of this kind, whatever their names; `None` if the kind does not exist.
    ///
    /// # Errors
    /// A [`NodeRequestError`].
    pub async fn all(&self, object: ObjectRef<'_>) -> Result<Option<PatchResponse>, NodeRequestError> {
        let resource = object.collection()?;
        let spec = RequestSpec { most: LIST_MAX, ..RequestSpec::default() };
        present(self.send(Method::GET, &resource, resource.path(), spec).await)
    }

    /// Lists the objects of this kind that have these labels.
    ///
    /// # Errors
    /// A [`NodeRequestError`].
    pub async fn labelled(
        &self,
        object: ObjectRef<'_>,
        selector: &str,
    ) -> Result<Option<PatchResponse>, NodeRequestError> {
        let resource = object.collection()?;
        let mut uri = resource.path() + "?labelSelector=";
        push_encoded(&mut uri, selector);
        let spec = RequestSpec { most: LIST_MAX, ..RequestSpec::default() };
        present(self.send(Method::GET, &resource, uri, spec).await)
    }

    /// Applies the fields of `body` (server-side apply), whatever else the object has. `force` takes fields from other
    /// managers that own them; without it that is a 409 that names them.
    ///
    /// # Errors
    /// A [`NodeRequestError`].
    pub async fn apply(
        &self,
        object: ObjectRef<'_>,
        body: String,
        how: &PatchOptions,
        force: bool,
    ) -> Result<PatchResponse, NodeRequestError> {
        let resource = object.resource()?;
        let uri = how.uri(&resource) + if force { "&force=true" } else { "" };
        let spec = RequestSpec { content: APPLY, body: Bytes::from(body), ..RequestSpec::default() };
        self.send(Method::PATCH, &resource, uri, spec).await
    }

    /// Changes fields of an object by a JSON merge patch.
    ///
    /// # Errors
    /// A [`NodeRequestError`]; [`NodeRequestError::is_conflict`] if `body` names a version and the object has another one.
    pub async fn merge(
        &self,
        object: ObjectRef<'_>,
        body: String,
        how: &PatchOptions,
    ) -> Result<PatchResponse, NodeRequestError> {
        let resource = object.resource()?;
        let spec = RequestSpec { content: MERGE_PATCH, body: Bytes::from(body), ..RequestSpec::default() };
        self.send(Method::PATCH, &resource, how.uri(&resource), spec).await
    }

    /// Replaces the whole object by `body`, at the version that it names.
    ///
    /// # Errors
    /// A [`NodeRequestError`]; [`NodeRequestError::is_conflict`] if the object has another version now.
    pub async fn replace(
        &self,
        object: ObjectRef<'_>,
        body: String,
        how: &PatchOptions,
    ) -> Result<PatchResponse, NodeRequestError> {
        let resource = object.resource()?;
        let spec = RequestSpec { body: Bytes::from(body), ..RequestSpec::default() };
        self.send(Method::PUT, &resource, how.uri(&resource), spec).await
    }

    /// Deletes the object; `false` if it did not exist. With finalizers it is gone only later.
    ///
    /// # Errors
    /// A [`NodeRequestError`].
    pub async fn delete(&self, object: ObjectRef<'_>, dry_run: bool) -> Result<bool, NodeRequestError> {
        let resource = object.resource()?;
        let uri = resource.path() + if dry_run { "?dryRun=All" } else { "" };
        Ok(present(self.send(Method::DELETE, &resource, uri, RequestSpec::default()).await)?.is_some())
    }

    /// Sends a request again while the API server throttles it (429), as it does for a moment after a definition was created.
    /// A throttled request has changed nothing.
    async fn exchange_unless_throttled(
        &self,
        method: &Method,
        resource: &ResourcePath<'_>,
        uri: String,
        spec: RequestSpec,
    ) -> Result<RawResponse, RequestError> {
        // Pauses take at most half of the limit, so that the last response arrives and says why.
        for _ in 0..THROTTLED_MAX.min(self.limit.next().as_secs() / 2) {
            let response = exchange(&self.client, method, resource, uri.clone(), spec.clone()).await?;
            if response.head.status != StatusCode::TOO_MANY_REQUESTS {
                return Ok(response);
            }
            tokio::time::sleep(THROTTLED_PAUSE).await;
        }
        exchange(&self.client, method, resource, uri, spec).await
    }

    async fn send(
        &self,
        method: Method,
        resource: &ResourcePath<'_>,
        uri: String,
        spec: RequestSpec,
    ) -> Result<PatchResponse, NodeRequestError> {
        let response = self.exchange_unless_throttled(&method, resource, uri, spec);
        successful(&method, resource, self.limit, response).await
    }
}

/// A missing object is not an error.
fn present(
    result: Result<PatchResponse, NodeRequestError>,
) -> Result<Option<PatchResponse>, NodeRequestError> {
    match result {
        Ok(result) => Ok(Some(result)),
        Err(NodeRequestError::Status(failure_status)) if failure_status.code == 404 => Ok(None),
        Err(complaint) => Err(complaint),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{Request, Response};
    use http_body_util::Full;
    use kube::client::Body;
    use std::convert::Infallible;
    use std::future::ready;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tower::service_fn;

    const NODES: ObjectRef<'_> =
        ObjectRef { group: "", version: "v1", plural: "nodes", namespace: "", name: "n1" };

    /// Sends one request to a server that answers 429 so many times first. Returns whether an object came, and the number
    /// of requests.
    async fn read(throttled: usize, limit: u64) -> (bool, usize) {
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        let server = service_fn(move |_: Request<Body>| {
            let status = if counted.fetch_add(1, Ordering::Relaxed) < throttled { 429 } else { 200 };
            let response = Response::builder().status(status).body(Full::new(Bytes::from_static(b"{}")));
            ready(Ok::<_, Infallible>(response.expect("a status is a response")))
        });
        let client = ObjectClient::new(Client::new(server, "default"), Duration::from_secs(limit));
        let result = client.read(NODES).await;
        if let Err(error) = &result {
            assert!(matches!(error, NodeRequestError::Status(status) if status.code == 429), "{error}");
        }
        (result.is_ok(), requests.load(Ordering::Relaxed))
    }

    #[tokio::test(start_paused = true)]
    async fn a_throttled_request_is_sent_again_but_not_without_limit() {
        assert_eq!(read(0, 30).await, (true, 1));
        assert_eq!(read(3, 30).await, (true, 4));
        assert_eq!(read(usize::MAX, 30).await, (false, 11));
        assert_eq!(read(usize::MAX, 4).await, (false, 3), "the error names the status, not a timeout");
    }
}

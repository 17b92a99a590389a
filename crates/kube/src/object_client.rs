//! Reads, applies, replaces and deletes any object by its path, for interactive commands.

use crate::api::{RawResponse, RequestError, RequestSpec, ResourcePath, exchange, push_encoded};
use crate::node_client::{NodeRequestError, PatchOptions, PatchResponse, failure_status, warnings};
use bytes::Bytes;
use http::{Method, StatusCode};
use kube::Client;
use std::time::Duration;

/// The content type of server-side apply; JSON is YAML.
const APPLY: &str = "application/apply-patch+yaml";

/// The longest list that is read.
const LIST_MOST: usize = 64 << 20;

/// How often a throttled request is sent again.
const THROTTLED_MOST: usize = 10;

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
    limit: Duration,
}

impl<'a> ObjectRef<'a> {
    fn resource(self) -> Result<ResourcePath<'a>, NodeRequestError> {
        let Self { group, version, plural, namespace, name } = self;
        // An empty name would turn the request into one about all objects of the kind.
        let named = ResourcePath::named(group, plural, namespace, name)?;
        Ok(ResourcePath { version, ..named })
    }
}

impl ObjectClient {
    /// Waits at most `limit` for each response.
    pub const fn new(client: Client, limit: Duration) -> Self {
        Self { client, limit }
    }

    /// Reads the current object; `None` if it, or its kind, does not exist.
    ///
    /// # Errors
    /// A [`NodeRequestError`].
    pub async fn read(&self, object: ObjectRef<'_>) -> Result<Option<PatchResponse>, NodeRequestError> {
        let on = object.resource()?;
        present(self.send(Method::GET, &on, on.path(), RequestSpec::default()).await)
    }

    /// Lists all objects of this kind, whatever their names; `None` if the kind does not exist.
    ///
    /// # Errors
    /// A [`NodeRequestError`].
    pub async fn all(&self, object: ObjectRef<'_>) -> Result<Option<PatchResponse>, NodeRequestError> {
        let ObjectRef { group, version, plural, namespace, .. } = object;
        let on = ResourcePath::collection(group, plural, namespace)?;
        let on = ResourcePath { version, ..on };
        present(
            self.send(Method::GET, &on, on.path(), RequestSpec { most: LIST_MOST, ..RequestSpec::default() })
                .await,
        )
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
        let ObjectRef { group, version, plural, namespace, .. } = object;
        let on = ResourcePath::collection(group, plural, namespace)?;
        let on = ResourcePath { version, ..on };
        let mut uri = on.path() + "?labelSelector=";
        push_encoded(&mut uri, selector);
        present(
            self.send(Method::GET, &on, uri, RequestSpec { most: LIST_MOST, ..RequestSpec::default() }).await,
        )
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
        let on = object.resource()?;
        let uri = written(&on, how) + if force { "&force=true" } else { "" };
        self.send(
            Method::PATCH,
            &on,
            uri,
            RequestSpec { content: APPLY, body: Bytes::from(body), ..RequestSpec::default() },
        )
        .await
    }

    /// Replaces the whole object by `body`, at the version that it names.
    ///
    /// # Errors
    /// A [`NodeRequestError`]; [`NodeRequestError::is_conflict`] if the object has another version by now.
    pub async fn replace(
        &self,
        object: ObjectRef<'_>,
        body: String,
        how: &PatchOptions,
    ) -> Result<PatchResponse, NodeRequestError> {
        let on = object.resource()?;
        let uri = written(&on, how);
        self.send(Method::PUT, &on, uri, RequestSpec { body: Bytes::from(body), ..RequestSpec::default() })
            .await
    }

    /// Deletes the object; `false` if it did not exist. With finalizers it is gone only later.
    ///
    /// # Errors
    /// A [`NodeRequestError`].
    pub async fn delete(&self, object: ObjectRef<'_>, dry_run: bool) -> Result<bool, NodeRequestError> {
        let on = object.resource()?;
        let uri = on.path() + if dry_run { "?dryRun=All" } else { "" };
        Ok(present(self.send(Method::DELETE, &on, uri, RequestSpec::default()).await)?.is_some())
    }

    /// Sends a request again while the API server throttles it (429), as it does for a moment after a definition was created.
    /// A throttled request has changed nothing.
    async fn exchange_unless_throttled(
        &self,
        method: &Method,
        on: &ResourcePath<'_>,
        uri: String,
        what: RequestSpec,
    ) -> Result<RawResponse, RequestError> {
        for _ in 0..THROTTLED_MOST {
            let response = exchange(&self.client, method, on, uri.clone(), what.clone()).await?;
            if response.head.status != StatusCode::TOO_MANY_REQUESTS {
                return Ok(response);
            }
            tokio::time::sleep(THROTTLED_PAUSE).await;
        }
        exchange(&self.client, method, on, uri, what).await
    }

    async fn send(
        &self,
        method: Method,
        on: &ResourcePath<'_>,
        uri: String,
        what: RequestSpec,
    ) -> Result<PatchResponse, NodeRequestError> {
        let response =
            tokio::time::timeout(self.limit, self.exchange_unless_throttled(&method, on, uri, what)).await;
        let response = match response {
            Ok(response) => response.map_err(NodeRequestError::NoAnswer)?,
            Err(_) => return Err(NodeRequestError::NoAnswer(RequestError::silence(&method, on, self.limit))),
        };
        match response.head.status.is_success() {
            true => Ok(PatchResponse { warnings: warnings(&response), body: response.body }),
            false => Err(NodeRequestError::Status(Box::new(failure_status(&response)))),
        }
    }
}

fn written(on: &ResourcePath<'_>, how: &PatchOptions) -> String {
    let mut uri = on.path() + "?fieldManager=";
    push_encoded(&mut uri, &how.field_manager);
    if !how.field_validation.is_empty() {
        uri = uri + "&fieldValidation=" + how.field_validation;
    }
    if how.dry_run {
        uri += "&dryRun=All";
    }
    uri
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

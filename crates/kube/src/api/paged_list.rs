//! Reads lists of any kind page by page as JSON, for interactive commands.
//!
//! - Invariant: memory holds one page. If the continue token expires, the list continues where it was, as the server
//!   offers, and returns no object twice.
//! - A list that never ends is an error: a token that was sent before, too many objects, or the end of the time.

use super::{
    ErrorHints, RequestBudget, RequestError, RequestSpec, ResourcePath, exchange, push_encoded, send_request,
};
use crate::decode::DecodeError;
use crate::list_progress::ListProgress;
use bytes::Bytes;
use http::{Method, StatusCode};
use kube::Client;
use serde::Deserialize;
use serde_json::value::RawValue;
use taintward_core::api_error::ApiFailure;

/// Objects on a page.
const PAGE: usize = 250;

/// The longest page that is read: pods with large annotations.
const BYTES_MAX: usize = 128 << 20;

/// The objects to list.
#[derive(Clone, Copy, Debug)]
pub struct ListRequest<'a> {
    /// API group; empty is core.
    pub group: &'static str,
    /// The plural, as in RBAC.
    pub plural: &'static str,
    /// One namespace; all if empty.
    pub namespace: &'a str,
    /// `-l`, as typed; all if empty.
    pub selector: &'a str,
    /// `--field-selector`, as typed; all if empty.
    pub fields: &'a str,
}

impl ListRequest<'_> {
    /// All objects of a kind.
    #[must_use]
    pub const fn all(group: &'static str, plural: &'static str) -> Self {
        Self { group, plural, namespace: "", selector: "", fields: "" }
    }
}

#[derive(Default, Deserialize)]
struct RawPage<'a> {
    #[serde(default)]
    metadata: RawPageMeta,
    #[serde(borrow, default)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Default, Deserialize)]
struct RawPageMeta {
    #[serde(default, rename = "continue")]
    next: String,
}

/// Passes each object to `on_item`, without `apiVersion` and `kind`, which lists leave out; waits at most `limit` for its
/// pages.
///
/// # Errors
/// The first page that could not be read, or an object that `on_item` cannot decode; earlier objects have been passed on.
pub async fn pages(
    client: &Client,
    listing: ListRequest<'_>,
    limit: impl Into<RequestBudget>,
    on_item: &mut (impl FnMut(&[u8]) -> Result<(), DecodeError> + ?Sized),
) -> Result<(), RequestError> {
    let resource = ResourcePath::collection(listing.group, listing.plural, listing.namespace)?;
    let limit = limit.into();
    let (mut next, mut progress) = (String::new(), ListProgress::default());
    let mut expired = false;
    loop {
        let body = match page(client, &resource, listing, &next, limit).await? {
            PageResult::Page(body) => body,
            // Twice in a row makes no progress.
            PageResult::Expired { onward, .. } if !expired && !onward.is_empty() => {
                (next, expired) = (onward, true);
                continue;
            }
            PageResult::Expired { error, .. } => return Err(error),
        };
        expired = false;
        let page: RawPage<'_> =
            serde_json::from_slice(&body).map_err(|why| RequestError::unreadable(&resource, why))?;
        let progressed = progress.page(page.items.as_ref().map_or(0, Vec::len), &page.metadata.next);
        progressed.map_err(|why| RequestError::unreadable(&resource, why))?;
        for item in page.items.iter().flatten() {
            on_item(item.get().as_bytes()).map_err(|why| RequestError::unreadable(&resource, why))?;
        }
        next = page.metadata.next;
        if next.is_empty() {
            return Ok(());
        }
    }
}

/// Requests one object of a list, to find out whether the server accepts the request; waits at most `limit`.
///
/// # Errors
/// Why it does not.
pub async fn one(
    client: &Client,
    listing: ListRequest<'_>,
    limit: impl Into<RequestBudget>,
) -> Result<(), RequestError> {
    let resource = ResourcePath::collection(listing.group, listing.plural, listing.namespace)?;
    let uri = uri(&resource, listing, 1, "");
    let request = send_request(
        client,
        &Method::GET,
        &resource,
        uri,
        RequestSpec { most: BYTES_MAX, ..RequestSpec::default() },
    );
    limit.into().bound(&Method::GET, &resource, request).await.map(drop)
}

fn uri(resource: &ResourcePath<'_>, listing: ListRequest<'_>, count: usize, next: &str) -> String {
    let mut uri = format!("{}?limit={count}", resource.path());
    for (name, value) in
        [("labelSelector", listing.selector), ("fieldSelector", listing.fields), ("continue", next)]
    {
        if !value.is_empty() {
            uri += &format!("&{name}=");
            push_encoded(&mut uri, value);
        }
    }
    uri
}

/// The result of requesting a page.
enum PageResult {
    Page(Bytes),
    /// The continue token has expired; `onward` leads to the current rest of the list, if the server offers that.
    Expired {
        onward: String,
        error: RequestError,
    },
}

async fn page(
    client: &Client,
    resource: &ResourcePath<'_>,
    listing: ListRequest<'_>,
    next: &str,
    limit: RequestBudget,
) -> Result<PageResult, RequestError> {
    let request = exchange(
        client,
        &Method::GET,
        resource,
        uri(resource, listing, PAGE, next),
        RequestSpec { most: BYTES_MAX, ..RequestSpec::default() },
    );
    let response = limit.bound(&Method::GET, resource, request).await?;
    let (status, body) = (response.head.status, response.body);
    if status.is_success() {
        return Ok(PageResult::Page(body));
    }
    let error = RequestError::from_response(
        &Method::GET,
        resource,
        status,
        &response.head.headers,
        &body,
        ErrorHints::None,
    );
    if status != StatusCode::GONE {
        return Err(error);
    }
    let page: RawPage<'_> = serde_json::from_slice(&body).unwrap_or_default();
    Ok(PageResult::Expired { onward: page.metadata.next, error })
}

/// Reads one object, unmodified; `None` if it does not exist.
///
/// # Errors
/// A [`RequestError`] that names the missing permission, or says that there was no response within `limit`.
pub async fn object(
    client: &Client,
    (group, plural): (&'static str, &'static str),
    namespace: &str,
    name: &str,
    limit: impl Into<RequestBudget>,
) -> Result<Option<Bytes>, RequestError> {
    let resource = ResourcePath::named(group, plural, namespace, name)?;
    let request = send_request(client, &Method::GET, &resource, resource.path(), RequestSpec::default());
    match limit.into().bound(&Method::GET, &resource, request).await {
        Ok(response) => Ok(Some(response.body)),
        Err(error) if error.failure == ApiFailure::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

//! Reads lists of any kind page by page as JSON, for people's commands.
//!
//! - Invariant: memory holds one page. If the continue token expires, the list goes on where it was, as the server
//!   offers, and returns no object twice.

use crate::api::{ErrorHints, RequestError, RequestSpec, ResourcePath, ask, exchange, push_encoded};
use bytes::Bytes;
use http::{Method, StatusCode};
use kube::Client;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::time::Duration;
use taintward_core::api_error::ApiFailure;

/// Objects on a page.
const PAGE: usize = 250;

/// The longest page that is read: pods with much in their annotations.
const BYTES_MOST: usize = 128 << 20;

/// Which objects.
#[derive(Clone, Copy, Debug)]
pub struct ListRequest<'a> {
    /// API group; empty is core.
    pub group: &'static str,
    /// The plural, as RBAC has it.
    pub plural: &'static str,
    /// One namespace; all if empty.
    pub namespace: &'a str,
    /// `-l`, as typed; all if empty.
    pub selector: &'a str,
    /// `--field-selector`, as typed; all if empty.
    pub fields: &'a str,
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

/// Tells each object, without `apiVersion` and `kind`, which lists leave out; waits at most `limit` for each page.
///
/// # Errors
/// The first page that could not be had, or an object that `tell` cannot read; what was told before has been told.
pub async fn pages(
    client: &Client,
    listing: ListRequest<'_>,
    limit: Duration,
    tell: &mut (impl FnMut(&[u8]) -> Result<(), String> + ?Sized),
) -> Result<(), RequestError> {
    let on = ResourcePath::collection(listing.group, listing.plural, listing.namespace)?;
    let mut next = String::new();
    let mut expired = false;
    loop {
        let body = match page(client, &on, listing, &next, limit).await? {
            PageResult::Page(body) => body,
            // Twice in a row is no way forward.
            PageResult::Expired { onward, .. } if !expired && !onward.is_empty() => {
                (next, expired) = (onward, true);
                continue;
            }
            PageResult::Expired { refusal, .. } => return Err(refusal),
        };
        expired = false;
        let unreadable = |why: String| RequestError::unreadable(&on, &why);
        let page: RawPage<'_> = serde_json::from_slice(&body).map_err(|why| unreadable(why.to_string()))?;
        for item in page.items.iter().flatten() {
            tell(item.get().as_bytes()).map_err(unreadable)?;
        }
        next = page.metadata.next;
        if next.is_empty() {
            return Ok(());
        }
    }
}

/// Asks for one object of a list, to learn whether the server understands the question; waits at most `limit`.
///
/// # Errors
/// What speaks against it.
pub async fn one(client: &Client, listing: ListRequest<'_>, limit: Duration) -> Result<(), RequestError> {
    let on = ResourcePath::collection(listing.group, listing.plural, listing.namespace)?;
    let uri = uri(&on, listing, 1, "");
    let request =
        ask(client, &Method::GET, &on, uri, RequestSpec { most: BYTES_MOST, ..RequestSpec::default() });
    tokio::time::timeout(limit, request)
        .await
        .map_err(|_| RequestError::silence(&Method::GET, &on, limit))?
        .map(drop)
}

fn uri(on: &ResourcePath<'_>, listing: ListRequest<'_>, count: usize, next: &str) -> String {
    let mut uri = format!("{}?limit={count}", on.path());
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

/// What came of asking for a page.
enum PageResult {
    Page(Bytes),
    /// The moment of the list is forgotten; `onward` leads to the rest of it as it is now, if the server offers that.
    Expired {
        onward: String,
        refusal: RequestError,
    },
}

async fn page(
    client: &Client,
    on: &ResourcePath<'_>,
    listing: ListRequest<'_>,
    next: &str,
    limit: Duration,
) -> Result<PageResult, RequestError> {
    let request = exchange(
        client,
        &Method::GET,
        on,
        uri(on, listing, PAGE, next),
        RequestSpec { most: BYTES_MOST, ..RequestSpec::default() },
    );
    let response = tokio::time::timeout(limit, request).await;
    let response = response.map_err(|_| RequestError::silence(&Method::GET, on, limit))??;
    let (status, body) = (response.head.status, response.body);
    if status.is_success() {
        return Ok(PageResult::Page(body));
    }
    let refusal =
        RequestError::from_answer(&Method::GET, on, status, &response.head.headers, &body, ErrorHints::None);
    if status != StatusCode::GONE {
        return Err(refusal);
    }
    let page: RawPage<'_> = serde_json::from_slice(&body).unwrap_or_default();
    Ok(PageResult::Expired { onward: page.metadata.next, refusal })
}

/// One object, as it was written; `None` if there is none.
///
/// # Errors
/// A [`RequestError`] that names the missing permission, or says that nobody answered within `limit`.
pub async fn object(
    client: &Client,
    (group, plural): (&'static str, &'static str),
    namespace: &str,
    name: &str,
    limit: Duration,
) -> Result<Option<Bytes>, RequestError> {
    let on = ResourcePath::named(group, plural, namespace, name)?;
    let request = ask(client, &Method::GET, &on, on.path(), RequestSpec::default());
    match tokio::time::timeout(limit, request).await {
        Ok(Ok(answer)) => Ok(Some(answer.body)),
        Ok(Err(refusal)) if refusal.failure == ApiFailure::NotFound => Ok(None),
        Ok(Err(refusal)) => Err(refusal),
        Err(_) => Err(RequestError::silence(&Method::GET, &on, limit)),
    }
}

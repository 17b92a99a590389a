//! Checks with TokenReview and SubjectAccessReview whether a bearer token may read the metrics.
//!
//! - Invariant: no error message contains the token.

use crate::api::{RequestError, RequestSpec, ResourcePath, send_request};
use bytes::Bytes;
use http::Method;
use kube::Client;
use serde_json::{Value, json};
use std::time::Duration;

/// The API server's decision about a bearer token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenAccess {
    /// It belongs to no user.
    Unknown,
    /// Its user may not.
    Forbidden,
    /// Its user may.
    Allowed,
}

/// Checks whether the bearer of `token` may get `path`, a non-resource path; waits at most `limit` for each of two
/// responses.
///
/// # Errors
/// A request without a response: then nothing is known.
pub async fn may_get(
    client: &Client,
    token: &str,
    path: &str,
    limit: Duration,
) -> Result<TokenAccess, RequestError> {
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token},
    });
    let status = post_review(client, ("authentication.k8s.io", "tokenreviews"), &review, limit).await?;
    let user = &status["user"];
    // A user without a name is invalid: such a response does not come from an API server that understood the request.
    if status["authenticated"] != json!(true) || user["username"].as_str().is_none_or(str::is_empty) {
        return Ok(TokenAccess::Unknown);
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
            "user": user["username"], "uid": user["uid"], "groups": user["groups"], "extra": user["extra"],
            "nonResourceAttributes": {"path": path, "verb": "get"},
        },
    });
    let status =
        post_review(client, ("authorization.k8s.io", "subjectaccessreviews"), &review, limit).await?;
    let allowed = status["allowed"] == json!(true) && status["denied"] != json!(true);
    Ok(if allowed { TokenAccess::Allowed } else { TokenAccess::Forbidden })
}

/// Returns the status of a review.
async fn post_review(
    client: &Client,
    (group, plural): (&'static str, &'static str),
    review: &Value,
    limit: Duration,
) -> Result<Value, RequestError> {
    let resource = ResourcePath { group, version: "v1", plural, subresource: "", namespace: "", name: "" };
    let spec = RequestSpec { body: Bytes::from(review.to_string()), ..RequestSpec::default() };
    let response = match tokio::time::timeout(
        limit,
        send_request(client, &Method::POST, &resource, resource.path(), spec),
    )
    .await
    {
        Ok(response) => response?,
        Err(_) => return Err(RequestError::silence(&Method::POST, &resource, limit)),
    };
    let mut review: Value = serde_json::from_slice(&response.body)
        .map_err(|_| RequestError::unreadable(&resource, "it is not JSON"))?;
    Ok(review["status"].take())
}

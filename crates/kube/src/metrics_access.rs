//! Checks with TokenReview and SubjectAccessReview whether a bearer token may read the metrics.
//!
//! - Invariant: the token is in no error message.

use crate::api::{RequestError, RequestSpec, ResourcePath, ask};
use bytes::Bytes;
use http::Method;
use kube::Client;
use serde_json::{Value, json};
use std::time::Duration;

/// What an API server says of the bearer of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenAccess {
    /// It is nobody's.
    Unknown,
    /// It is somebody's who may not.
    Forbidden,
    /// It is somebody's who may.
    Allowed,
}

/// Asks whether the bearer of `token` may get `path`, which is no resource's; each of two answers is waited for at most
/// `limit`.
///
/// # Errors
/// A request that got no answer: then nothing is known.
pub async fn may_get(
    client: &Client,
    token: &str,
    path: &str,
    limit: Duration,
) -> Result<TokenAccess, RequestError> {
    let review = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token},
    });
    let status = asked(client, ("authentication.k8s.io", "tokenreviews"), &review, limit).await?;
    let user = &status["user"];
    // A user without a name is nobody: an answer that says so of its own has not understood the question.
    if status["authenticated"] != json!(true) || user["username"].as_str().is_none_or(str::is_empty) {
        return Ok(TokenAccess::Unknown);
    }
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
            "user": user["username"], "uid": user["uid"], "groups": user["groups"], "extra": user["extra"],
            "nonResourceAttributes": {"path": path, "verb": "get"},
        },
    });
    let status = asked(client, ("authorization.k8s.io", "subjectaccessreviews"), &review, limit).await?;
    let allowed = status["allowed"] == json!(true) && status["denied"] != json!(true);
    Ok(if allowed { TokenAccess::Allowed } else { TokenAccess::Forbidden })
}

/// The status of a review.
async fn asked(
    client: &Client,
    (group, plural): (&'static str, &'static str),
    review: &Value,
    limit: Duration,
) -> Result<Value, RequestError> {
    let on = ResourcePath { group, version: "v1", plural, subresource: "", namespace: "", name: "" };
    let what = RequestSpec { body: Bytes::from(review.to_string()), ..RequestSpec::default() };
    let answer = match tokio::time::timeout(limit, ask(client, &Method::POST, &on, on.path(), what)).await {
        Ok(answer) => answer?,
        Err(_) => return Err(RequestError::silence(&Method::POST, &on, limit)),
    };
    let mut review: Value =
        serde_json::from_slice(&answer.body).map_err(|_| RequestError::unreadable(&on, "it is not JSON"))?;
    Ok(review["status"].take())
}

//! Checks with SelfSubjectAccessReviews which permissions are missing, and names the rule that grants each.

use super::{RequestError, RequestSpec, ResourcePath, send_request};
use bytes::Bytes;
use http::Method;
use kube::Client;
use serde_json::{Value, json};
use std::fmt;
use std::time::Duration;

/// A permission: one verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Permission {
    /// RBAC's verb: `get`, `list`, `watch`, `patch`, `delete`, `create`, `update`.
    pub verb: &'static str,
    /// The API group; empty is core.
    pub group: &'static str,
    /// The resource, with its subresource: `pods/status`.
    pub resource: &'static str,
    /// One namespace; all if `None`, or if the resource has none.
    pub namespace: Option<String>,
    /// One object; all if `None`.
    pub name: Option<String>,
}

impl Permission {
    /// A permission on all objects of a resource.
    pub const fn everywhere(verb: &'static str, group: &'static str, resource: &'static str) -> Self {
        Self { verb, group, resource, namespace: None, name: None }
    }
}

/// A permission that is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingPermission(pub Permission);

/// One sentence with the rule to add.
impl fmt::Display for MissingPermission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Permission { verb, group, resource, namespace, name } = &self.0;
        write!(f, "may not {verb} {resource}")?;
        if let Some(namespace) = namespace {
            write!(f, " in namespace {namespace}")?;
        }
        let kind = if namespace.is_some() { "Role" } else { "ClusterRole" };
        write!(f, "; add to its {kind}: {{apiGroups: [\"{group}\"], resources: [\"{resource}\"]")?;
        if let Some(name) = name {
            write!(f, ", resourceNames: [\"{name}\"]")?;
        }
        write!(f, ", verbs: [\"{verb}\"]}}")
    }
}

/// Checks whether each permission is granted, for the account of this client or for the user `subject`; waits at most
/// `limit` for each response.
///
/// # Errors
/// The first request without a response: then nothing is known.
pub async fn check_access(
    client: &Client,
    needs: &[Permission],
    subject: Option<&str>,
    limit: Duration,
) -> Result<Vec<MissingPermission>, RequestError> {
    let reviews = needs.iter().map(|need| allowed(client, need, subject, limit));
    let allowed = futures::future::try_join_all(reviews).await?;
    let missing = needs.iter().zip(allowed).filter(|(_, allowed)| !allowed);
    Ok(missing.map(|(need, _)| MissingPermission(need.clone())).collect())
}

async fn allowed(
    client: &Client,
    need: &Permission,
    subject: Option<&str>,
    limit: Duration,
) -> Result<bool, RequestError> {
    let (resource, subresource) = need.resource.split_once('/').unwrap_or((need.resource, ""));
    let (kind, plural) = match subject {
        None => ("SelfSubjectAccessReview", "selfsubjectaccessreviews"),
        Some(_) => ("SubjectAccessReview", "subjectaccessreviews"),
    };
    let mut review = json!({
        "apiVersion": "authorization.k8s.io/v1",
        "kind": kind,
        "spec": { "resourceAttributes": {
            "verb": need.verb,
            "group": need.group,
            "resource": resource,
            "subresource": subresource,
            "namespace": need.namespace.as_deref().unwrap_or_default(),
            "name": need.name.as_deref().unwrap_or_default(),
        } },
    });
    if let Some(user) = subject {
        review["spec"]["user"] = json!(user);
        review["spec"]["groups"] = json!(groups(user));
    }
    let on = ResourcePath::access_review(plural);
    let spec = RequestSpec { body: Bytes::from(review.to_string()), ..RequestSpec::default() };
    let reviews = send_request(client, &Method::POST, &on, on.path(), spec);
    let response = match tokio::time::timeout(limit, reviews).await {
        Ok(response) => response?,
        Err(_) => return Err(RequestError::silence(&Method::POST, &on, limit)),
    };
    let review: Value =
        serde_json::from_slice(&response.body).map_err(|why| RequestError::unreadable(&on, why))?;
    Ok(review["status"]["allowed"] == json!(true))
}

/// The groups that follow from a user's name: those of a service account.
fn groups(user: &str) -> Vec<String> {
    let account = user.strip_prefix("system:serviceaccount:").and_then(|account| account.split_once(':'));
    let all = "system:authenticated".to_owned();
    match account {
        Some((namespace, _)) => {
            vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}"), all]
        }
        None => vec![all],
    }
}

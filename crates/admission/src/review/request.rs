//! Defines the request that reviewers receive, borrowed from the body.
//!
//! - Invariant: objects stay raw JSON until a rule reads a field.

use super::RequestOrigin;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// A review request.
#[derive(Clone, Debug)]
pub struct AdmissionRequest<'a> {
    /// Of the review, not of the object.
    pub uid: Cow<'a, str>,
    /// The requested operation.
    pub operation: RequestOperation,
    /// The kind of the object.
    pub kind: GroupVersionKind<'a>,
    /// The resource of the object.
    pub resource: GroupVersionResource<'a>,
    /// `status`, `ephemeralcontainers` and so on; empty for the object itself.
    pub subresource: Cow<'a, str>,
    /// Empty for cluster-scoped objects.
    pub namespace: Cow<'a, str>,
    /// Empty if the server generates one.
    pub name: Cow<'a, str>,
    /// The requester.
    pub user: UserInfo<'a>,
    /// Whether it is a dry run.
    pub dry_run: bool,
    /// The origin of the review.
    pub origin: RequestOrigin,
    /// The new object: a JSON object of any depth. Present for [`RequestOperation::Create`] and
    /// [`RequestOperation::Update`].
    pub object: Option<&'a RawValue>,
    /// The current object. Present for [`RequestOperation::Update`], usually for [`RequestOperation::Delete`].
    pub old_object: Option<&'a RawValue>,
}

/// An operation on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestOperation {
    /// The object is created.
    Create,
    /// The object is updated.
    Update,
    /// The object is deleted.
    Delete,
    /// A connection to the object: `exec`, `port-forward`.
    Connect,
}

impl RequestOperation {
    /// All operations.
    pub const ALL: [Self; 4] = [Self::Create, Self::Update, Self::Delete, Self::Connect];

    /// As Kubernetes writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

impl fmt::Display for RequestOperation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A kind, fully named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupVersionKind<'a> {
    /// Empty for the core group.
    pub group: Cow<'a, str>,
    /// `v1`.
    pub version: Cow<'a, str>,
    /// `Pod`.
    pub kind: Cow<'a, str>,
}

/// A resource, fully named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupVersionResource<'a> {
    /// Empty for the core group.
    pub group: Cow<'a, str>,
    /// `v1`.
    pub version: Cow<'a, str>,
    /// `pods`.
    pub resource: Cow<'a, str>,
}

/// The requester of the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo<'a> {
    /// `system:serviceaccount:kube-system:replicaset-controller`.
    pub username: Cow<'a, str>,
    /// `system:authenticated` and others.
    pub groups: Vec<Cow<'a, str>>,
}

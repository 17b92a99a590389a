//! Defines the request that reviewers receive, borrowed from the body.
//!
//! - Invariant: objects stay raw JSON until a rule reads a field.

use super::RequestOrigin;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// One question.
#[derive(Clone, Debug)]
pub struct AdmissionRequest<'a> {
    /// Of the question, not of the object.
    pub uid: Cow<'a, str>,
    /// What somebody is about to do.
    pub operation: RequestOperation,
    /// The kind of the object.
    pub kind: GroupVersionKind<'a>,
    /// What the object is filed under.
    pub resource: GroupVersionResource<'a>,
    /// `status`, `ephemeralcontainers` and so on; empty for the object itself.
    pub subresource: Cow<'a, str>,
    /// Empty for objects that are in no namespace.
    pub namespace: Cow<'a, str>,
    /// Empty if the server is to make one up.
    pub name: Cow<'a, str>,
    /// Who is about to do it.
    pub user: UserInfo<'a>,
    /// Whether nothing will come of it.
    pub dry_run: bool,
    /// Where the question comes from.
    pub origin: RequestOrigin,
    /// The object as it is going to be: a JSON object, as deep as somebody cared to nest it. There for [`RequestOperation::Create`] and [`RequestOperation::Update`].
    pub object: Option<&'a RawValue>,
    /// The object as it is. There for [`RequestOperation::Update`], most often for [`RequestOperation::Delete`].
    pub old_object: Option<&'a RawValue>,
}

/// What somebody is about to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RequestOperation {
    /// An object comes into being.
    Create,
    /// An object changes.
    Update,
    /// An object goes.
    Delete,
    /// Somebody wants to talk to an object: `exec`, `port-forward`.
    Connect,
}

impl RequestOperation {
    /// Every operation there is.
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

/// Who asks the API server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserInfo<'a> {
    /// `system:serviceaccount:kube-system:replicaset-controller`.
    pub username: Cow<'a, str>,
    /// `system:authenticated` and others.
    pub groups: Vec<Cow<'a, str>>,
}

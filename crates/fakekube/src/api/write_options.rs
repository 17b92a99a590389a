//! Defines the object that a write names, the options of the write, and patches.

use super::RequestUser;
use crate::resource::{ResourceId, Subresource};
use serde_json::Value;

/// The object, or the collection, of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePath {
    /// The resource.
    pub number: ResourceId,
    /// Empty for cluster-scoped objects, and for all namespaces.
    pub namespace: String,
    /// Empty for a collection.
    pub name: String,
    /// The subresource.
    pub sub: Option<Subresource>,
}

impl ResourcePath {
    /// The path of an object.
    pub fn object(number: ResourceId, namespace: &str, name: &str) -> Self {
        Self { number, namespace: namespace.to_owned(), name: name.to_owned(), sub: None }
    }

    /// The path of a subresource of it.
    #[must_use]
    pub fn part(self, sub: Subresource) -> Self {
        Self { sub: Some(sub), ..self }
    }

    /// The key in the store.
    pub fn key(&self) -> String {
        super::key(&self.namespace, &self.name)
    }
}

/// What happens to unknown fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped silently.
    Ignore,
    /// They are dropped, and the response carries a warning.
    #[default]
    Warn,
    /// The request is rejected.
    Strict,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They are deleted after it.
    Background,
    /// They are deleted before it.
    Foreground,
    /// They stay.
    Orphan,
}

/// The options of a write.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Nothing is stored; the response is the same.
    pub dry_run: bool,
    /// The manager of the fields that change.
    pub manager: String,
    /// Unknown fields.
    pub strictness: FieldValidation,
    /// Server-side apply: takes fields over from other managers.
    pub force: bool,
    /// The user that sends the request.
    pub user: RequestUser,
}

impl WriteOptions {
    /// Options of a control plane component.
    pub fn by(manager: &str) -> Self {
        let (user, strictness) = (RequestUser::part(manager), FieldValidation::Ignore);
        Self { manager: manager.to_owned(), strictness, user, ..Self::default() }
    }
}

/// A patch of one of the four kinds.
#[derive(Clone, Debug)]
pub enum PatchBody {
    /// RFC 6902.
    Json(Value),
    /// RFC 7386.
    Merge(Value),
    /// Kubernetes' own: lists are merged by keys.
    Strategic(Value),
    /// Server-side apply.
    Apply(Value),
}

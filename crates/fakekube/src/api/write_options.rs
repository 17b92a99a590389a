//! Defines the object that a write names, the options of the write, and patches.

use super::RequestUser;
use crate::resource::{ResourceId, Subresource};
use serde_json::Value;

/// The object, or the collection, of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourcePath {
    /// The resource.
    pub number: ResourceId,
    /// Empty for objects of the whole cluster, and for all namespaces.
    pub namespace: String,
    /// Empty for a collection.
    pub name: String,
    /// A part of the object.
    pub sub: Option<Subresource>,
}

impl ResourcePath {
    /// An object.
    pub fn object(number: ResourceId, namespace: &str, name: &str) -> Self {
        Self { number, namespace: namespace.to_owned(), name: name.to_owned(), sub: None }
    }

    /// A part of it.
    #[must_use]
    pub fn part(self, sub: Subresource) -> Self {
        Self { sub: Some(sub), ..self }
    }

    /// What it is kept under.
    pub fn key(&self) -> String {
        super::key(&self.namespace, &self.name)
    }
}

/// What becomes of fields that nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FieldValidation {
    /// They are dropped without a word.
    Ignore,
    /// They are dropped, and the answer warns.
    #[default]
    Warn,
    /// The request is refused.
    Strict,
}

/// What becomes of an object's dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    /// They go later.
    Background,
    /// They go first.
    Foreground,
    /// They stay.
    Orphan,
}

/// How a write is to be done.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    /// Nothing is kept; the answer is as if.
    pub dry_run: bool,
    /// Who owns the fields that change.
    pub manager: String,
    /// Unknown fields.
    pub strictness: FieldValidation,
    /// Server-side apply: takes fields from others.
    pub force: bool,
    /// Who asks.
    pub user: RequestUser,
}

impl WriteOptions {
    /// By a part of the cluster itself.
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

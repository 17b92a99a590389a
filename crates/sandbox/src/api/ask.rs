//! # Ask: what a write is about, and how it is to be done
//! Room:     the object a request names; its options.
//! Comes in: paths and queries, or callers within the process.
//! Goes out: [`On`] and [`Wish`].
//! Not here: bodies.

use super::User;
use crate::resource::{Number, Sub};

/// The object, or the collection, of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct On {
    /// The resource.
    pub number: Number,
    /// Empty for objects of the whole cluster, and for all namespaces.
    pub namespace: String,
    /// Empty for a collection.
    pub name: String,
    /// A part of the object.
    pub sub: Option<Sub>,
}

impl On {
    /// An object.
    pub fn object(number: Number, namespace: &str, name: &str) -> Self {
        Self { number, namespace: namespace.to_owned(), name: name.to_owned(), sub: None }
    }

    /// A part of it.
    #[must_use]
    pub fn part(self, sub: Sub) -> Self {
        Self { sub: Some(sub), ..self }
    }

    /// What it is kept under.
    pub fn key(&self) -> String {
        super::key(&self.namespace, &self.name)
    }
}

/// What becomes of fields that nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Strictness {
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
pub struct Wish {
    /// Nothing is kept; the answer is as if.
    pub dry_run: bool,
    /// Who owns the fields that change.
    pub manager: String,
    /// Unknown fields.
    pub strictness: Strictness,
    /// Server-side apply: takes fields from others.
    pub force: bool,
    /// Who asks.
    pub user: User,
}

impl Wish {
    /// By a part of the cluster itself.
    pub fn by(manager: &str) -> Self {
        let (user, strictness) = (User::part(manager), Strictness::Ignore);
        Self { manager: manager.to_owned(), strictness, user, ..Self::default() }
    }
}

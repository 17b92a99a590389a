//! Names the place of a node in its object.
//!
//! - Invariant: a step borrows the steps before it, so that a search writes only the paths of what it finds.

use std::fmt;

/// The path of a node: `spec.tolerations[0].key`.
#[derive(Clone, Copy)]
pub(crate) enum FieldPath<'p> {
    /// The object itself.
    Root,
    /// A field of a map.
    Field(&'p Self, &'p str),
    /// An element of a list.
    Item(&'p Self, usize),
}

impl FieldPath<'_> {
    pub(crate) const fn is_root(&self) -> bool {
        matches!(self, Self::Root)
    }

    /// The name of the field; empty for the object itself and for an element of a list.
    pub(crate) const fn field(&self) -> &str {
        if let Self::Field(_, name) = self { name } else { "" }
    }
}

impl fmt::Display for FieldPath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Field(Self::Root, name) => f.write_str(name),
            Self::Field(parent, name) => write!(f, "{parent}.{name}"),
            Self::Item(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

//! # Select: label and field selectors
//! Room:     reading selectors; whether an object matches.
//! Comes in: `labelSelector` and `fieldSelector` of a query; a `LabelSelector` object.
//! Goes out: [`Selector`].
//! Not here: which objects are asked.

mod fields;
mod labels;

pub use labels::{Labels, from_object};

use crate::failure::Failure;
use crate::resource::Resource;
use crate::store::Object;
use fields::Fields;
use serde_json::Value;

/// What a list or a watch is limited to.
#[derive(Clone, Debug, Default)]
pub struct Selector {
    labels: Labels,
    fields: Fields,
}

impl Selector {
    /// Reads both selectors.
    ///
    /// # Errors
    /// 400, in a real server's words.
    pub fn read(resource: &Resource, labels: &str, fields: &str) -> Result<Self, Failure> {
        Ok(Self { labels: Labels::read(labels)?, fields: Fields::read(resource, fields)? })
    }

    /// Whether everything matches.
    pub fn is_all(&self) -> bool {
        self.labels.is_all() && self.fields.is_all()
    }

    /// The one name that matches, if the selector says so.
    pub fn name(&self) -> Option<&str> {
        self.fields.name()
    }

    /// Whether a kept object matches. It is only read if there is something to ask.
    pub fn matches(&self, object: &Object) -> bool {
        self.is_all() || self.matches_value(&object.value())
    }

    /// Whether an object matches.
    pub fn matches_value(&self, object: &Value) -> bool {
        self.fields.match_object(object) && self.labels.match_object(object)
    }
}

//! Parses label and field selectors and matches objects.

mod fields;
mod labels;

pub use labels::{LabelQuery, from_object};
pub(crate) use labels::{format_labels, format_selector};

use crate::api_status::StatusError;
use crate::resource::ResourceType;
use crate::store::StoredObject;
use fields::FieldSelector;
use serde_json::Value;

/// What a list or a watch is limited to.
#[derive(Clone, Debug, Default)]
pub struct ObjectSelector {
    labels: LabelQuery,
    fields: FieldSelector,
}

impl ObjectSelector {
    /// Reads both selectors.
    ///
    /// # Errors
    /// 400, in a real server's words.
    pub fn read(resource: &ResourceType, labels: &str, fields: &str) -> Result<Self, StatusError> {
        Ok(Self { labels: LabelQuery::read(labels)?, fields: FieldSelector::read(resource, fields)? })
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
    pub fn matches(&self, object: &StoredObject) -> bool {
        self.is_all() || self.matches_value(&object.value())
    }

    /// Whether an object matches.
    pub fn matches_value(&self, object: &Value) -> bool {
        self.fields.match_object(object) && self.labels.match_object(object)
    }
}

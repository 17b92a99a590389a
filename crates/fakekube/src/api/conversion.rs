//! Converts objects between the version in which they are stored and another one that is served.

mod autoscalers;
mod events;

use crate::defaults;
use crate::resource::ResourceType;
use serde_json::Value;

/// Whether this resource shows objects that are stored in another form.
pub(crate) fn is_shown_otherwise(resource: &ResourceType) -> bool {
    events::is_event(resource) || autoscalers::is_autoscaler(resource)
}

/// Converts an object into the form in which it is stored.
pub(super) fn to_home(resource: &'static ResourceType, object: &mut Value) {
    if events::is_event(resource) {
        events::to_home(object);
    }
    if autoscalers::is_autoscaler(resource) {
        autoscalers::to_home(object);
        defaults::apply_defaults(resource.home(), object);
    }
}

/// Converts an object into the form of the requested resource.
pub(crate) fn from_home(resource: &ResourceType, object: Value) -> Value {
    match () {
        () if events::is_event(resource) => events::from_home(object),
        () if autoscalers::is_autoscaler(resource) => autoscalers::from_home(object),
        () => object,
    }
}

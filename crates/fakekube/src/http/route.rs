//! Parses request paths into resource, namespace, name and subresource.

use crate::api::ResourcePath;
use crate::api_status::StatusError;
use crate::custom;
use crate::resource::{ResourceId, ResourceType};

/// What is at a path.
pub(super) enum Route {
    /// An object or a part of it.
    Object(ResourcePath),
    /// All objects of a resource, or those of a namespace.
    Collection(ResourcePath),
    /// No resource, for this reason.
    Nothing(StatusError),
    /// Something that is not a resource: discovery, health.
    Fixed,
}

impl Route {
    /// Parses a path; `None` if it is not a valid path.
    pub(super) fn of(path: &str) -> Option<Self> {
        let parts = parts(path);
        let (group, version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ("", *version, rest),
            ["apis", group, version, rest @ ..] => (*group, *version, rest),
            _ => return Some(Self::Fixed),
        };
        if rest.is_empty() {
            return Some(Self::Fixed);
        }
        // An absent namespace means all of them; any other segment must not be empty.
        let named = |parts: &[&str]| parts.iter().all(|part| !part.is_empty());
        let is_named = match rest {
            ["namespaces", "", rest @ ..] => !rest.is_empty() && named(rest),
            rest => named(rest),
        };
        if !is_named {
            return None;
        }
        // `namespaces/x/status` is a part of a namespace, not a resource in it.
        let (namespace, rest) = match rest {
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => ("", rest),
            ["namespaces", namespace, rest @ ..] => (*namespace, rest),
            rest => ("", rest),
        };
        let (plural, name, sub) = match rest {
            [plural] => (*plural, "", None),
            [plural, name] => (*plural, *name, None),
            [plural, name, sub] => (*plural, *name, Some(*sub)),
            _ => return None,
        };
        let number = ResourceType::find(group, version, plural)?;
        let resource = number.get();
        if !resource.namespaced && !namespace.is_empty() {
            return None;
        }
        if resource.namespaced && namespace.is_empty() && !name.is_empty() {
            return None;
        }
        let mut on = ResourcePath::object(number, namespace, name);
        match sub {
            None if name.is_empty() => Some(Self::Collection(on)),
            None => Some(Self::Object(on)),
            Some(sub) => match resource.sub(sub) {
                Some(sub) => {
                    on.sub = Some(sub);
                    Some(Self::Object(on))
                }
                None => Some(Self::Nothing(without(number, sub, name)?)),
            },
        }
    }
}

/// A path's segments, without a trailing slash.
fn parts(path: &str) -> Vec<&str> {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.strip_suffix('/').unwrap_or(path).split('/').collect()
}

/// The error for subresources that a real server has and this one cannot have, because nothing runs here.
fn without(number: ResourceId, sub: &str, name: &str) -> Option<StatusError> {
    if custom::is_group(number.get().group) && ["status", "scale"].contains(&sub) {
        return Some(StatusError::not_found(number.get(), name));
    }
    let runs = number.get().kind == "Pod" && ["exec", "attach", "portforward", "proxy"].contains(&sub);
    let why = format!("nothing runs in this sandbox: a pod has no {sub}");
    runs.then(|| StatusError::new(501, "NotImplemented", why))
}

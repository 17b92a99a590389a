//! Builds REST paths of objects.
//!
//! - Invariant: a hostile name cannot lead to the path of another object.

use crate::error_text::sanitized;
use crate::events::EventsApiGroup;
use crate::pools::POOL_GUARD;
use std::fmt;
use taintward_core::identity::{NodeName, PodName};
use thiserror::Error;

/// One object, or the collection that a new one is posted to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ResourcePath<'a> {
    /// API group; empty is core.
    pub(crate) group: &'static str,
    pub(crate) version: &'static str,
    /// The plural, as in RBAC.
    pub(crate) plural: &'static str,
    /// `status`, or empty.
    pub(crate) subresource: &'static str,
    /// Empty for cluster-scoped objects.
    pub(crate) namespace: &'a str,
    /// Empty for a collection.
    pub(crate) name: &'a str,
}

impl<'a> ResourcePath<'a> {
    pub(crate) fn node(name: &'a NodeName, subresource: &'static str) -> Result<Self, InvalidPath> {
        let (plural, name) = ("nodes", name.as_str());
        Self { group: "", version: "v1", plural, subresource, namespace: "", name }.object()
    }

    pub(crate) fn pod(pod: &'a PodName, subresource: &'static str) -> Result<Self, InvalidPath> {
        let (namespace, name) = (pod.namespace(), pod.name());
        segment(namespace)
            .then_some(Self { group: "", version: "v1", plural: "pods", subresource, namespace, name })
            .ok_or_else(|| no_name("namespace", namespace))?
            .object()
    }

    pub(crate) fn events(api: EventsApiGroup, namespace: &'a str) -> Result<Self, InvalidPath> {
        let group = match api {
            EventsApiGroup::Events => "events.k8s.io",
            EventsApiGroup::Core => "",
        };
        segment(namespace)
            .then_some(Self { group, version: "v1", plural: "events", subresource: "", namespace, name: "" })
            .ok_or_else(|| no_name("namespace", namespace))
    }

    /// The lease `name` or, without a name, the collection.
    pub(crate) fn lease(namespace: &'a str, name: &'a str) -> Result<Self, InvalidPath> {
        let (group, plural) = ("coordination.k8s.io", "leases");
        let lease = segment(namespace)
            .then_some(Self { group, version: "v1", plural, subresource: "", namespace, name })
            .ok_or_else(|| no_name("namespace", namespace))?;
        if name.is_empty() { Ok(lease) } else { lease.object() }
    }

    /// All objects of a kind, in one namespace or, if that is empty, in all.
    pub(crate) fn collection(
        group: &'static str,
        plural: &'static str,
        namespace: &'a str,
    ) -> Result<Self, InvalidPath> {
        let version = if group == crate::decode::GROUP { "v1alpha1" } else { "v1" };
        (namespace.is_empty() || segment(namespace))
            .then_some(Self { group, version, plural, subresource: "", namespace, name: "" })
            .ok_or_else(|| no_name("namespace", namespace))
    }

    /// One object of any kind; the namespace is empty for cluster-scoped ones.
    pub(crate) fn named(
        group: &'static str,
        plural: &'static str,
        namespace: &'a str,
        name: &'a str,
    ) -> Result<Self, InvalidPath> {
        Self { name, ..Self::collection(group, plural, namespace)? }.object()
    }

    /// A `DedicatedPool`.
    pub(crate) fn pool(name: &'a str, subresource: &'static str) -> Result<Self, InvalidPath> {
        let (group, version, plural) = (crate::decode::GROUP, "v1alpha1", "dedicatedpools");
        Self { group, version, plural, subresource, namespace: "", name }.object()
    }

    /// The one `PoolGuard`.
    pub(crate) fn pool_guard() -> Result<ResourcePath<'static>, InvalidPath> {
        let (group, version, plural) = (crate::decode::GROUP, "v1alpha1", "poolguards");
        ResourcePath { group, version, plural, subresource: "", namespace: "", name: POOL_GUARD }.object()
    }

    pub(crate) fn policy(name: &'a str, subresource: &'static str) -> Result<Self, InvalidPath> {
        let (group, version, plural) = (crate::decode::GROUP, "v1alpha1", "tolerationpolicies");
        Self { group, version, plural, subresource, namespace: "", name }.object()
    }

    /// An `EvictionPolicy`.
    pub(crate) fn eviction_policy(name: &'a str, subresource: &'static str) -> Result<Self, InvalidPath> {
        let (group, version, plural) = (crate::decode::GROUP, "v1alpha1", "evictionpolicies");
        Self { group, version, plural, subresource, namespace: "", name }.object()
    }

    /// The collection to which access reviews are posted.
    pub(crate) const fn access_review(plural: &'static str) -> ResourcePath<'static> {
        let group = "authorization.k8s.io";
        ResourcePath { group, version: "v1", plural, subresource: "", namespace: "", name: "" }
    }

    /// An empty name would turn the request into one about the whole collection; a DELETE of that would empty the
    /// namespace. So nothing is sent for a name that is not exactly one path segment.
    fn object(self) -> Result<Self, InvalidPath> {
        if segment(self.name) { Ok(self) } else { Err(no_name("name", self.name)) }
    }

    pub(crate) fn path(&self) -> String {
        let mut path = String::with_capacity(96);
        path.push_str(if self.group.is_empty() { "/api/" } else { "/apis/" });
        if !self.group.is_empty() {
            path.push_str(self.group);
            path.push('/');
        }
        path.push_str(self.version);
        if !self.namespace.is_empty() {
            path.push_str("/namespaces/");
            push_encoded(&mut path, self.namespace);
        }
        for part in [self.plural, self.name, self.subresource] {
            if !part.is_empty() {
                path.push('/');
                push_encoded(&mut path, part);
            }
        }
        path
    }

    /// The resource as RBAC names it: `pods/status`.
    pub(crate) fn rbac(&self) -> String {
        let slash = if self.subresource.is_empty() { "" } else { "/" };
        format!("{}{slash}{}", self.plural, self.subresource)
    }
}

/// `pods/status shop/web-0`, safe to print.
impl fmt::Display for ResourcePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.rbac())?;
        match (self.namespace, self.name) {
            ("", "") => Ok(()),
            ("", name) => write!(f, " {}", sanitized(name)),
            (namespace, "") => write!(f, " in {}", sanitized(namespace)),
            (namespace, name) => write!(f, " {}/{}", sanitized(namespace), sanitized(name)),
        }
    }
}

/// Whether a text is valid as one segment of a path, by the rule that the API server itself applies to names.
fn segment(text: &str) -> bool {
    !matches!(text, "" | "." | "..") && !text.contains(['/', '%']) && !text.contains(char::is_control)
}

fn no_name(what: &'static str, text: &str) -> InvalidPath {
    InvalidPath { what, text: sanitized(text) }
}

/// A text that is not valid in a path.
#[derive(Debug, Error)]
#[error("nothing was sent: \"{text}\" cannot be the {what} of an object")]
pub(crate) struct InvalidPath {
    what: &'static str,
    text: String,
}

pub(crate) fn push_encoded(path: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~' | b':') {
            path.push(char::from(byte));
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::RequestError;
    use super::*;
    use taintward_core::api_error::ApiFailure;

    #[test]
    fn a_path_means_one_object() {
        let (pod, node) = (PodName::new("shop", "web-0"), NodeName::new("n1.example"));
        assert_eq!(ResourcePath::pod(&pod, "").unwrap().path(), "/api/v1/namespaces/shop/pods/web-0");
        assert_eq!(
            ResourcePath::pod(&pod, "status").unwrap().path(),
            "/api/v1/namespaces/shop/pods/web-0/status"
        );
        assert_eq!(ResourcePath::node(&node, "").unwrap().path(), "/api/v1/nodes/n1.example");
        assert_eq!(ResourcePath::node(&node, "status").unwrap().path(), "/api/v1/nodes/n1.example/status");
        let posted = |api| ResourcePath::events(api, "shop").unwrap().path();
        assert_eq!(posted(EventsApiGroup::Core), "/api/v1/namespaces/shop/events");
        assert_eq!(posted(EventsApiGroup::Events), "/apis/events.k8s.io/v1/namespaces/shop/events");
        let odd = PodName::new("shop", "a b?c#d&e");
        assert_eq!(
            ResourcePath::pod(&odd, "").unwrap().path(),
            "/api/v1/namespaces/shop/pods/a%20b%3Fc%23d%26e"
        );
    }

    #[test]
    fn a_name_that_could_mean_more_is_refused() {
        for name in ["", ".", "..", "a/b", "a%2fb", "a\nb"] {
            let error = ResourcePath::pod(&PodName::new("shop", name), "").unwrap_err();
            let error = RequestError::from(error);
            assert_eq!(error.failure, ApiFailure::Rejected, "{name:?}");
            assert!(error.message.starts_with("nothing was sent"), "{error}");
            assert!(ResourcePath::node(&NodeName::new(name), "").is_err(), "{name:?}");
        }
        assert!(ResourcePath::pod(&PodName::new("", "web-0"), "").is_err());
        assert!(ResourcePath::events(EventsApiGroup::Core, "").is_err());
    }
}

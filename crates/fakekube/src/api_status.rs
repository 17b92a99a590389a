//! Builds the `Status` of rejected requests as an API server does.

use crate::resource::ResourceType;
use serde_json::{Value, json};

/// A rejected request.
#[derive(Clone, Debug, PartialEq)]
pub struct StatusError {
    /// HTTP status.
    pub code: u16,
    /// The machine-readable reason: `NotFound`.
    pub reason: &'static str,
    /// The message for people.
    pub message: String,
    /// `details` of the Status.
    pub details: Option<Box<Value>>,
    /// Seconds for the `Retry-After` header.
    pub retry_after: Option<u32>,
    /// The `continue` token with which an interrupted list can continue.
    pub onward: Option<String>,
    /// Warnings for the `Warning` headers.
    pub warnings: Vec<String>,
}

impl StatusError {
    /// An error without details.
    pub fn new(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        let (details, retry_after, onward, warnings) = (None, None, None, Vec::new());
        Self { code, reason, message: message.into(), details, retry_after, onward, warnings }
    }

    /// Adds details: resource and name, and whatever else belongs to the reason.
    #[must_use]
    pub fn with(mut self, details: Value) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    fn about(self, resource: &ResourceType, name: &str) -> Self {
        self.with(about(resource.group, resource.plural, name))
    }

    /// 404: the object.
    pub fn not_found(resource: &ResourceType, name: &str) -> Self {
        let message = format!("{} \"{name}\" not found", resource.qualified());
        Self::new(404, "NotFound", message).about(resource, name)
    }

    /// 404: the path.
    pub fn no_such_path() -> Self {
        Self::new(404, "NotFound", "the server could not find the requested resource").with(json!({}))
    }

    /// 405.
    pub fn not_allowed() -> Self {
        Self::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
            .with(json!({}))
    }

    /// 409: it is there already.
    pub fn exists(resource: &ResourceType, name: &str) -> Self {
        let message = format!("{} \"{name}\" already exists", resource.qualified());
        Self::new(409, "AlreadyExists", message).about(resource, name)
    }

    /// 409: another writer was faster, or a precondition does not hold.
    pub fn conflict(resource: &ResourceType, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {why}", resource.qualified());
        Self::new(409, "Conflict", message).about(resource, name)
    }

    /// 409: the object has been changed since it was read.
    pub fn modified(resource: &ResourceType, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// 400.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, "BadRequest", message)
    }

    /// 403.
    pub fn forbidden(resource: &ResourceType, name: &str, why: &str) -> Self {
        let message = match name {
            "" => format!("{} is forbidden: {why}", resource.qualified()),
            name => format!("{} \"{name}\" is forbidden: {why}", resource.qualified()),
        };
        Self::new(403, "Forbidden", message).about(resource, name)
    }

    /// 410: a watch or a list from before the remembered history.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, "Expired", message)
    }

    /// 413.
    pub fn too_large(limit: usize) -> Self {
        let message = format!("Request entity too large: limit is {limit}");
        Self::new(413, "RequestEntityTooLarge", message)
    }

    /// 415.
    pub fn media_type(allowed: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            allowed.join(", ")
        );
        Self::new(415, "UnsupportedMediaType", message)
    }

    /// 406.
    pub fn not_acceptable() -> Self {
        let message = "only the following media types are accepted: application/json, \
                       application/vnd.kubernetes.protobuf";
        Self::new(406, "NotAcceptable", message)
    }

    /// 422, with the causes.
    pub fn invalid(group: &str, kind: &str, name: &str, messages: &[String], causes: Vec<Value>) -> Self {
        let qualified = if group.is_empty() { kind.to_owned() } else { format!("{kind}.{group}") };
        let summary = match messages {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let mut details = about(group, kind, name);
        details["causes"] = Value::Array(causes);
        Self::new(422, "Invalid", format!("{qualified} {name:?} is invalid: {summary}")).with(details)
    }

    /// 410, with a token to continue.
    #[must_use]
    pub fn with_continue(mut self, token: &str) -> Self {
        self.onward = Some(token.to_owned());
        self
    }

    /// 429, to be retried after these seconds.
    #[must_use]
    pub fn later(mut self, seconds: u32) -> Self {
        self.retry_after = Some(seconds);
        self
    }

    /// The `Status` object.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": self.message, "reason": self.reason, "code": self.code,
        });
        if let Some(token) = &self.onward {
            status["metadata"]["continue"] = json!(token);
        }
        if self.reason.is_empty() {
            status.as_object_mut().map(|status| status.remove("reason"));
        }
        let mut details = self.details.as_deref().cloned();
        if let Some(seconds) = self.retry_after {
            details.get_or_insert_with(|| json!({}))["retryAfterSeconds"] = json!(seconds);
        }
        if let Some(details) = details {
            status["details"] = details;
        }
        status
    }
}

/// Details that name the object.
fn about(group: &str, kind: &str, name: &str) -> Value {
    let mut details = json!({});
    for (field, value) in [("name", name), ("group", group), ("kind", kind)] {
        if !value.is_empty() {
            details[field] = json!(value);
        }
    }
    details
}

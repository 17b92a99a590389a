//! Answers access reviews and token requests: every user may do everything.

use super::{object, write_options};
use crate::api::{ApiServer, ResourcePath};
use crate::api_status::StatusError;
use crate::http::{HttpRequest, HttpResponse};
use crate::resource::{Subresource, known};
use serde_json::{Value, json};

impl ApiServer {
    pub(super) fn review(
        &self,
        request: &HttpRequest,
        on: &ResourcePath,
    ) -> Result<HttpResponse, StatusError> {
        let resource = on.number.get();
        let mut review = object(request)?;
        if resource.kind == "Binding" {
            return self.bind_named(request, on, &review);
        }
        if resource.kind == "SelfSubjectRulesReview" {
            review["spec"] = json!({});
        }
        review["kind"] = json!(resource.kind);
        review["apiVersion"] = json!(resource.api_version());
        if review["metadata"].is_null() {
            review["metadata"] = json!({"creationTimestamp": Value::Null});
        }
        review["status"] = match resource.kind {
            "SelfSubjectRulesReview" => json!({
                "incomplete": false,
                "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
            }),
            "SelfSubjectReview" => {
                json!({"userInfo": {"username": request.user.name, "groups": request.user.groups}})
            }
            "TokenReview" => self.recognized(&review),
            _ => json!({"allowed": true, "reason": "every user may do everything in a sandbox"}),
        };
        let encoding = request.accept.check()?.encoding;
        Ok(HttpResponse::encoded(201, &review, encoding))
    }

    /// Creates a binding that names its pod itself.
    fn bind_named(
        &self,
        request: &HttpRequest,
        on: &ResourcePath,
        binding: &Value,
    ) -> Result<HttpResponse, StatusError> {
        let name = binding["metadata"]["name"].as_str().unwrap_or_default();
        let pod = ResourcePath::object(known("", "pods"), &on.namespace, name);
        self.bind(
            &ResourcePath { sub: Some(Subresource::Binding), ..pod },
            binding,
            &write_options(request, "CreateOptions")?,
        )?;
        self.success(request, 201, None)
    }

    /// Whether a token is this server's one.
    fn recognized(&self, review: &Value) -> Value {
        let token = review["spec"]["token"].as_str().unwrap_or_default();
        if self.token().is(token.as_bytes()) {
            let user = self.user();
            let user = json!({"username": user.name, "groups": user.groups});
            return json!({"authenticated": true, "user": user});
        }
        json!({"user": {}, "error": "invalid bearer token"})
    }

    /// Returns the server's token. The account does not matter: there is one token for all.
    pub(super) fn token_request(
        &self,
        request: &HttpRequest,
        on: &ResourcePath,
    ) -> Result<HttpResponse, StatusError> {
        self.read(&ResourcePath { sub: None, ..on.clone() })?;
        let mut token_request = object(request)?;
        let end = self.clock().now() + jiff::SignedDuration::from_hours(1);
        token_request["kind"] = json!("TokenRequest");
        token_request["apiVersion"] = json!("authentication.k8s.io/v1");
        token_request["status"] =
            json!({"token": self.token().text(), "expirationTimestamp": crate::clock::time_text(end)});
        let encoding = request.accept.check()?.encoding;
        Ok(HttpResponse::encoded(201, &token_request, encoding))
    }
}

//! # Review: questions about rights
//! Room:     access reviews, token requests: everybody may do everything here.
//! Comes in: reviews.
//! Goes out: the same with a status.
//! Not here: any real right; this listens on loopback.

use super::answer::Answer;
use super::asked::Asked;
use super::body;
use super::form::{content_type, encoded};
use crate::api::{On, Server};
use crate::failure::Failure;
use serde_json::{Value, json};

impl Server {
    pub(super) fn review(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        let resource = on.number.get();
        let mut review = body::object(asked)?;
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
            "SelfSubjectReview" => json!({"userInfo": {"username": "sandbox", "groups": ["system:masters"]}}),
            "TokenReview" => json!({"authenticated": true, "user": {"username": "sandbox"}}),
            _ => json!({"allowed": true, "reason": "everybody may do everything in a sandbox"}),
        };
        let encoding = asked.accept.check()?.encoding;
        Ok(Answer::new(201, content_type(encoding), encoded(&review, encoding)))
    }

    /// A token that opens nothing: no door here has a lock.
    pub(super) fn token(&self, asked: &Asked, on: &On) -> Result<Answer, Failure> {
        self.read(&On { sub: None, ..on.clone() })?;
        let mut request = body::object(asked)?;
        let end = self.clock().now() + jiff::SignedDuration::from_hours(1);
        request["kind"] = json!("TokenRequest");
        request["apiVersion"] = json!("authentication.k8s.io/v1");
        request["status"] = json!({"token": "sandbox", "expirationTimestamp": crate::clock::stamp(end)});
        let encoding = asked.accept.check()?.encoding;
        Ok(Answer::new(201, content_type(encoding), encoded(&request, encoding)))
    }
}

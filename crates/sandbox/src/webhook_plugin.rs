//! Passes pods and nodes through Taintward's admission rules, as an API server calls its webhook.
//!
//! - Invariant: the rules see exactly the objects that were written before. Requests that an installation excludes from
//!   its webhook are excluded here; malformed reviews pass, as with `failurePolicy: Ignore`.
//! - Rejects admission policies, which nothing here evaluates.

mod cache_sync;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cache_sync::SyncedVersion;
use fakekube::api::{AdmissionAttributes, AdmissionPlugin, RequestUser};
use fakekube::api_status::StatusError;
use fakekube::patch;
use fakekube::resource::ResourceType;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use taintward_admission::review::{ReviewPhase, judge};
use taintward_admission::rules::{ClusterCache, RuleReviewer, UntilReady};
use taintward_core::admission::no_execute_guard::NoExecuteGuard;
use taintward_core::admission::pod_toleration_restriction::PodTolerationRestriction;
use taintward_core::admission::policy::DefaultTolerationSeconds;
use taintward_core::admission::review::{LintAdvice, ReviewSettings};

/// Namespaces that an installation excludes from its webhook: the system's, and its own.
const UNASKED: [&str; 2] = ["kube-system", "taintward-system"];

/// The account of Taintward's own controllers.
pub fn taintward_account() -> RequestUser {
    RequestUser::service("taintward-system", "taintward")
}

/// The rules, and the cluster state that they use.
pub struct WebhookPlugin {
    rules: RuleReviewer,
    cache: Arc<ClusterCache>,
    synced: Mutex<SyncedVersion>,
}

impl Default for WebhookPlugin {
    /// A plugin with all rules.
    fn default() -> Self {
        let cache = Arc::new(ClusterCache::default());
        // All clients with the sandbox's kubeconfig share one account, also controllers that replace its own: their
        // reports about nodes in Kubernetes' own taints are trusted.
        let accounts = [taintward_account(), RequestUser::default()].map(|user| user.name.into()).to_vec();
        let settings = ReviewSettings {
            defaults: Some(DefaultTolerationSeconds::default()),
            restriction: Some(PodTolerationRestriction::default()),
            extended: true,
            advice: Some(LintAdvice::default()),
            guard: Some(NoExecuteGuard { accounts, ..NoExecuteGuard::default() }),
            ..ReviewSettings::default()
        };
        let rules = RuleReviewer::new(settings, UntilReady::Allow, Arc::clone(&cache));
        Self { rules, cache, synced: Mutex::default() }
    }
}

impl AdmissionPlugin for WebhookPlugin {
    fn admit(
        &self,
        attributes: &AdmissionAttributes<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), StatusError> {
        let patch = self.review(ReviewPhase::Mutate, attributes, object, warnings)?;
        let patch = patch.and_then(|text| STANDARD.decode(text).ok());
        if let Some(patch) = patch.and_then(|json| serde_json::from_slice::<Value>(&json).ok()) {
            let failed = |why: StatusError| StatusError::new(500, "InternalError", why.message);
            *object = patch::json_patch(object, &patch).map_err(failed)?;
        }
        Ok(())
    }

    fn validate(
        &self,
        attributes: &AdmissionAttributes<'_>,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), StatusError> {
        self.review(ReviewPhase::Validate, attributes, object, warnings).map(drop)
    }
}

impl WebhookPlugin {
    /// Sends one review. Returns the patch.
    fn review(
        &self,
        phase: ReviewPhase,
        attributes: &AdmissionAttributes<'_>,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<Option<String>, StatusError> {
        let Some(name) = webhook_name(phase, attributes) else { return Ok(None) };
        self.synced.lock().unwrap_or_else(PoisonError::into_inner).catch_up(attributes.objects, &self.cache);
        let review = admission_review(attributes, object).to_string();
        let Ok(judged) = judge(phase, review.as_bytes(), &self.rules) else { return Ok(None) };
        let review: Value = serde_json::from_slice(&judged.body).unwrap_or_default();
        let response = &review["response"];
        let warnings_of = response["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for warning in
            warnings_of.filter(|warning| !warnings.iter().any(|before| before == warning)).collect::<Vec<_>>()
        {
            warnings.push(warning.to_owned());
        }
        match response["allowed"] == false {
            true => Err(StatusError { warnings: warnings.clone(), ..denied(name, &response["status"]) }),
            false => Ok(response["patch"].as_str().map(str::to_owned)),
        }
    }
}

/// The name of the webhook that an installation's configurations would call for an object, if any.
fn webhook_name(phase: ReviewPhase, attributes: &AdmissionAttributes<'_>) -> Option<&'static str> {
    let path = attributes.path;
    let resource = path.number.get();
    if path.sub.is_some() || UNASKED.contains(&&*path.namespace) {
        return None;
    }
    match (resource.group, resource.plural, phase) {
        ("", "pods", ReviewPhase::Mutate) => Some("pods.mutate.taintward.io"),
        ("", "pods", ReviewPhase::Validate) => Some("pods.validate.taintward.io"),
        ("", "nodes", ReviewPhase::Validate) => Some("nodes.validate.taintward.io"),
        _ => None,
    }
}

/// An `admission.k8s.io/v1` review of a request.
fn admission_review(attributes: &AdmissionAttributes<'_>, object: &Value) -> Value {
    let AdmissionAttributes { path, old, options, .. } = attributes;
    let ResourceType { version, plural, kind, .. } = path.number.get();
    let RequestUser { name, groups } = &options.user;
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "sandbox",
            "kind": {"group": "", "version": version, "kind": kind},
            "resource": {"group": "", "version": version, "resource": plural},
            "name": object["metadata"]["name"], "namespace": path.namespace,
            "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
            "userInfo": {"username": name, "groups": groups},
            "object": object, "oldObject": old, "dryRun": options.dry_run,
        },
    })
}

/// A rejection, as an API server passes it on.
fn denied(webhook: &str, status: &Value) -> StatusError {
    let message = status["message"].as_str().unwrap_or_default();
    let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(403);
    StatusError::new(
        code,
        "Forbidden",
        format!("admission webhook {webhook:?} denied the request: {message}"),
    )
}

/// Rejects admission policies. Controllers watch them, so the list exists; a policy in it that has no effect would be
/// misleading. Those of `taintward install` are accepted: they limit accounts whose pods do nothing here, because
/// Taintward runs in this process.
pub struct PolicyRejection;

impl AdmissionPlugin for PolicyRejection {
    fn admit(
        &self,
        attributes: &AdmissionAttributes<'_>,
        object: &mut Value,
        _: &mut Vec<String>,
    ) -> Result<(), StatusError> {
        let is_ours = object["metadata"]["labels"]["app.kubernetes.io/name"] == "taintward";
        let is_policy = attributes.path.number.get().kind == "ValidatingAdmissionPolicy";
        if !is_policy || is_ours || attributes.old.is_some() {
            return Ok(());
        }
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let why = format!("{name}: this sandbox evaluates no admission policies, so it keeps none");
        Err(StatusError::new(501, "NotImplemented", why))
    }
}

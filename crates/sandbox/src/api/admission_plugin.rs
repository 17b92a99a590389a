//! Asks Taintward's admission rules about pods and nodes, as an API server calls its webhook.
//!
//! - Invariant: the rules know exactly what was written before. What an installation does not send to its webhook is
//!   not asked here; malformed reviews pass, as with `failurePolicy: Ignore`.

mod cache_sync;

use super::{RequestUser, ResourcePath, WriteOptions};
use crate::api_status::StatusError;
use crate::patch;
use crate::resource::ResourceType;
use crate::store::Transaction;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use cache_sync::SyncedVersion;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use taintward_admission::review::{Half, judge};
use taintward_admission::rules::{ClusterCache, RuleReviewer, UntilReady};
use taintward_core::admission::no_execute_guard::NoExecuteGuard;
use taintward_core::admission::pod_toleration_restriction::PodTolerationRestriction;
use taintward_core::admission::policy::DefaultTolerationSeconds;
use taintward_core::admission::review::{LintAdvice, ReviewSettings};

/// Namespaces that an installation's webhook is not asked about: the system's, and its own.
const UNASKED: [&str; 2] = ["kube-system", "taintward-system"];

/// The rules, and what they know.
pub(super) struct WebhookPlugin {
    rules: RuleReviewer,
    around: Arc<ClusterCache>,
    heard: Mutex<SyncedVersion>,
}

/// An object on its way in.
#[derive(Clone, Copy)]
pub(super) struct AdmissionAttributes<'a> {
    pub(super) on: &'a ResourcePath,
    /// What it takes the place of.
    pub(super) old: Option<&'a Value>,
    pub(super) wish: &'a WriteOptions,
}

impl AdmissionAttributes<'_> {
    /// What asks about it, if anything does: the webhook's name in the configurations of an installation.
    fn asks(&self, half: Half) -> Option<&'static str> {
        let resource = self.on.number.get();
        if self.on.sub.is_some() || UNASKED.contains(&&*self.on.namespace) {
            return None;
        }
        match (resource.group, resource.plural, half) {
            ("", "pods", Half::Mutate) => Some("pods.mutate.taintward.io"),
            ("", "pods", Half::Validate) => Some("pods.validate.taintward.io"),
            ("", "nodes", Half::Validate) => Some("nodes.validate.taintward.io"),
            _ => None,
        }
    }

    /// The question, as `admission.k8s.io/v1` has it.
    fn question(&self, object: &Value) -> Value {
        let ResourceType { version, plural, kind, .. } = self.on.number.get();
        let RequestUser { name, groups } = &self.wish.user;
        json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "sandbox",
                "kind": {"group": "", "version": version, "kind": kind},
                "resource": {"group": "", "version": version, "resource": plural},
                "name": object["metadata"]["name"], "namespace": self.on.namespace,
                "operation": if self.old.is_some() { "UPDATE" } else { "CREATE" },
                "userInfo": {"username": name, "groups": groups},
                "object": object, "oldObject": self.old, "dryRun": self.wish.dry_run,
            },
        })
    }
}

impl WebhookPlugin {
    /// With the rules that a sandbox has: all there are.
    pub(super) fn new() -> Self {
        let around = Arc::new(ClusterCache::default());
        // Whoever comes with the sandbox's kubeconfig has one account, controllers that were put in its place included:
        // what they say of nodes in Kubernetes' own words is believed.
        let accounts =
            [RequestUser::taintward(), RequestUser::default()].map(|user| user.name.into()).to_vec();
        let settings = ReviewSettings {
            defaults: Some(DefaultTolerationSeconds::default()),
            restriction: Some(PodTolerationRestriction::default()),
            extended: true,
            advice: Some(LintAdvice::default()),
            guard: Some(NoExecuteGuard { accounts, ..NoExecuteGuard::default() }),
            ..ReviewSettings::default()
        };
        let rules = RuleReviewer::new(settings, UntilReady::Allow, Arc::clone(&around));
        Self { rules, around, heard: Mutex::default() }
    }

    /// An object with what is added to it.
    ///
    /// # Errors
    /// As the rules say.
    pub(super) fn complete(
        &self,
        txn: &Transaction<'_>,
        coming: AdmissionAttributes<'_>,
        object: Value,
        warnings: &mut Vec<String>,
    ) -> Result<Value, StatusError> {
        let patch = self.ask(Half::Mutate, txn, coming, &object, warnings)?;
        let patch = patch.and_then(|text| STANDARD.decode(text).ok());
        let Some(patch) = patch.and_then(|json| serde_json::from_slice::<Value>(&json).ok()) else {
            return Ok(object);
        };
        let failed = |why: patch::PatchError| StatusError::new(500, "InternalError", why.to_string());
        patch::json_patch(&object, &patch).map_err(failed)
    }

    /// Whether an object may be as it is.
    ///
    /// # Errors
    /// As the rules say.
    pub(super) fn check(
        &self,
        txn: &Transaction<'_>,
        coming: AdmissionAttributes<'_>,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), StatusError> {
        self.ask(Half::Validate, txn, coming, object, warnings).map(drop)
    }

    /// One question; the patch that answers it.
    fn ask(
        &self,
        half: Half,
        txn: &Transaction<'_>,
        coming: AdmissionAttributes<'_>,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<Option<String>, StatusError> {
        let Some(name) = coming.asks(half) else { return Ok(None) };
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).catch_up(txn, &self.around);
        let question = coming.question(object).to_string();
        let Ok(judged) = judge(half, question.as_bytes(), &self.rules) else { return Ok(None) };
        let answer: Value = serde_json::from_slice(&judged.answer).unwrap_or_default();
        let response = &answer["response"];
        let told = response["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str);
        for warning in
            told.filter(|warning| !warnings.iter().any(|before| before == warning)).collect::<Vec<_>>()
        {
            warnings.push(warning.to_owned());
        }
        match response["allowed"] == false {
            true => Err(StatusError { warnings: warnings.clone(), ..denied(name, &response["status"]) }),
            false => Ok(response["patch"].as_str().map(str::to_owned)),
        }
    }
}

/// A refusal, as an API server passes it on.
fn denied(webhook: &str, status: &Value) -> StatusError {
    let message = status["message"].as_str().unwrap_or_default();
    let code = status["code"].as_u64().and_then(|code| u16::try_from(code).ok()).unwrap_or(403);
    StatusError::new(
        code,
        "Forbidden",
        format!("admission webhook {webhook:?} denied the request: {message}"),
    )
}

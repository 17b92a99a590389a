//! Turns an AdmissionReview request into its response: filter, decode, decide ([`Reviewer`]), encode.
//!
//! - Invariant: the uid is echoed; patches touch few paths only ([`JsonPatchBuilder`]); a reviewer that panics rejects
//!   nothing.

mod decode;
mod filter;
mod invalid_review;
mod outcome;
mod patch;
mod request;
mod response;
mod verdict;

pub use decode::decode;
pub(crate) use decode::quoted;
pub use filter::{FilteredReview, KEPT_MAX, ReviewFilter, VALUES_MAX};
pub use invalid_review::InvalidReview;
pub use outcome::Outcome;
pub use patch::{
    AffinityShapeOfPod, JsonPatchBuilder, PatchedRequirement, PatchedTerm, PatchedToleration, TermExpressions,
};
pub use request::{AdmissionRequest, GroupVersionKind, GroupVersionResource, RequestOperation, UserInfo};
pub use verdict::{ReviewDenial, ReviewVerdict, RuleEffect, RuleOutcome, WARNING_MAX, WARNINGS_MAX};

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use taintward_server::closed_label;
use taintward_server::escape::escaped;

closed_label! {
    /// The half of admission.
    ReviewPhase, "path", {
        /// The object may still be changed.
        Mutate => "mutate",
        /// The object is final.
        Validate => "validate",
    }
}

/// Decides reviews. Pure: it does not wait or write, and returns the same for the same request.
pub trait Reviewer: Send + Sync {
    /// Decides what is added to an object, and whether it is allowed.
    ///
    /// # Errors
    /// If the request is invalid for it: it is about another kind of object, for example.
    fn mutate(&self, request: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview>;

    /// Decides whether an object is allowed as it is. A patch in this verdict is left out.
    ///
    /// # Errors
    /// As [`Reviewer::mutate`].
    fn validate(&self, request: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview>;

    /// Returns why an object that cannot be judged is rejected; `None`: it is allowed. The request has all fields except
    /// its objects.
    fn denial_if_unjudged(&self, _: &AdmissionRequest<'_>) -> Option<&'static str> {
        None
    }
}

/// The origin of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestOrigin {
    /// Any client that can reach the address: what the request says about the cluster may be forged.
    #[default]
    Unverified,
    /// A client with the certificate of an API server.
    ApiServer,
}

/// A response and how it came about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewResponse {
    /// The AdmissionReview of the response, as JSON.
    pub body: Vec<u8>,
    /// The outcome of the review.
    pub outcome: Outcome,
    /// What the rules have done.
    pub notes: Vec<RuleOutcome>,
    /// Watch events in flight may change the result: [`ReviewVerdict::is_early`].
    pub is_early: bool,
}

/// Answers a review.
///
/// ```
/// use serde_json::{Value, json};
/// use taintward_admission::review::{AdmissionRequest, InvalidReview, ReviewPhase, ReviewVerdict, Reviewer, judge};
///
/// struct NamedPodsOnly;
///
/// impl Reviewer for NamedPodsOnly {
///     fn mutate(&self, _: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
///         Ok(ReviewVerdict::allow())
///     }
///
///     fn validate(&self, request: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
///         match request.name.is_empty() {
///             true => Ok(ReviewVerdict::deny("give the pod a name")),
///             false => Ok(ReviewVerdict::allow()),
///         }
///     }
/// }
///
/// let review = |name: &str| json!({
///     "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
///     "request": {
///         "uid": "705ab4f5", "operation": "CREATE", "namespace": "shop", "name": name,
///         "kind": {"group": "", "version": "v1", "kind": "Pod"},
///         "resource": {"group": "", "version": "v1", "resource": "pods"},
///         "userInfo": {"username": "jane"},
///         "object": {"metadata": {}},
///     },
/// });
/// for (name, allowed) in [("web", true), ("", false)] {
///     let judged = judge(ReviewPhase::Validate, review(name).to_string().as_bytes(), &NamedPodsOnly).unwrap();
///     let review: Value = serde_json::from_slice(&judged.body).unwrap();
///     assert_eq!(review["response"]["allowed"], allowed);
///     assert_eq!(review["response"]["uid"], "705ab4f5");
/// }
/// ```
///
/// If a reviewer panics, the response is: allowed, unchanged. If a panic ends the process (`panic = "abort"`), the API
/// server gets no response, which has the same effect with `failurePolicy: Ignore`.
///
/// # Errors
/// If it is not a valid AdmissionReview of `admission.k8s.io/v1`; the reason is one line.
pub fn judge(
    phase: ReviewPhase,
    body: &[u8],
    reviewer: &dyn Reviewer,
) -> Result<ReviewResponse, InvalidReview> {
    judge_filtered(phase, &filter_review(body)?, RequestOrigin::Unverified, reviewer)
}

/// The same for a review that passed the filter, with a known origin.
///
/// # Errors
/// As [`judge`].
pub fn judge_filtered(
    phase: ReviewPhase,
    filtered: &FilteredReview,
    origin: RequestOrigin,
    reviewer: &dyn Reviewer,
) -> Result<ReviewResponse, InvalidReview> {
    let request = AdmissionRequest { origin, ..decode::decode_filtered(filtered)? };
    let result = catch_unwind(AssertUnwindSafe(|| match phase {
        _ if filtered.left_out => Err(too_much()),
        ReviewPhase::Mutate => reviewer.mutate(&request),
        ReviewPhase::Validate => reviewer
            .validate(&request)
            .map(|verdict| ReviewVerdict { patch: JsonPatchBuilder::default(), ..verdict }),
    }));
    let (verdict, outcome) = match result {
        Ok(Err(why)) if why.is_of_object() => (unjudged(phase, &request, &why, reviewer), Outcome::Unjudged),
        Ok(verdict) => {
            let verdict = verdict?;
            let outcome = outcome(&verdict);
            (verdict, outcome)
        }
        Err(panic) => {
            let (kind, reason) = (&*request.kind.kind, panic_text(&*panic));
            tracing::error!(
                kind,
                reason = &*escaped(reason),
                "a rule panicked, so the object is admitted unchanged"
            );
            (ReviewVerdict::allow(), Outcome::Panicked)
        }
    };
    let body = response::encode(&request.uid, &verdict);
    let ReviewVerdict { notes, is_early, .. } = verdict;
    Ok(ReviewResponse { body, outcome, notes, is_early })
}

/// The response that allows an object unchanged, if there is no memory for a longer one.
///
/// # Errors
/// As [`judge`].
pub fn unchanged(filtered: &FilteredReview) -> Result<Vec<u8>, InvalidReview> {
    Ok(response::encode(&decode::decode_filtered(filtered)?.uid, &ReviewVerdict::allow()))
}

fn filter_review(body: &[u8]) -> Result<FilteredReview, InvalidReview> {
    let mut filter = ReviewFilter::default();
    filter.push(body)?;
    filter.finish()
}

fn too_much() -> InvalidReview {
    InvalidReview::object(format!(
        "the request was incomplete, or the fields that the rules read (tolerations, node affinity, resources and others) \
         have more than {KEPT_MAX} bytes or {VALUES_MAX} values"
    ))
}

/// An error would allow the object where the API server ignores errors: so this is a response, whatever the object.
fn unjudged(
    phase: ReviewPhase,
    request: &AdmissionRequest<'_>,
    why: &InvalidReview,
    reviewer: &dyn Reviewer,
) -> ReviewVerdict {
    match reviewer.denial_if_unjudged(request).filter(|_| phase == ReviewPhase::Validate) {
        None => ReviewVerdict::allow(),
        Some(because) => {
            let kind = quoted(&request.kind.kind);
            ReviewVerdict::deny(format!(
                "this {kind} cannot be reviewed: {why}; {because}: send a smaller \
             object"
            ))
        }
    }
}

fn outcome(verdict: &ReviewVerdict) -> Outcome {
    match (&verdict.denial, verdict.patch.is_empty()) {
        (Some(_), _) => Outcome::Denied,
        (None, false) => Outcome::Patched,
        (None, true) => Outcome::Allowed,
    }
}

/// The message of a panic.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given")
}

/// Reviews any bytes, for a fuzzer. Returns how many operations the response's patch has.
///
/// # Panics
/// If a response does not echo the uid, or is not JSON.
pub fn fuzz_entry(bytes: &[u8]) -> usize {
    struct ReviewerBusy;
    impl Reviewer for ReviewerBusy {
        fn mutate(&self, request: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
            let mut verdict = self.validate(request)?;
            let toleration =
                PatchedToleration { key: &request.name, operator: "Exists", ..PatchedToleration::default() };
            verdict.patch.add_tolerations(None, &[toleration]);
            if let Some(object) = request.object {
                verdict.patch.replace_toleration(request.uid.len(), object, &toleration);
            }
            Ok(verdict)
        }

        fn validate(&self, request: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
            let mut verdict = ReviewVerdict::allow();
            verdict.warnings.extend(request.user.groups.iter().map(|group| group.clone().into_owned()));
            Ok(verdict)
        }
    }
    let mut operations = 0;
    for phase in [ReviewPhase::Mutate, ReviewPhase::Validate] {
        let Ok(judged) = judge(phase, bytes, &ReviewerBusy) else { continue };
        let body: serde_json::Value = serde_json::from_slice(&judged.body).expect("an answer is JSON");
        let filtered = filter_review(bytes).expect("it was decoded before");
        let uid = decode::decode_filtered(&filtered).expect("it was decoded before").uid;
        assert_eq!(body["response"]["uid"].as_str(), Some(&*uid), "the uid is echoed");
        operations += usize::from(body["response"]["patch"].is_string());
    }
    operations
}

#[cfg(test)]
mod tests;

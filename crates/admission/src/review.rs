//! Turns an AdmissionReview request into its response: filter, decode, decide ([`Reviewer`]), encode.
//!
//! - Invariant: the uid is echoed; patches touch few paths only ([`JsonPatchBuilder`]); a reviewer that panics refuses
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
pub use verdict::{Did, ReviewDenial, ReviewVerdict, RuleOutcome, WARNING_MAX, WARNINGS_MAX};

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use taintward_server::closed_label;
use taintward_server::escape::escaped;

closed_label! {
    /// Which half of admission asks.
    Half, "path", {
        /// The object may still be changed.
        Mutate => "mutate",
        /// The object is as it will be stored.
        Validate => "validate",
    }
}

/// Who judges. Pure: no waiting, no writing; asked for the same twice, it says the same.
pub trait Reviewer: Send + Sync {
    /// What is to be added to an object, and whether it may come in.
    ///
    /// # Errors
    /// If the question makes no sense to it: it is about another kind of object, say.
    fn mutate(&self, request: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview>;

    /// Whether an object may come in as it is. A patch in this verdict is left out.
    ///
    /// # Errors
    /// As [`Reviewer::mutate`].
    fn validate(&self, request: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview>;

    /// Why an object that cannot be judged is kept out; `None`: it comes in. Of the request there is all but its objects.
    fn keeps_out(&self, _: &AdmissionRequest<'_>) -> Option<&'static str> {
        None
    }
}

/// Where a question comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestOrigin {
    /// Whoever reaches the address: what it tells of the cluster may be made up.
    #[default]
    Anybody,
    /// A client that has shown the certificate of an API server.
    ApiServer,
}

/// An answer and what it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewResponse {
    /// The AdmissionReview that goes back, as JSON.
    pub answer: Vec<u8>,
    /// What became of the question.
    pub outcome: Outcome,
    /// What rules did.
    pub notes: Vec<RuleOutcome>,
    /// News on its way may change the answer: [`ReviewVerdict::is_early`].
    pub is_early: bool,
}

/// Answers a question.
///
/// ```
/// use serde_json::{Value, json};
/// use taintward_admission::review::{AdmissionRequest, Half, InvalidReview, ReviewVerdict, Reviewer, judge};
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
///     let answer = judge(Half::Validate, review(name).to_string().as_bytes(), &NamedPodsOnly).unwrap().answer;
///     let answer: Value = serde_json::from_slice(&answer).unwrap();
///     assert_eq!(answer["response"]["allowed"], allowed);
///     assert_eq!(answer["response"]["uid"], "705ab4f5");
/// }
/// ```
///
/// A reviewer that panics is answered for: allowed, unchanged. Where a panic ends the process (`panic = "abort"`), the API
/// server gets no answer, which `failurePolicy: Ignore` makes the same.
///
/// # Errors
/// If it is no AdmissionReview of `admission.k8s.io/v1` that can be answered; the reason is one line.
pub fn judge(half: Half, body: &[u8], reviewer: &dyn Reviewer) -> Result<ReviewResponse, InvalidReview> {
    judge_sifted(half, &sift(body)?, RequestOrigin::Anybody, reviewer)
}

/// The same for a question that came through a sieve, and of which it is known where it comes from.
///
/// # Errors
/// As [`judge`].
pub fn judge_sifted(
    half: Half,
    sifted: &FilteredReview,
    origin: RequestOrigin,
    reviewer: &dyn Reviewer,
) -> Result<ReviewResponse, InvalidReview> {
    let request = AdmissionRequest { origin, ..decode::decode_sifted(sifted)? };
    let result = catch_unwind(AssertUnwindSafe(|| match half {
        _ if sifted.left_out => Err(too_much()),
        Half::Mutate => reviewer.mutate(&request),
        Half::Validate => reviewer
            .validate(&request)
            .map(|verdict| ReviewVerdict { patch: JsonPatchBuilder::default(), ..verdict }),
    }));
    let (verdict, outcome) = match result {
        Ok(Err(why)) if why.is_of_object() => (unjudged(half, &request, &why, reviewer), Outcome::Unjudged),
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
                "a rule broke down; the object is let in unchanged"
            );
            (ReviewVerdict::allow(), Outcome::Panicked)
        }
    };
    let answer = response::encode(&request.uid, &verdict);
    let ReviewVerdict { notes, is_early, .. } = verdict;
    Ok(ReviewResponse { answer, outcome, notes, is_early })
}

/// The answer that lets an object in as it is, where there is no memory for a longer one.
///
/// # Errors
/// As [`judge`].
pub fn unchanged(sifted: &FilteredReview) -> Result<Vec<u8>, InvalidReview> {
    Ok(response::encode(&decode::decode_sifted(sifted)?.uid, &ReviewVerdict::allow()))
}

fn sift(body: &[u8]) -> Result<FilteredReview, InvalidReview> {
    let mut sieve = ReviewFilter::default();
    sieve.push(body)?;
    sieve.finish()
}

fn too_much() -> InvalidReview {
    InvalidReview::object(format!(
        "it did not come as a whole, or its tolerations, node affinity, resources and what else the rules ask about have \
         more than {KEPT_MAX} bytes or {VALUES_MAX} values"
    ))
}

/// An error would let the object in where the API server ignores errors: so it is an answer, whatever the object is like.
fn unjudged(
    half: Half,
    request: &AdmissionRequest<'_>,
    why: &InvalidReview,
    reviewer: &dyn Reviewer,
) -> ReviewVerdict {
    match reviewer.keeps_out(request).filter(|_| half == Half::Validate) {
        None => ReviewVerdict::allow(),
        Some(because) => {
            let kind = quoted(&request.kind.kind);
            ReviewVerdict::deny(format!("this {kind} cannot be judged: {why}; {because}: send less of it"))
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

/// What a panic says of itself.
fn panic_text(panic: &(dyn Any + Send)) -> &str {
    panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no reason given")
}

/// Any bytes as a question, for a fuzzer: how many operations the answer's patch has.
///
/// # Panics
/// If an answer does not echo the question's uid, or is no JSON.
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
    for half in [Half::Mutate, Half::Validate] {
        let Ok(judged) = judge(half, bytes, &ReviewerBusy) else { continue };
        let answer: serde_json::Value = serde_json::from_slice(&judged.answer).expect("an answer is JSON");
        let sifted = sift(bytes).expect("it was understood a moment ago");
        let uid = decode::decode_sifted(&sifted).expect("so was this").uid;
        assert_eq!(answer["response"]["uid"].as_str(), Some(&*uid), "the uid is echoed");
        operations += usize::from(answer["response"]["patch"].is_string());
    }
    operations
}

#[cfg(test)]
mod tests;

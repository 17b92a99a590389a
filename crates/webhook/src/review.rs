//! # Review: from a question to an answer
//! Room:     an AdmissionReview as bytes; what a rule is told of it; what it says; the AdmissionReview that goes back.
//! Comes in: the body of a request, and who judges it ([`Reviewer`]).
//! Goes out: [`Judged`], or [`Malformed`] if the question makes no sense.
//! Keeps:    the uid is echoed; patches reach a few paths only ([`Patch`]); a reviewer that panics refuses nobody.
//! Not here: sockets (`server`), what is judged (taintward-core).

mod answer;
mod decode;
mod patch;
mod request;
mod shape;
mod sieve;
mod verdict;

pub(crate) use decode::shown;
pub use decode::{Malformed, decode};
pub use patch::{Affinity, Expressions, Patch, Requirement, Term, Toleration};
pub use request::{Kind, Operation, Request, Resource, User};
pub(crate) use shape::{Fields, Text};
pub use sieve::{KEPT_MAX, Sieve, Sifted, VALUES_MAX};
pub use verdict::{Denial, Did, Note, Verdict, WARNING_MAX, WARNINGS_MAX};

use crate::metrics::Outcome;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use taintward_serve::closed_label;
use taintward_serve::escape::escaped;

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
    fn mutate(&self, request: &Request<'_>) -> Result<Verdict, Malformed>;

    /// Whether an object may come in as it is. A patch in this verdict is left out.
    ///
    /// # Errors
    /// As [`Reviewer::mutate`].
    fn validate(&self, request: &Request<'_>) -> Result<Verdict, Malformed>;

    /// Why an object that cannot be judged is kept out; `None`: it comes in. Of the request there is all but its objects.
    fn keeps_out(&self, _: &Request<'_>) -> Option<&'static str> {
        None
    }
}

/// Where a question comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Origin {
    /// Whoever reaches the address: what it tells of the cluster may be made up.
    #[default]
    Anybody,
    /// A client that has shown the certificate of an API server.
    ApiServer,
}

/// An answer and what it came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The AdmissionReview that goes back, as JSON.
    pub answer: Vec<u8>,
    /// What became of the question.
    pub outcome: Outcome,
    /// What rules did.
    pub notes: Vec<Note>,
    /// News on its way may change the answer: [`Verdict::is_early`].
    pub is_early: bool,
}

/// Answers a question.
///
/// A reviewer that panics is answered for: allowed, unchanged. Where a panic ends the process (`panic = "abort"`), the API
/// server gets no answer, which `failurePolicy: Ignore` makes the same.
///
/// # Errors
/// If it is no AdmissionReview of `admission.k8s.io/v1` that can be answered; the reason is one line.
pub fn judge(half: Half, body: &[u8], reviewer: &dyn Reviewer) -> Result<Judged, Malformed> {
    judge_sifted(half, &sift(body)?, Origin::Anybody, reviewer)
}

/// The same for a question that came through a sieve, and of which it is known where it comes from.
///
/// # Errors
/// As [`judge`].
pub fn judge_sifted(
    half: Half,
    sifted: &Sifted,
    origin: Origin,
    reviewer: &dyn Reviewer,
) -> Result<Judged, Malformed> {
    let request = Request { origin, ..decode::decode_sifted(sifted)? };
    let asked = catch_unwind(AssertUnwindSafe(|| match half {
        _ if sifted.left_out => Err(too_much()),
        Half::Mutate => reviewer.mutate(&request),
        Half::Validate => {
            reviewer.validate(&request).map(|verdict| Verdict { patch: Patch::default(), ..verdict })
        }
    }));
    let (verdict, outcome) = match asked {
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
            (Verdict::allow(), Outcome::Panicked)
        }
    };
    let answer = answer::encode(&request.uid, &verdict);
    let Verdict { notes, is_early, .. } = verdict;
    Ok(Judged { answer, outcome, notes, is_early })
}

/// The answer that lets an object in as it is, where there is no memory for a longer one.
///
/// # Errors
/// As [`judge`].
pub fn unchanged(sifted: &Sifted) -> Result<Vec<u8>, Malformed> {
    Ok(answer::encode(&decode::decode_sifted(sifted)?.uid, &Verdict::allow()))
}

fn sift(body: &[u8]) -> Result<Sifted, Malformed> {
    let mut sieve = Sieve::default();
    sieve.push(body)?;
    sieve.finish()
}

fn too_much() -> Malformed {
    Malformed::object(format!(
        "it did not come as a whole, or its tolerations, node affinity, resources and what else the rules ask about have \
         more than {KEPT_MAX} bytes or {VALUES_MAX} values"
    ))
}

/// An error would let the object in where the API server ignores errors: so it is an answer, whatever the object is like.
fn unjudged(half: Half, request: &Request<'_>, why: &Malformed, reviewer: &dyn Reviewer) -> Verdict {
    match reviewer.keeps_out(request).filter(|_| half == Half::Validate) {
        None => Verdict::allow(),
        Some(because) => {
            let kind = shown(Some(&request.kind.kind));
            Verdict::deny(format!("this {kind} cannot be judged: {why}; {because}: send less of it"))
        }
    }
}

fn outcome(verdict: &Verdict) -> Outcome {
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
    struct Busy;
    impl Reviewer for Busy {
        fn mutate(&self, request: &Request<'_>) -> Result<Verdict, Malformed> {
            let mut verdict = self.validate(request)?;
            let toleration = Toleration { key: &request.name, operator: "Exists", ..Toleration::default() };
            verdict.patch.add_tolerations(None, &[toleration]);
            if let Some(object) = request.object {
                verdict.patch.replace_toleration(request.uid.len(), object, &toleration);
            }
            Ok(verdict)
        }

        fn validate(&self, request: &Request<'_>) -> Result<Verdict, Malformed> {
            let mut verdict = Verdict::allow();
            verdict.warnings.extend(request.user.groups.iter().map(|group| group.clone().into_owned()));
            Ok(verdict)
        }
    }
    let mut operations = 0;
    for half in [Half::Mutate, Half::Validate] {
        let Ok(judged) = judge(half, bytes, &Busy) else { continue };
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

//! Resolves the toleration seconds of one taint from annotations, the policy of the namespace and the default.
//!
//! - Order of precedence: annotation of the pod, annotation of its namespace, policy of the namespace, 300 s. An
//!   annotation is a 64-bit integer (AD-3) or `forever`; an invalid one gives a warning, and the next source counts.
//! - Bounds of the policy apply to annotations, with a warning, not to its own seconds; of contradicting bounds the
//!   upper one counts.

use super::{
    DefaultDurations, NOT_READY_SECONDS, RequestedSeconds, SecondsBounds, TolerationDuration,
    TolerationPolicy, UNREACHABLE_SECONDS,
};
use crate::admission::messages::text_of;
use crate::taint::keys;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The source of the seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SecondsSource {
    /// An annotation on the pod.
    Workload,
    /// An annotation on its namespace.
    Namespace,
    /// The policy of this name.
    Policy(Box<str>),
    /// No source: upstream's seconds.
    BuiltIn,
}

/// What was decided for one of the two taints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedSeconds {
    /// For how long the pod stays.
    pub stay: TolerationDuration,
    /// The source.
    pub source: SecondsSource,
    /// What was requested and is not granted.
    pub warnings: Vec<String>,
}

/// What was decided for both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondsDecision {
    /// A node that is not ready.
    pub not_ready: ResolvedSeconds,
    /// A node that is unreachable.
    pub unreachable: ResolvedSeconds,
}

impl SecondsDecision {
    /// Returns the durations without the reasons.
    pub const fn durations(&self) -> DefaultDurations {
        DefaultDurations { not_ready: self.not_ready.stay, unreachable: self.unreachable.stay }
    }

    /// Returns the decision for a taint of this key.
    pub(super) fn of(&self, key: &str) -> &ResolvedSeconds {
        if key == keys::NOT_READY { &self.not_ready } else { &self.unreachable }
    }
}

/// Decides which seconds apply (AD-3): the workload's, else the namespace's, else the policy's, else the default.
pub fn decide(
    workload: &RequestedSeconds,
    namespace: &RequestedSeconds,
    policy: Option<&TolerationPolicy>,
    last: impl Into<DefaultDurations>,
) -> SecondsDecision {
    let last = last.into();
    let not_ready = SecondsCandidates {
        annotation: NOT_READY_SECONDS,
        wishes: [
            (SecondsSource::Workload, workload.not_ready.as_deref()),
            (SecondsSource::Namespace, namespace.not_ready.as_deref()),
        ],
        policy: policy.map(|policy| (policy, policy.not_ready)),
        last: last.not_ready,
    };
    let unreachable = SecondsCandidates {
        annotation: UNREACHABLE_SECONDS,
        wishes: [
            (SecondsSource::Workload, workload.unreachable.as_deref()),
            (SecondsSource::Namespace, namespace.unreachable.as_deref()),
        ],
        policy: policy.map(|policy| (policy, policy.unreachable)),
        last: last.unreachable,
    };
    SecondsDecision { not_ready: not_ready.chosen(), unreachable: unreachable.chosen() }
}

/// What each source says about one of the two taints.
struct SecondsCandidates<'a> {
    annotation: &'static str,
    wishes: [(SecondsSource, Option<&'a str>); 2],
    policy: Option<(&'a TolerationPolicy, Option<TolerationDuration>)>,
    last: TolerationDuration,
}

impl SecondsCandidates<'_> {
    fn chosen(self) -> ResolvedSeconds {
        let annotation = self.annotation;
        let mut warnings = Vec::new();
        for (source, text) in self.wishes {
            let Some(text) = text else { continue };
            let whose = if source == SecondsSource::Workload { "pod" } else { "namespace" };
            let Some(requested) = TolerationDuration::parse(text) else {
                warnings.push(format!(
                    "annotation {annotation} of the {whose} is \"{}\" and was ignored: write a whole number \
                     of seconds, or \"forever\"",
                    text_of(text)
                ));
                continue;
            };
            let stay = self.policy.map_or(requested, |(policy, _)| policy.bounds.clamp(requested));
            if let Some((policy, _)) = self.policy.filter(|_| stay != requested) {
                warnings.push(format!(
                    "annotation {annotation} of the {whose} asks for {}, but the policy {} allows {} {}, \
                     which applies",
                    words(requested),
                    text_of(&policy.name),
                    if stay < requested { "at most" } else { "at least" },
                    words(stay)
                ));
            }
            return ResolvedSeconds { stay, source, warnings };
        }
        let (stay, source) = match self.policy {
            Some((policy, Some(stay))) => (stay, SecondsSource::Policy(policy.name.clone())),
            _ => (self.last, SecondsSource::BuiltIn),
        };
        ResolvedSeconds { stay, source, warnings }
    }
}

fn words(stay: TolerationDuration) -> String {
    match stay {
        TolerationDuration::For(seconds) => format!("{seconds} s"),
        TolerationDuration::Forever => String::from(r#""forever""#),
    }
}

impl SecondsBounds {
    /// Returns the requested duration, moved to the bound that it exceeds.
    pub fn clamp(self, requested: TolerationDuration) -> TolerationDuration {
        let at_least = self.least.map_or(requested, |least| requested.max(TolerationDuration::For(least)));
        self.most.map_or(at_least, |most| at_least.min(TolerationDuration::For(most)))
    }
}

/// What is wrong with a policy; its valid parts still apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidPolicy {
    /// In one word, for a condition.
    pub reason: &'static str,
    /// In a sentence, with the remedy.
    pub message: String,
}

impl TolerationPolicy {
    /// Returns what the policy's author should know.
    pub fn errors(&self) -> Vec<InvalidPolicy> {
        let mut errors = Vec::new();
        if let Some(error) = self.namespaces.errors().first() {
            let message = format!("the selector means no namespace ({error}): correct it");
            errors.push(InvalidPolicy { reason: "BadSelector", message });
        }
        if let (Some(least), Some(most)) = (self.bounds.least, self.bounds.most)
            && least > most
        {
            let message = format!(
                "bounds.least ({least} s) is above bounds.most ({most} s): swap them; until then, bounds.most applies"
            );
            errors.push(InvalidPolicy { reason: "BoundsContradict", message });
        }
        for (of, own) in [("not ready", self.not_ready), ("unreachable", self.unreachable)] {
            if let Some(own) = own.filter(|own| self.bounds.clamp(*own) != *own) {
                let message = format!(
                    "the policy's {} for {of} is outside its bounds; bounds limit only annotations, so no workload can \
                     request this value: change the bounds if workloads may",
                    words(own)
                );
                errors.push(InvalidPolicy { reason: "OutsideOwnBounds", message });
            }
        }
        errors
    }
}

//! # Decide: whose seconds count
//! Room:     the order of precedence, the bounds, and what is said of a wish that is not granted; what is wrong with a
//!           policy.
//! Comes in: annotations as written, the policy of the namespace, the last resort.
//! Goes out: [`Decision`].
//! Not here: which policy is that of a namespace, and to which tolerations this applies (`policy.rs`).

use super::{Asked, Bounds, NOT_READY_SECONDS, Policy, Stay, UNREACHABLE_SECONDS};
use crate::admission::DefaultSeconds;
use crate::admission::words::text_of;
use crate::taint::keys;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Who said so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// An annotation on the pod.
    Workload,
    /// An annotation on its namespace.
    Namespace,
    /// The policy of this name.
    Policy(Box<str>),
    /// Nobody: upstream's seconds.
    BuiltIn,
}

/// What was decided for one of the two taints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// For how long.
    pub stay: Stay,
    /// Who said so.
    pub source: Source,
    /// What was asked for and is not granted.
    pub warnings: Vec<String>,
}

/// What was decided for both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// A node that is not ready.
    pub not_ready: Chosen,
    /// A node that is not heard of.
    pub unreachable: Chosen,
}

impl Decision {
    /// The one for a taint of this key.
    pub(super) fn of(&self, key: &str) -> &Chosen {
        if key == keys::NOT_READY { &self.not_ready } else { &self.unreachable }
    }
}

/// Whose seconds count (AD-3): the workload's, the namespace's, the policy's, the last resort's.
pub fn decide(
    workload: &Asked,
    namespace: &Asked,
    policy: Option<&Policy>,
    last: DefaultSeconds,
) -> Decision {
    let not_ready = Wishes {
        annotation: NOT_READY_SECONDS,
        wishes: [
            (Source::Workload, workload.not_ready.as_deref()),
            (Source::Namespace, namespace.not_ready.as_deref()),
        ],
        policy: policy.map(|policy| (policy, policy.not_ready)),
        last: last.not_ready,
    };
    let unreachable = Wishes {
        annotation: UNREACHABLE_SECONDS,
        wishes: [
            (Source::Workload, workload.unreachable.as_deref()),
            (Source::Namespace, namespace.unreachable.as_deref()),
        ],
        policy: policy.map(|policy| (policy, policy.unreachable)),
        last: last.unreachable,
    };
    Decision { not_ready: not_ready.chosen(), unreachable: unreachable.chosen() }
}

/// Who says what about one of the two taints.
struct Wishes<'a> {
    annotation: &'static str,
    wishes: [(Source, Option<&'a str>); 2],
    policy: Option<(&'a Policy, Option<Stay>)>,
    last: i64,
}

impl Wishes<'_> {
    fn chosen(self) -> Chosen {
        let annotation = self.annotation;
        let mut warnings = Vec::new();
        for (source, text) in self.wishes {
            let Some(text) = text else { continue };
            let whose = if source == Source::Workload { "pod" } else { "namespace" };
            let Some(wish) = Stay::parse(text) else {
                warnings.push(format!(
                    "annotation {annotation} of the {whose} is \"{}\" and was passed over: write a whole number of \
                     seconds, or forever",
                    text_of(text)
                ));
                continue;
            };
            let stay = self.policy.map_or(wish, |(policy, _)| policy.bounds.clamp(wish));
            if let Some((policy, _)) = self.policy.filter(|_| stay != wish) {
                warnings.push(format!(
                    "annotation {annotation} of the {whose} asks for {}, and the policy {} allows {} {}: that is what \
                     counts",
                    words(wish),
                    text_of(&policy.name),
                    if stay < wish { "at most" } else { "at least" },
                    words(stay)
                ));
            }
            return Chosen { stay, source, warnings };
        }
        let (stay, source) = match self.policy {
            Some((policy, Some(stay))) => (stay, Source::Policy(policy.name.clone())),
            _ => (Stay::For(self.last), Source::BuiltIn),
        };
        Chosen { stay, source, warnings }
    }
}

fn words(stay: Stay) -> String {
    match stay {
        Stay::For(seconds) => format!("{seconds} s"),
        Stay::Forever => String::from("forever"),
    }
}

impl Bounds {
    /// A wish, moved to the bound it is beyond.
    pub fn clamp(self, wish: Stay) -> Stay {
        let at_least = self.least.map_or(wish, |least| wish.max(Stay::For(least)));
        self.most.map_or(at_least, |most| at_least.min(Stay::For(most)))
    }
}

/// What is wrong with a policy; it counts nevertheless, as far as it makes sense.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyFault {
    /// In one word, for a condition.
    pub reason: &'static str,
    /// In a sentence, with the way out.
    pub message: String,
}

impl Policy {
    /// What its author should know.
    pub fn faults(&self) -> Vec<PolicyFault> {
        let mut faults = Vec::new();
        if let Some(fault) = self.namespaces.faults().first() {
            let message = format!("the selector means no namespace ({fault}): correct it");
            faults.push(PolicyFault { reason: "BadSelector", message });
        }
        if let (Some(least), Some(most)) = (self.bounds.least, self.bounds.most)
            && least > most
        {
            let message = format!(
                "the lower bound {least} s is above the upper one, {most} s, which counts: exchange them"
            );
            faults.push(PolicyFault { reason: "BoundsContradict", message });
        }
        for (of, own) in [("not ready", self.not_ready), ("unreachable", self.unreachable)] {
            if let Some(own) = own.filter(|own| self.bounds.clamp(*own) != *own) {
                let message = format!(
                    "its own {} for {of} is outside of its bounds, which hold for annotations only: a workload cannot \
                     ask for as much; move the bound if it should",
                    words(own)
                );
                faults.push(PolicyFault { reason: "OutsideOwnBounds", message });
            }
        }
        faults
    }
}

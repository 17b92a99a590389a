//! # Review: a whole request, rule by rule
//! Room:     the order of the rules, and what each of them did.
//! Comes in: a request, what is known around it, the settings.
//! Goes out: [`mutate`]: what the pod should be; [`validate`]: whether the final pod may be; the same for a node.
//! Keeps:    the order is upstream's (AD-1): default tolerations, then those of the namespace, then those for special
//!           hardware; pools last. A rule that lacks a fact does nothing and says so, with one exception: a pool that
//!           denies refuses a pod that would be let onto its nodes and of which it is not known whether it is the pool's
//!           own. Saying it twice changes nothing.
//! Not here: the rules (their own files); patches, status codes (a refusal is meant as a 403), numbers over time.

use super::brake::{Brake, Braked, Fleet, NodeChange};
use super::policy::Upstream;
use super::pool::{Exempt, Exemptions};
use super::request::{PodRequest, Surroundings};
use super::restriction::Restriction;
use crate::lint;
use crate::matching::NumericOperators;
use crate::scheduling::NodeTerm;
use crate::taint::Taint;
use crate::toleration::Toleration;
use alloc::string::String;
use alloc::vec::Vec;

mod advice;
mod giving;
mod judging;

pub use advice::{Advice, advise};

/// Which rules hold, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Default tolerations (AD-2); `None`: off.
    pub defaults: Option<Upstream>,
    /// Tolerations of namespaces (AD-8 to AD-11); `None`: off.
    pub restriction: Option<Restriction>,
    /// Tolerations for special hardware (AD-7).
    pub extended: bool,
    /// Dedicated pools; without any, it makes no difference.
    pub pools: bool,
    /// Which pods no pool has a say in.
    pub exemptions: Exemptions,
    /// What is said of odd tolerations and taints; `None`: nothing.
    pub advice: Option<Advice>,
    /// Which changes of nodes are refused; `None`: none.
    pub brake: Option<Brake>,
    /// The gate of the cluster (MATCH-6).
    pub numeric: NumericOperators,
}

impl Default for Settings {
    /// Pools only.
    fn default() -> Self {
        Self {
            defaults: None,
            restriction: None,
            extended: false,
            pools: true,
            exemptions: Exemptions::default(),
            advice: None,
            brake: None,
            numeric: NumericOperators::default(),
        }
    }
}

/// A rule, for counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// Default tolerations.
    Defaults,
    /// Tolerations of namespaces.
    Restriction,
    /// Tolerations for special hardware.
    Extended,
    /// Dedicated pools.
    Pools,
    /// What is said of odd tolerations and taints.
    Advice,
    /// NoExecute taints on too many nodes.
    Brake,
}

impl Rule {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Defaults, Self::Restriction, Self::Extended, Self::Pools, Self::Advice, Self::Brake];

    /// `default-tolerations`
    pub const fn name(self) -> &'static str {
        match self {
            Self::Defaults => "default-tolerations",
            Self::Restriction => "toleration-restriction",
            Self::Extended => "extended-resources",
            Self::Pools => "dedicated-pools",
            Self::Advice => "advice",
            Self::Brake => "brake",
        }
    }
}

/// What a rule did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Deed {
    /// So many tolerations were added.
    Added(usize),
    /// So many of upstream's default tolerations have other seconds.
    Changed(usize),
    /// So many tolerations are covered by others and went ([`super::restriction::Merging::AsUpstream`]).
    Dropped(usize),
    /// The node affinity was narrowed.
    Narrowed,
    /// The annotation [`MADE_FOR`](super::pool::MADE_FOR) was written, or taken out.
    Noted,
    /// So many warnings.
    Warned(usize),
    /// The request is refused.
    Refused,
    /// The pod is exempt.
    Exempted(Exempt),
}

/// Something that a rule did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Act {
    /// Which rule.
    pub rule: Rule,
    /// What.
    pub deed: Deed,
}

/// A fact that was not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Missing {
    /// The pod's namespace.
    Namespace,
    /// The policies.
    Policies,
    /// The pools.
    Pools,
    /// Whether the pod is one of a pool's own.
    Membership,
    /// The nodes, or how this one is.
    Nodes,
}

impl Missing {
    /// `namespace`
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespace => "namespace",
            Self::Policies => "policies",
            Self::Pools => "pools",
            Self::Membership => "membership",
            Self::Nodes => "nodes",
        }
    }
}

/// A rule that did nothing, wholly or in part, because it lacked a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unknown {
    /// Which rule.
    pub rule: Rule,
    /// What it lacked.
    pub missing: Missing,
}

/// What the mutating half says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mutation {
    /// The pod's tolerations: the whole list.
    pub tolerations: Vec<Toleration>,
    /// The terms of its required node affinity: all of them; `None` where it has none and gets none.
    pub required: Option<Vec<NodeTerm>>,
    /// What the annotation [`MADE_FOR`](super::pool::MADE_FOR) has to say, where it says something else; empty: nothing.
    pub made_for: Option<String>,
    /// What the author of the request should know.
    pub warnings: Vec<String>,
    /// What was done.
    pub acts: Vec<Act>,
    /// What was left out.
    pub unknown: Vec<Unknown>,
}

/// Why a request is refused, with 403 Forbidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// By which rule.
    pub rule: Rule,
    /// In a sentence, with the way out.
    pub message: String,
}

/// What the validating half says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ruling {
    /// Why the request is refused; `None`: it is not.
    pub denial: Option<Denial>,
    /// What the author of the request should know.
    pub warnings: Vec<String>,
    /// What was done.
    pub acts: Vec<Act>,
    /// What was left out.
    pub unknown: Vec<Unknown>,
}

/// Both halves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Review {
    /// What the pod should be.
    pub mutation: Mutation,
    /// Whether that may be.
    pub ruling: Ruling,
}

/// What the pod should be.
pub fn mutate(request: &PodRequest, around: &Surroundings<'_>, settings: &Settings) -> Mutation {
    giving::mutate(request, around, settings)
}

/// Whether the final pod may be.
pub fn validate(request: &PodRequest, around: &Surroundings<'_>, settings: &Settings) -> Ruling {
    judging::validate(request, around, settings)
}

/// One after the other, where both are done in one place.
pub fn review(mut request: PodRequest, around: &Surroundings<'_>, settings: &Settings) -> Review {
    let mutation = mutate(&request, around, settings);
    request.pod.tolerations.clone_from(&mutation.tolerations);
    request.pod.required.clone_from(&mutation.required);
    if let Some(made_for) = &mutation.made_for {
        request.pod.identity.made_for = made_for.as_str().into();
    }
    let ruling = validate(&request, around, settings);
    Review { mutation, ruling }
}

/// Whether a change of a node may be. `dedicated` are the taints of all pools that stand, `fleet` the cluster before
/// the change, without what other requests have just been allowed ([`Fleet::underway`]).
pub fn change_of_node(
    change: &NodeChange<'_>,
    dedicated: &[Taint],
    fleet: Option<Fleet>,
    settings: &Settings,
) -> Ruling {
    let mut ruling = Ruling::default();
    if let Some(brake) = &settings.brake {
        match brake.judge(change, dedicated, fleet) {
            Braked::Allowed(super::brake::Pass::Unknown) => {
                ruling.unknown.push(Unknown { rule: Rule::Brake, missing: Missing::Nodes });
            }
            Braked::Allowed(_) => {}
            Braked::Refused(message) => ruling.refuse(Rule::Brake, message),
        }
    }
    if let Some(advice) = settings.advice.as_ref().filter(|_| change.old != Some(change.new)) {
        let node =
            lint::Node { name: change.name.into(), taints: change.new.to_vec(), ..lint::Node::default() };
        let facts = lint::Facts { nodes: [node].into(), numeric: settings.numeric, ..lint::Facts::default() };
        ruling.warn(Rule::Advice, advise(&facts, advice));
    }
    ruling
}

impl Ruling {
    /// The first to refuse gives the reason.
    fn refuse(&mut self, rule: Rule, message: String) {
        self.acts.push(Act { rule, deed: Deed::Refused });
        self.denial.get_or_insert(Denial { rule, message });
    }

    fn warn(&mut self, rule: Rule, warnings: Vec<String>) {
        if !warnings.is_empty() {
            self.acts.push(Act { rule, deed: Deed::Warned(warnings.len()) });
            self.warnings.extend(warnings);
        }
    }
}

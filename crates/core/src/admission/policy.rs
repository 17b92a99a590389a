//! Chooses the seconds of the default not-ready and unreachable tolerations of a pod (AD-2 to AD-4).
//!
//! - Invariant: a toleration that the author wrote is never changed; the result is the same whether upstream's
//!   DefaultTolerationSeconds plugin runs before, after or not at all.
//! - See `policy/resolve_seconds.rs` for the order of precedence and the bounds, [`default_tolerations`] for which
//!   toleration makes a default unnecessary.

use super::{DefaultSeconds, LabelSelector, default_tolerations};
use crate::scheduling::Labels;
use crate::taint::keys;
use crate::toleration::{Toleration, TolerationOperator};
use crate::toleration_matching::canonical_integer;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;
use core::ops::Range;

mod resolve_seconds;

pub use resolve_seconds::{InvalidPolicy, ResolvedSeconds, SecondsDecision, SecondsSource, decide};

/// The annotation, on a pod or a namespace, for a node that is not ready.
pub const NOT_READY_SECONDS: &str = "taintward.io/not-ready-seconds";

/// The annotation, on a pod or a namespace, for a node that is unreachable.
pub const UNREACHABLE_SECONDS: &str = "taintward.io/unreachable-seconds";

/// For how long a pod stays. `Forever` is longer than any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TolerationDuration {
    /// This many seconds; with zero or fewer the pod does not stay at all.
    For(i64),
    /// A toleration without seconds.
    Forever,
}

impl TolerationDuration {
    /// Reads `60` or `forever`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "forever" => Some(Self::Forever),
            number => canonical_integer(number).map(Self::For),
        }
    }

    /// Returns the value of `tolerationSeconds`.
    pub const fn seconds(self) -> Option<i64> {
        match self {
            Self::For(seconds) => Some(seconds),
            Self::Forever => None,
        }
    }
}

/// The durations of the two default tolerations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DefaultDurations {
    /// A node that is not ready.
    pub not_ready: TolerationDuration,
    /// A node that is unreachable.
    pub unreachable: TolerationDuration,
}

impl From<DefaultSeconds> for DefaultDurations {
    fn from(DefaultSeconds { not_ready, unreachable }: DefaultSeconds) -> Self {
        Self {
            not_ready: TolerationDuration::For(not_ready),
            unreachable: TolerationDuration::For(unreachable),
        }
    }
}

impl Default for DefaultDurations {
    fn default() -> Self {
        DefaultSeconds::default().into()
    }
}

impl DefaultDurations {
    /// Returns the duration for a taint of this key.
    pub fn of(self, key: &str) -> TolerationDuration {
        if key == keys::NOT_READY { self.not_ready } else { self.unreachable }
    }
}

/// The values of the two annotations, as written; `None` without the annotation.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RequestedSeconds {
    /// The value of [`NOT_READY_SECONDS`].
    pub not_ready: Option<Box<str>>,
    /// The value of [`UNREACHABLE_SECONDS`].
    pub unreachable: Option<Box<str>>,
}

/// What workloads and namespaces may request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SecondsBounds {
    /// The minimum number of seconds.
    pub least: Option<i64>,
    /// The maximum number of seconds; it excludes `forever`.
    pub most: Option<i64>,
}

/// A `TolerationPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TolerationPolicy {
    /// `metadata.name`.
    pub name: Box<str>,
    /// Of several policies for one namespace, the one with the highest priority applies.
    pub priority: i32,
    /// The namespaces; an empty selector selects all.
    pub namespaces: LabelSelector,
    /// For a node that is not ready.
    pub not_ready: Option<TolerationDuration>,
    /// For a node that is unreachable.
    pub unreachable: Option<TolerationDuration>,
    /// What may be requested.
    pub bounds: SecondsBounds,
}

/// The policy of a namespace with these labels.
pub fn policy_for<'p>(policies: &'p [TolerationPolicy], labels: &Labels) -> Option<&'p TolerationPolicy> {
    let meant = policies.iter().filter(|policy| policy.namespaces.selects(labels));
    meant.min_by_key(|policy| (Reverse(policy.priority), &policy.name))
}

/// What is known about upstream's plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultTolerationSeconds {
    /// The seconds of the API server's two flags; also the default here, when no other source gives any.
    pub seconds: DefaultSeconds,
    /// The plugin is on, or may be. If it is known to be off, no toleration is attributed to it.
    pub may_run: bool,
}

impl Default for DefaultTolerationSeconds {
    fn default() -> Self {
        Self { seconds: DefaultSeconds::default(), may_run: true }
    }
}

/// Tolerations with their defaults.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultedTolerations {
    /// The whole list.
    pub tolerations: Vec<Toleration>,
    /// How many were appended.
    pub added: usize,
    /// How many of upstream's tolerations got other seconds.
    pub changed: usize,
    /// What the author of the request should know.
    pub warnings: Vec<String>,
}

/// Returns a pod's tolerations with the default ones (AD-2, AD-3, AD-4). `old` are those it had before an update;
/// `behind` are those that upstream's other plugins append.
///
/// **Which policy.** Of the policies whose selector matches the namespace, the one with the highest `priority` counts;
/// of several with the same priority, the first by name. No other policy fills in what it leaves out.
///
/// **Which tolerations are defaults.** Upstream's plugin runs before webhooks, so its tolerations are usually in the
/// list already. The list is completed as the plugin would complete it. Those at its end are taken for defaults if they
/// are exactly what the plugin would have appended to the rest: same fields, same seconds, same order. What upstream's
/// other plugins append after them (AD-1) is skipped, unless the defaults of the namespace (AD-8) are for the same two
/// taints: then the list stays as upstream has merged it. On update, only tolerations that the pod did not have before
/// can be defaults. Defaults get the seconds that are decided here.
///
/// An author's tolerations that are exactly the same and are at the end of the list cannot be distinguished from the
/// plugin's. To keep 300 s, set the annotation on the pod template, or write the toleration before another one.
pub fn with_defaults(
    existing: &[Toleration],
    old: Option<&[Toleration]>,
    behind: &[Toleration],
    upstream: DefaultTolerationSeconds,
    decision: &SecondsDecision,
) -> DefaultedTolerations {
    let missing = default_tolerations(existing, upstream.seconds);
    let added = missing.len();
    let mut tolerations = existing.to_vec();
    tolerations.extend(missing);
    let ours = existing.len()..tolerations.len();
    let theirs =
        if upstream.may_run { injected(&tolerations, old, behind, upstream.seconds) } else { ours.clone() };
    let (mut changed, mut warnings) = (0, Vec::new());
    for (at, toleration) in tolerations.iter_mut().enumerate() {
        let is_new = ours.contains(&at);
        if !is_new && !theirs.contains(&at) {
            continue;
        }
        let chosen = decision.of(&toleration.key);
        let differs = toleration.seconds != chosen.stay.seconds();
        toleration.seconds = chosen.stay.seconds();
        changed += usize::from(differs && !is_new);
        if differs || is_new {
            warnings.extend(chosen.warnings.iter().cloned());
        }
    }
    DefaultedTolerations { tolerations, added, changed, warnings }
}

/// Returns the positions of upstream's own defaults in a list that contains all of them.
fn injected(
    tolerations: &[Toleration],
    old: Option<&[Toleration]>,
    behind: &[Toleration],
    seconds: DefaultSeconds,
) -> Range<usize> {
    let behind: BTreeSet<&Toleration> = behind.iter().collect();
    let had: BTreeSet<&Toleration> = old.unwrap_or_default().iter().collect();
    let is_new = |one: &Toleration| has_seconds(one, seconds.into()) && !had.contains(one);
    default_positions(tolerations, |one| behind.contains(one), is_new)
}

/// Returns the positions of default tolerations: the last two of the list, or the last one, as [`default_tolerations`]
/// would append them to the rest, if `is_default` holds for each. Tolerations of `behind` after them are skipped.
pub(crate) fn default_positions(
    tolerations: &[Toleration],
    behind: impl Fn(&Toleration) -> bool,
    is_default: impl Fn(&Toleration) -> bool,
) -> Range<usize> {
    let is_default_key = |one: &Toleration| [keys::NOT_READY, keys::UNREACHABLE].contains(&&*one.key);
    let ignored = |one: &Toleration| behind(one) && !is_default_key(one);
    let end = tolerations.iter().rposition(|one| !ignored(one)).map_or(0, |last| last + 1);
    for length in [2, 1] {
        let Some(start) = end.checked_sub(length) else { continue };
        let tail = &tolerations[start..end];
        if !tail.iter().all(&is_default) {
            continue;
        }
        let mut rest = tolerations[..start].to_vec();
        rest.extend_from_slice(&tolerations[end..]);
        let missing = default_tolerations(&rest, DefaultSeconds::default());
        if missing.len() == tail.len() && missing.iter().zip(tail).all(|(one, other)| one.is_same(other)) {
            return start..end;
        }
    }
    end..end
}

/// Whether the toleration is for one of the two taints and has the seconds of the default for it.
pub(crate) fn has_seconds(one: &Toleration, seconds: DefaultDurations) -> bool {
    let wanted = match &*one.key {
        keys::NOT_READY => seconds.not_ready,
        keys::UNREACHABLE => seconds.unreachable,
        _ => return false,
    };
    one.operator == TolerationOperator::Exists && one.seconds == wanted.seconds()
}

//! Assigns nodes to failure zones (NL-24) and computes the state of a zone (NL-25) and its taint rate (NL-26).

use super::config::{Fraction, NodeLifecycleConfig};
use super::token_bucket::{TaintRate, TokenBucket};
use crate::identity::NodeName;
use crate::time::Mono;
use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use core::fmt;

/// Between region and zone in a key.
const BETWEEN: &str = ":\0:";

/// The labels that say where a node stands; `None`: there is no such label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneLabels<'a> {
    /// `failure-domain.beta.kubernetes.io/region`.
    pub beta_region: Option<&'a str>,
    /// `failure-domain.beta.kubernetes.io/zone`.
    pub beta_zone: Option<&'a str>,
    /// `topology.kubernetes.io/region`.
    pub region: Option<&'a str>,
    /// `topology.kubernetes.io/zone`.
    pub zone: Option<&'a str>,
}

/// Which zone a node is in (NL-24); shared by its nodes.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ZoneKey(Arc<str>);

impl ZoneKey {
    /// Region and zone, of which the old labels win; empty if a node has neither.
    pub fn of(labels: ZoneLabels<'_>) -> Self {
        let region = labels.beta_region.or(labels.region).unwrap_or_default();
        let zone = labels.beta_zone.or(labels.zone).unwrap_or_default();
        if region.is_empty() && zone.is_empty() {
            return Self("".into());
        }
        let mut key = String::with_capacity(region.len() + BETWEEN.len() + zone.len());
        key.push_str(region);
        key.push_str(BETWEEN);
        key.push_str(zone);
        Self(key.into())
    }

    /// The key as metrics carry it, with the NUL in it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Region and zone.
    pub fn parts(&self) -> (&str, &str) {
        self.0.split_once(BETWEEN).unwrap_or_default()
    }
}

/// `region/zone` for people.
impl fmt::Display for ZoneKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.parts() {
            ("", "") => f.write_str("(no zone)"),
            ("", zone) => f.write_str(zone),
            (region, "") => f.write_str(region),
            (region, zone) => write!(f, "{region}/{zone}"),
        }
    }
}

impl fmt::Debug for ZoneKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "zone/{self}")
    }
}

/// How a zone is (NL-25).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ZoneState {
    /// Well enough.
    #[default]
    Normal,
    /// More than two nodes, and at least the threshold's share of all, are not ready.
    PartialDisruption,
    /// Some node is not ready, and none is.
    FullDisruption,
}

impl ZoneState {
    /// The state of a zone with so many nodes that are ready and that are not.
    pub fn of(ready: u32, not_ready: u32, threshold: Fraction) -> Self {
        let all = u64::from(ready) + u64::from(not_ready);
        match (ready, not_ready) {
            (0, 1..) => Self::FullDisruption,
            (_, 3..) if threshold.is_reached(u64::from(not_ready), all) => Self::PartialDisruption,
            _ => Self::Normal,
        }
    }

    /// How fast nodes of a zone in this state and of this size may get NoExecute taints (NL-26). A single zone that
    /// is down altogether keeps the ordinary rate.
    pub fn rate(self, size: u32, config: &NodeLifecycleConfig) -> TaintRate {
        match self {
            Self::Normal | Self::FullDisruption => config.rate,
            Self::PartialDisruption if size > config.large_zone => config.secondary_rate,
            Self::PartialDisruption => TaintRate::ZERO,
        }
    }
}

/// How a node counts in its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum ZoneMembership {
    /// Not at all (NL-25).
    Excluded,
    /// Ready by its condition, and heard of.
    Ready,
    /// Ready by its condition, and overdue: its grace period is nearly over.
    Overdue,
    /// Ready by its condition, but silent for longer than the grace period; nobody has declared it so yet.
    Suspect,
    /// The same, and an observer was told that it would be declared so: for rates it is.
    WouldBeTainted,
    /// Not ready by its condition, or without one.
    NotReady,
}

/// A zone that has nodes, excluded ones among them: it and its bucket stay as long as it has any (NL-42), and no longer
/// (NL-43).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Zone {
    counts: [u32; 6],
    pub(super) bucket: TokenBucket,
    /// Nodes that wait for a NoExecute taint because they are silent; by since when.
    pub(super) silent: BTreeSet<(Mono, NodeName)>,
    /// Those that wait because they say themselves that they are not ready.
    pub(super) unready: BTreeSet<(Mono, NodeName)>,
    /// The one whose turn it is: its confirming read or its write is under way.
    pub(super) busy: Option<NodeName>,
    /// NoExecute taints put on since the start (NL-29).
    pub(super) evictions: u64,
}

impl Zone {
    pub(super) fn new(rate: TaintRate, now: Mono) -> Self {
        Self {
            counts: [0; 6],
            bucket: TokenBucket::empty(rate, now),
            silent: BTreeSet::new(),
            unready: BTreeSet::new(),
            busy: None,
            evictions: 0,
        }
    }

    pub(super) fn count(&mut self, tally: ZoneMembership, more: bool) {
        let number = &mut self.counts[tally as usize];
        *number = if more { *number + 1 } else { *number - 1 };
    }

    pub(super) const fn counted(&self, tally: ZoneMembership) -> u32 {
        self.counts[tally as usize]
    }

    pub(super) fn is_vacant(&self) -> bool {
        self.counts == [0; 6]
    }

    /// The nodes that count (NL-25).
    pub(super) const fn size(&self) -> u32 {
        self.unsuspected() + self.suspected() + self.counted(ZoneMembership::NotReady)
    }

    /// Those whose conditions say that they are ready, and whose grace period is not over.
    const fn unsuspected(&self) -> u32 {
        self.counted(ZoneMembership::Ready) + self.counted(ZoneMembership::Overdue)
    }

    /// Those who are silent, and whose conditions say that they are ready.
    pub(super) const fn suspected(&self) -> u32 {
        self.counted(ZoneMembership::Suspect) + self.counted(ZoneMembership::WouldBeTainted)
    }

    /// By what the conditions say: what taints are taken off by.
    pub(super) fn declared_state(&self, config: &NodeLifecycleConfig) -> ZoneState {
        let ready = self.unsuspected() + self.suspected();
        ZoneState::of(ready, self.counted(ZoneMembership::NotReady), config.threshold)
    }

    /// By what is to be feared, before anybody has written it: what taints are held back by (NL-47). Who is suspected, or
    /// overdue, may be down or not, and fear only ever slows: a zone of which some are certainly down, and the others are suspected, is
    /// not yet one that is down altogether and goes on at the ordinary rate.
    pub(super) fn worst_case_state(&self, config: &NodeLifecycleConfig) -> ZoneState {
        let least = self.counted(ZoneMembership::NotReady) + self.counted(ZoneMembership::WouldBeTainted);
        let most = self.size() - self.counted(ZoneMembership::Ready);
        let state = |down: u32| ZoneState::of(self.size() - down, down, config.threshold);
        // As many as may be down, short of all unless all certainly are: if that is not slow, no other number is.
        let worst = most.min(self.size().saturating_sub(1)).max(least);
        match state(worst) {
            ZoneState::PartialDisruption => ZoneState::PartialDisruption,
            _ => state(most),
        }
    }

    /// Nobody who counts is known to be well.
    pub(super) const fn may_be_fully_down(&self) -> bool {
        self.size() > 0 && self.counted(ZoneMembership::Ready) == 0
    }

    pub(super) fn is_waited_for(&self) -> bool {
        !self.silent.is_empty() || !self.unready.is_empty()
    }
}

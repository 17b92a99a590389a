//! Counts the nodes of each zone, and keeps the state of zones (NL-25, NL-27) and the tokens for their NoExecute taints.
//!
//! - Invariant: counted with each fact, so that a state is known before a node can be tainted (NL-47), in an order
//!   that no zone can influence (NL-43).

use super::config::NodeLifecycleConfig;
use super::explanation::DelayReason;
use super::zone::{TaintRate, ZoneKey, ZoneReport, ZoneState};
use crate::identity::NodeName;
use crate::time::{Mono, Span};
use alloc::collections::BTreeMap;

/// How a node counts in its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum ZoneMembership {
    /// Not at all (NL-25).
    Excluded,
    /// Ready by its condition, and not overdue.
    Ready,
    /// Ready by its condition, and overdue: its grace period is nearly over.
    Overdue,
    /// Ready by its condition, but silent for longer than the grace period; not declared yet.
    Suspect,
    /// The same, and an observer reported that it would be declared silent: for rates it counts as declared.
    WouldBeTainted,
    /// Not ready by its condition, or without one.
    NotReady,
}

/// The result of a node's turn in its zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TurnResult {
    /// The node got its NoExecute taint.
    Tainted,
    /// Its token was certainly not used.
    TokenUnused,
    /// Neither is certain, or there was no token yet.
    Open,
}

/// All zones that have nodes, including excluded ones: a zone and its token stay as long as it has any (NL-42), and no
/// longer (NL-43).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Zones {
    zones: BTreeMap<ZoneKey, Zone>,
    /// Zones with a node that counts.
    counted: usize,
    /// Of these, those fully disrupted according to conditions.
    declared_full: usize,
    /// Of these, those without a certainly healthy node.
    maybe_full: usize,
}

impl Zones {
    /// Counts a node as `after` and no longer as `before`. Returns which zones, of those that still have nodes, changed
    /// their state.
    pub(crate) fn move_node(
        &mut self,
        before: Option<(ZoneKey, ZoneMembership)>,
        after: Option<(ZoneKey, ZoneMembership)>,
        config: &NodeLifecycleConfig,
        now: Mono,
    ) -> [Option<(ZoneKey, ZoneState, ZoneState)>; 2] {
        let changes = match (before, after) {
            (Some((from, before)), Some((to, after))) if from == to => {
                [Some((to, Some(before), Some(after))), None]
            }
            (before, after) => [
                after.map(|(zone, after)| (zone, None, Some(after))),
                before.map(|(zone, before)| (zone, Some(before), None)),
            ],
        };
        changes.map(|change| {
            let (zone, before, after) = change?;
            let (from, to) = self.recount(&zone, before, after, config, now)?;
            Some((zone, from, to))
        })
    }

    fn recount(
        &mut self,
        key: &ZoneKey,
        before: Option<ZoneMembership>,
        after: Option<ZoneMembership>,
        config: &NodeLifecycleConfig,
        now: Mono,
    ) -> Option<(ZoneState, ZoneState)> {
        let zone = self.zones.entry(key.clone()).or_insert_with(|| Zone::new(config, now));
        let (was_counted, from) = (zone.disruption(config), zone.worst_case_state(config));
        before.into_iter().for_each(|membership| zone.counts[membership as usize] -= 1);
        after.into_iter().for_each(|membership| zone.counts[membership as usize] += 1);
        let (is_counted, to) = (zone.disruption(config), zone.worst_case_state(config));
        zone.bucket.set_rate(config.taint_rate(to, zone.size()), now);
        let numbers = [&mut self.counted, &mut self.declared_full, &mut self.maybe_full];
        for (number, (was, is)) in numbers.into_iter().zip(was_counted.into_iter().zip(is_counted)) {
            *number = *number + usize::from(is) - usize::from(was);
        }
        if zone.is_vacant() {
            self.zones.remove(key);
            return None;
        }
        (from != to).then_some((from, to))
    }

    /// The copy of a key that the zone's nodes share.
    pub(crate) fn shared_key(&self, key: &ZoneKey) -> Option<&ZoneKey> {
        self.zones.get_key_value(key).map(|(shared, _)| shared)
    }

    /// Whether there are no nodes.
    pub(crate) fn is_empty(&self) -> bool {
        self.zones.is_empty()
    }

    /// Whether all zones are fully disrupted according to conditions (NL-27).
    pub(crate) const fn are_all_down(&self) -> bool {
        self.counted > 0 && self.declared_full == self.counted
    }

    /// Whether no certainly healthy node is left: no NoExecute taint is added, declared or not.
    pub(crate) const fn may_all_be_down(&self) -> bool {
        self.counted > 0 && self.maybe_full == self.counted
    }

    /// Whether a turn that ends in a taint can begin in this zone.
    pub(crate) fn has_free_token(&self, key: &ZoneKey, now: Mono) -> bool {
        self.zones.get(key).is_some_and(|zone| zone.busy.is_none() && zone.bucket.has_token(now))
    }

    /// When the next token becomes available, in a zone where a turn could begin.
    pub(crate) fn next_token_at(&self, key: &ZoneKey, now: Mono) -> Option<Mono> {
        self.zones.get(key).filter(|zone| zone.busy.is_none())?.bucket.token_at(now)
    }

    /// It is this node's turn: its confirming read or its write is in flight.
    pub(crate) fn begin_turn(&mut self, key: &ZoneKey, node: &NodeName) {
        if let Some(zone) = self.zones.get_mut(key) {
            zone.busy = Some(node.clone());
        }
    }

    /// Takes the zone's token, which must be available.
    pub(crate) fn take_token(&mut self, key: &ZoneKey, now: Mono) {
        if let Some(zone) = self.zones.get_mut(key) {
            zone.bucket.take(now);
        }
    }

    /// Ends the node's turn.
    pub(crate) fn end_turn(&mut self, key: &ZoneKey, node: &NodeName, result: TurnResult, now: Mono) {
        let Some(zone) = self.zones.get_mut(key) else { return };
        zone.busy.take_if(|busy| busy == node);
        match result {
            TurnResult::Tainted => zone.taints += 1,
            TurnResult::TokenUnused => zone.bucket.give_back(now),
            TurnResult::Open => {}
        }
    }

    /// Empties all buckets.
    pub(crate) fn drain_tokens(&mut self, now: Mono) {
        self.zones.values_mut().for_each(|zone| zone.bucket.drain(now));
    }

    /// The zones for users and metrics (NL-29); `waiting` returns how many nodes wait in a zone.
    pub(crate) fn reports(
        &self,
        config: &NodeLifecycleConfig,
        waiting: impl Fn(&ZoneKey) -> usize,
    ) -> impl Iterator<Item = ZoneReport<'_>> {
        let stopped = self.may_all_be_down();
        self.zones.iter().map(move |(key, zone)| ZoneReport {
            zone: key,
            size: zone.size(),
            unhealthy: zone.counted(ZoneMembership::NotReady),
            suspects: zone.suspected(),
            excluded: zone.counted(ZoneMembership::Excluded),
            state: zone.worst_case_state(config),
            rate: if stopped { TaintRate::ZERO } else { zone.bucket.rate },
            waiting: waiting(key),
            evictions: zone.taints,
        })
    }

    /// Why no turn can begin in this zone now, whichever node waits.
    pub(crate) fn delay(&self, key: &ZoneKey, now: Mono) -> Option<DelayReason> {
        let zone = self.zones.get(key)?;
        if self.may_all_be_down() {
            return Some(DelayReason::EverythingDown);
        }
        if zone.bucket.rate == TaintRate::ZERO {
            return Some(DelayReason::ZoneStopped);
        }
        let next = zone.bucket.token_at(now).map(DelayReason::Rate);
        next.or(zone.busy.is_some().then_some(DelayReason::OtherNodeFirst))
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Zone {
    counts: [u32; 6],
    bucket: TokenBucket,
    /// The node whose turn it is.
    busy: Option<NodeName>,
    /// NoExecute taints added since the start (NL-29).
    taints: u64,
}

impl Zone {
    fn new(config: &NodeLifecycleConfig, now: Mono) -> Self {
        let rate = config.taint_rate(ZoneState::Normal, 0);
        Self { counts: [0; 6], bucket: TokenBucket::empty(rate, now), busy: None, taints: 0 }
    }

    const fn counted(&self, membership: ZoneMembership) -> u32 {
        self.counts[membership as usize]
    }

    fn is_vacant(&self) -> bool {
        self.counts == [0; 6]
    }

    /// The nodes that count (NL-25).
    const fn size(&self) -> u32 {
        self.unsuspected() + self.suspected() + self.counted(ZoneMembership::NotReady)
    }

    /// Nodes whose conditions are ready, and whose grace period is not over.
    const fn unsuspected(&self) -> u32 {
        self.counted(ZoneMembership::Ready) + self.counted(ZoneMembership::Overdue)
    }

    /// Silent nodes whose conditions are ready.
    const fn suspected(&self) -> u32 {
        self.counted(ZoneMembership::Suspect) + self.counted(ZoneMembership::WouldBeTainted)
    }

    /// Whether it counts, is declared fully disrupted, and may be so.
    fn disruption(&self, config: &NodeLifecycleConfig) -> [bool; 3] {
        let counts = self.size() > 0;
        let declared_full = counts && self.declared_state(config) == ZoneState::FullDisruption;
        [counts, declared_full, counts && self.counted(ZoneMembership::Ready) == 0]
    }

    /// The state according to the conditions: taints are removed by it.
    fn declared_state(&self, config: &NodeLifecycleConfig) -> ZoneState {
        config.zone_state(self.unsuspected() + self.suspected(), self.counted(ZoneMembership::NotReady))
    }

    /// The worst state that may hold before it is declared: taints are delayed by it (NL-47). A node that is suspected,
    /// or overdue, may be down or not, and the doubt only ever slows: a zone where some nodes are certainly down, and
    /// the others are suspected, does not yet count as fully disrupted, which would give it the ordinary rate again.
    fn worst_case_state(&self, config: &NodeLifecycleConfig) -> ZoneState {
        let least = self.counted(ZoneMembership::NotReady) + self.counted(ZoneMembership::WouldBeTainted);
        let most = self.size() - self.counted(ZoneMembership::Ready);
        let state = |down: u32| config.zone_state(self.size() - down, down);
        // As many as may be down, but not all unless all certainly are: if that number does not slow the zone, no other
        // does.
        let worst = most.min(self.size().saturating_sub(1)).max(least);
        match state(worst) {
            ZoneState::PartialDisruption => ZoneState::PartialDisruption,
            _ => state(most),
        }
    }
}

/// One token, in the unit of the level: what a rate of one millionth per second adds in a microsecond.
const TOKEN: u64 = 1_000_000_000_000;

/// A bucket of at most one token (NL-22, NL-23). It starts empty, also after a change of leader (S6, P36); no fraction
/// of a token is lost or invented.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct TokenBucket {
    rate: TaintRate,
    /// The level at the moment `at`.
    level: u64,
    at: Mono,
}

impl TokenBucket {
    const fn empty(rate: TaintRate, at: Mono) -> Self {
        Self { rate, level: 0, at }
    }

    fn level(&self, now: Mono) -> u64 {
        let gained =
            u128::from(self.rate.as_millionths()) * now.since(self.at).as_micros().unsigned_abs() as u128;
        (u128::from(self.level) + gained).min(u128::from(TOKEN)) as u64
    }

    /// Changes the rate from now on. The level stays, and a rate of exactly 1 is a rate like any other (NL-41).
    fn set_rate(&mut self, rate: TaintRate, now: Mono) {
        if rate != self.rate {
            *self = Self { rate, level: self.level(now), at: now };
        }
    }

    fn drain(&mut self, now: Mono) {
        *self = Self::empty(self.rate, now);
    }

    /// Whether a token is available; never at rate zero, whatever the level.
    fn has_token(&self, now: Mono) -> bool {
        self.rate > TaintRate::ZERO && self.level(now) == TOKEN
    }

    fn take(&mut self, now: Mono) {
        assert!(self.has_token(now), "S6: a token is taken that is not available");
        *self = Self::empty(self.rate, now);
    }

    /// Returns a token that was certainly not used.
    fn give_back(&mut self, now: Mono) {
        *self = Self { rate: self.rate, level: TOKEN, at: now };
    }

    /// When the next token becomes available; `None`: never at this rate.
    fn token_at(&self, now: Mono) -> Option<Mono> {
        let missing = TOKEN - self.level(now);
        if self.rate == TaintRate::ZERO || missing == 0 {
            return None;
        }
        let micros = missing.div_ceil(self.rate.as_millionths());
        Some(now.plus(Span::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))))
    }
}

#[cfg(test)]
mod tests;

//! Counts nodes per zone and computes the state of zones (NL-25, NL-26), full disruption (NL-27) and countdown holds
//! (NL-48).
//!
//! - Invariant: counted with each fact, so that the mode is known before a node can be tainted (NL-47), in an order
//!   that no zone can influence (NL-43).

use super::config::NodeLifecycleConfig;
use super::zone::{Zone, ZoneKey, ZoneMembership, ZoneState};
use super::{NodeLifecycleEngine, NodeLifecycleNotice};
use crate::engine::Engine;
use crate::identity::NodeName;
use crate::time::{Mono, Span};

/// All zones together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct DisruptionModes {
    /// Zones with a node that counts.
    counted: usize,
    /// Of these, fully disrupted by what conditions say.
    declared_full: usize,
    /// Of these, fully disrupted by what is to be feared.
    feared_full: usize,
    /// Master disruption mode: NoExecute taints go, none are put on (NL-27).
    pub(super) all_down: bool,
    /// Countdowns are to be held (NL-48).
    pub(super) holding: bool,
}

impl DisruptionModes {
    fn count(&mut self, zone: &Zone, config: &NodeLifecycleConfig, more: bool) {
        let declared_full = zone.size() > 0 && zone.declared_state(config) == ZoneState::FullDisruption;
        let numbers = [
            (&mut self.counted, usize::from(zone.size() > 0)),
            (&mut self.declared_full, usize::from(declared_full)),
            (&mut self.feared_full, usize::from(zone.may_be_fully_down())),
        ];
        for (number, change) in numbers {
            *number = if more { *number + change } else { *number - change };
        }
    }

    const fn declared_all(&self) -> bool {
        self.counted > 0 && self.declared_full == self.counted
    }

    /// Nobody is left who is known to be well: no NoExecute taint is put on, whether or not that has been written yet.
    pub(super) const fn feared_all(&self) -> bool {
        self.counted > 0 && self.feared_full == self.counted
    }
}

impl NodeLifecycleEngine {
    /// How a node counts, and where; `None`: not any more.
    pub(super) fn set_tally(&mut self, name: &NodeName, tally: Option<(ZoneKey, ZoneMembership)>, now: Mono) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        if entry.tally == tally {
            return;
        }
        let before = core::mem::replace(&mut entry.tally, tally.clone());
        if before.is_some() {
            // What it waits for in the old zone's queue, it does not wait for there any more (NL-43).
            self.unplace(name);
        }
        match (before, tally) {
            (Some((from, before)), Some((to, after))) if from == to => {
                self.recount(from, Some(before), Some(after), now);
            }
            (before, after) => {
                if let Some((zone, tally)) = after {
                    self.recount(zone, None, Some(tally), now);
                }
                if let Some((zone, tally)) = before {
                    self.recount(zone, Some(tally), None, now);
                }
            }
        }
    }

    fn recount(
        &mut self,
        key: ZoneKey,
        before: Option<ZoneMembership>,
        after: Option<ZoneMembership>,
        now: Mono,
    ) {
        let config = &self.config;
        let zone = self.zones.entry(key.clone()).or_insert_with(|| Zone::new(config.rate, now));
        self.modes.count(zone, config, false);
        let from = zone.worst_case_state(config);
        before.into_iter().for_each(|tally| zone.count(tally, false));
        after.into_iter().for_each(|tally| zone.count(tally, true));
        let to = zone.worst_case_state(config);
        zone.bucket.set_rate(to.rate(zone.size(), config), now);
        self.modes.count(zone, config, true);
        if zone.is_vacant() {
            self.zones.remove(&key);
            self.waiting.remove(&key);
        } else if from != to && self.observation.is_synced() {
            self.notices.push(NodeLifecycleNotice::ZoneChanged { zone: key, from, to });
        }
    }

    /// Whether the mode is no longer what it was decided to be: at once then. What is told at one moment is taken in
    /// whole before that, so that the order does not matter (NL-43).
    pub(super) fn survey_at(&self) -> Option<Mono> {
        let now = self.observation.called()?;
        let all_down = self.modes.declared_all();
        let holding = self.is_to_hold(all_down, now);
        let is_due = self.is_synced() && (all_down, holding) != (self.modes.all_down, self.modes.holding);
        is_due.then_some(now)
    }

    /// Decides the mode by all that was taken in, before anything can be pulled (NL-47).
    pub(super) fn survey(&mut self, now: Mono) {
        if !self.is_synced() {
            return;
        }
        let all_down = self.modes.declared_all();
        if all_down != self.modes.all_down {
            self.modes.all_down = all_down;
            self.notices.push(NodeLifecycleNotice::EverythingDown(all_down));
            if !all_down {
                // Leaving: everybody gets a whole grace period (NL-27).
                self.observation.begin_afresh(now);
            }
            self.reassess_all(now);
        }
        let holding = self.is_to_hold(all_down, now);
        if holding != self.modes.holding {
            self.modes.holding = holding;
            self.notices.push(NodeLifecycleNotice::HoldCountdowns(holding));
        }
    }

    /// No node at all was heard of for so long: that is not one node's silence.
    pub(super) fn is_hushed(&self, span: Span, now: Mono) -> bool {
        !self.zones.is_empty() && self.observation.is_hushed(span, now)
    }

    fn is_to_hold(&self, all_down: bool, now: Mono) -> bool {
        self.config.hold_countdowns && (all_down || self.is_hushed(self.config.hold_after(), now))
    }

    /// When the last sign of life of any node will be so old that countdowns are held.
    pub(super) fn hush_at(&self) -> Option<Mono> {
        let at = self.observation.last_renewal?.plus(self.config.hold_after()).plus(Span::from_micros(1));
        self.observation.called().filter(|called| at > *called).map(|_| at)
    }

    /// Notes the call: whoever stood still before it does not know who spoke meanwhile (S7).
    pub(super) fn enter(&mut self, now: Mono) {
        self.period_at.get_or_insert(now.plus(self.config.monitor_period));
        if self.observation.call(now, &self.config) {
            self.observed_afresh(now);
        }
    }

    pub(super) fn observed_afresh(&mut self, now: Mono) {
        if self.is_synced() {
            self.notices.push(NodeLifecycleNotice::ObservedAfresh);
        }
        self.reassess_all(now);
    }
}

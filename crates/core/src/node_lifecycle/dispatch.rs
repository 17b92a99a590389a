//! Decides the next request when the control loop pulls an effect: removals, repairs, silent nodes, then one node per
//! zone at its rate, then pods.
//!
//! - Invariant: no node is declared silent or tainted NoExecute without a fresh live read, our own observation and a
//!   successful request of our own (S7), nor faster than the rate of its zone (S6).
//! - See `responses.rs` for the handling of responses.

use super::cache::{InFlightWrite, NodeHealthEntry, QueuePosition};
use super::desired_taints;
use super::managed_taints::{ManagedTaint, ManagedTaints};
use super::zone::{Zone, ZoneKey};
use super::{NodeLifecycleEffect, NodeLifecycleEngine, NodeRef, ObservationDoubt, TaintCause};
use crate::identity::NodeName;
use crate::time::{Mono, Now, Span};
use alloc::boxed::Box;

/// How old the live reads may be when a node is declared silent or tainted by them.
const CONFIRM_AGE_MAX: Span = Span::from_secs(2);

impl NodeLifecycleEngine {
    /// The next effect, decided at this moment; `None` if there is nothing to do yet.
    pub(super) fn next_request(&mut self, now: Now) -> Option<NodeLifecycleEffect> {
        self.next_mend(now)
            .or_else(|| self.next_declaration(now))
            .or_else(|| self.next_eviction(now))
            .or_else(|| {
                self.marks.next().map(|(pod, name)| NodeLifecycleEffect::SetPodNotReady { pod, name })
            })
    }

    /// What needs no evidence beyond what the node says: taking off, swapping, keeping new pods off, labels (NL-5 to
    /// NL-8, NL-15, NL-16); tried again for as long as it takes (NL-7).
    fn next_mend(&mut self, now: Now) -> Option<NodeLifecycleEffect> {
        while let Some((_, name)) = self.todo.pop_first() {
            let entry = self.entries.get_mut(&name)?;
            entry.queue_position = QueuePosition::NotQueued;
            if entry.stale {
                return self.confirm(name, None);
            }
            if let Some(effect) = self.mend(&name, now) {
                return Some(effect);
            }
            self.place(&name);
        }
        None
    }

    fn mend(&mut self, name: &NodeName, now: Now) -> Option<NodeLifecycleEffect> {
        let entry = self.entries.get(name)?;
        let known = entry.state.as_ref()?;
        let plan = known.plan(entry.silent.is_some(), self.modes.all_down);
        let (mut add, mut remove) = (plan.add, plan.remove);
        if add.is_empty() && remove.is_empty() {
            let labels = known.labels.clone()?;
            let (node, version) = (reference(name, entry)?, known.version);
            self.out(name, InFlightWrite::Label);
            return Some(NodeLifecycleEffect::PatchLabels {
                node,
                version,
                os: labels.os,
                arch: labels.arch,
            });
        }
        let apart = !self.config.lift_together && known.is_ready() && !remove.no_schedule().is_empty();
        if apart {
            (add, remove) = (add.no_schedule(), remove.no_schedule());
        }
        // One write does for both effects if it is the node's turn anyway.
        let granted = plan.queue.filter(|taint| self.has_turn(entry, *taint, now.mono));
        let token = granted.map(|taint| {
            add = add.with(taint);
            known.zone.clone()
        });
        Some(self.write(name, add, remove, token, now))
    }

    /// A silent node's conditions (NL-12).
    fn next_declaration(&mut self, now: Now) -> Option<NodeLifecycleEffect> {
        if self.observation.doubt(now.mono, &self.config).is_some() {
            return None;
        }
        let (_, name) = self.declare.pop_first()?;
        let entry = self.entries.get_mut(&name)?;
        entry.queue_position = QueuePosition::NotQueued;
        let since = entry.silent?;
        if !is_confirmed(entry, since, now.mono) {
            return self.confirm(name, None);
        }
        assert!(since < now.mono, "S7: a node is declared silent before its grace period is over");
        let (node, known) = (reference(&name, entry)?, entry.state.as_ref()?);
        let (version, conditions) = (known.version, desired_taints::expired(&known.conditions));
        self.out(&name, InFlightWrite::Declare { since });
        Some(NodeLifecycleEffect::SetConditionsUnknown { node, version, conditions, at: now.wall })
    }

    /// The node of some zone whose turn it is to be tainted NoExecute (NL-22, NL-23): the one that waits longest.
    fn next_eviction(&mut self, now: Now) -> Option<NodeLifecycleEffect> {
        let (key, since, name) = self.next_in_turn(now.mono)?;
        let zone = self.zones.get_mut(&key)?;
        zone.busy = Some(name.clone());
        self.unplace(&name);
        let entry = self.entries.get(&name)?;
        if !is_confirmed(entry, since, now.mono) {
            return self.confirm(name, Some(key));
        }
        let known = entry.state.as_ref()?;
        let taint = known.plan(entry.silent.is_some(), self.modes.all_down).queue?;
        Some(self.write(&name, ManagedTaints::NONE.with(taint), ManagedTaints::NONE, Some(key), now))
    }

    /// A zone whose turn it is to have a node tainted, with the node that waits longest, and since when.
    pub(super) fn next_in_turn(&self, now: Mono) -> Option<(ZoneKey, Mono, NodeName)> {
        if self.modes.feared_all() {
            return None;
        }
        let believes = self.disbelief(now).is_none();
        self.waiting.iter().find_map(|key| {
            let zone = self.zones.get(key).filter(|zone| zone.bucket.has_token(now))?;
            let (since, name) = candidate(zone, believes)?.clone();
            Some((key.clone(), since, name))
        })
    }

    /// Why no node may be tainted for its silence now (S7).
    pub(super) fn disbelief(&self, now: Mono) -> Option<ObservationDoubt> {
        let hush = || self.is_hushed(self.config.hush_max(), now).then_some(ObservationDoubt::NoNodeHeard);
        self.observation.doubt(now, &self.config).or_else(hush)
    }

    /// Whether a node that is written to anyway may get its NoExecute taint in the same write: as in its turn, and
    /// nobody waits in front of it.
    fn has_turn(&self, entry: &NodeHealthEntry, taint: ManagedTaint, now: Mono) -> bool {
        let Some(known) = &entry.state else { return false };
        let Some(zone) = self.zones.get(&known.zone) else { return false };
        let free = !zone.is_waited_for() && zone.busy.is_none() && zone.bucket.has_token(now);
        let evident = match (taint, entry.silent) {
            (ManagedTaint::UnreachableNoExecute, Some(since)) => {
                self.disbelief(now).is_none() && is_confirmed(entry, since, now)
            }
            _ => is_confirmed(entry, known.ready_since, now),
        };
        free && evident && !self.modes.feared_all()
    }

    fn write(
        &mut self,
        name: &NodeName,
        add: ManagedTaints,
        remove: ManagedTaints,
        token: Option<ZoneKey>,
        now: Now,
    ) -> NodeLifecycleEffect {
        let entry = self.entries.get(name).expect("it was just looked at");
        let known = entry.state.as_ref().expect("only a node that exists is written to");
        let node = NodeRef { name: name.clone(), uid: known.uid.clone() };
        let why = why(entry, add, remove, self.modes.all_down);
        let version = known.version;
        let adds_no_execute = !add.no_execute().is_empty();
        assert!(
            !adds_no_execute || token.is_some() || !known.own.no_execute().is_empty(),
            "S6: NoExecute without a token"
        );
        if let Some(zone) = token.as_ref().and_then(|key| self.zones.get_mut(key)) {
            zone.bucket.take(now.mono);
            zone.busy = Some(name.clone());
        }
        self.out(name, InFlightWrite::Taint { add, remove, token, returns: true, why });
        NodeLifecycleEffect::PatchTaints { node, version, add, remove, at: now.wall, why }
    }

    fn confirm(&mut self, name: NodeName, turn: Option<ZoneKey>) -> Option<NodeLifecycleEffect> {
        self.out(&name, InFlightWrite::Confirm { turn });
        Some(NodeLifecycleEffect::ReadNode { node: name })
    }

    fn out(&mut self, name: &NodeName, in_flight: InFlightWrite) {
        self.unplace(name);
        if let Some(entry) = self.entries.get_mut(name) {
            assert!(entry.in_flight.is_none(), "one request at a time for each node");
            entry.in_flight = Some(Box::new(in_flight));
            entry.void = false;
        }
    }

    /// When a token will be there for which a node waits.
    pub(super) fn token_at(&self) -> Option<Mono> {
        let now = self.observation.called()?;
        if self.modes.feared_all() {
            return None;
        }
        let believes = self.disbelief(now).is_none();
        let zones = self.waiting.iter().filter_map(|key| self.zones.get(key));
        let wanted = zones.filter(|zone| candidate(zone, believes).is_some());
        wanted.filter_map(|zone| zone.bucket.token_at(now)).min()
    }
}

/// The node of a zone that has waited longest; those that are silent only if our own eyes are to be believed.
pub(super) fn candidate(zone: &Zone, believes: bool) -> Option<&(Mono, NodeName)> {
    let silent = zone.silent.first().filter(|_| believes);
    let next = match (silent, zone.unready.first()) {
        (Some(silent), Some(unready)) => Some(silent.min(unready)),
        (silent, unready) => silent.or(unready),
    };
    next.filter(|_| zone.busy.is_none())
}

/// A live read, sent after what it is to confirm, and young.
fn is_confirmed(entry: &NodeHealthEntry, since: Mono, now: Mono) -> bool {
    entry.check.is_some_and(|sent| since <= sent && now <= sent.plus(CONFIRM_AGE_MAX))
}

pub(super) fn reference(name: &NodeName, entry: &NodeHealthEntry) -> Option<NodeRef> {
    let uid = entry.state.as_ref()?.uid.clone();
    Some(NodeRef { name: name.clone(), uid })
}

pub(super) fn why(
    entry: &NodeHealthEntry,
    add: ManagedTaints,
    remove: ManagedTaints,
    all_down: bool,
) -> TaintCause {
    let is_ready = entry.state.as_ref().is_some_and(super::cache::NodeHealthState::is_ready);
    let own = entry.state.as_ref().map(|known| entry.dry_run.own(known)).unwrap_or_default();
    let has = !own.no_execute().is_empty();
    match (add.no_execute().is_empty(), remove.no_execute().is_empty()) {
        (true, true) => TaintCause::Conditions,
        (true, false) if is_ready => TaintCause::Recovered,
        (true, false) if all_down => TaintCause::EverythingDown,
        _ if has => TaintCause::Swap,
        _ if add.has(ManagedTaint::NotReadyNoExecute) => TaintCause::NotReady,
        _ => entry.silent.map_or(TaintCause::NotReady, |since| TaintCause::Silent { since }),
    }
}

//! Applies the record in a guarded, held or released pod's annotations to its countdowns.
//!
//! - Invariant: a record of tolerations that another writer changed meanwhile has no effect.

use crate::countdown_hold::HoldHistory;
use crate::time::{Mono, Wall};
use crate::toleration::Toleration;
use crate::toleration_guard::{self, GuardRecord};
use crate::toleration_hold::HoldRecord;
use crate::toleration_seconds::RecordState;
use crate::verdict::TaintInstance;
use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// What decides about the countdowns of a pod besides its tolerations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CountdownRecord {
    /// Nothing.
    #[default]
    None,
    /// It is guarded: Taintward evicts it by its own seconds, kube-controller-manager by those of its tolerations.
    Guarded(Box<GuardRecord>),
    /// It is held: its countdowns for `not-ready` and `unreachable` are paused.
    Held(Box<HoldRecord>),
    /// It was released: these countdowns began again when its seconds were written.
    Released(Box<HoldRecord>),
}

impl CountdownRecord {
    /// The record of a pod with these tolerations, as far as it still applies.
    pub(super) fn of(record: RecordState, tolerations: &[Toleration]) -> Self {
        match record {
            RecordState::Guarded(record) if record.still_applies(tolerations) => Self::Guarded(record),
            RecordState::Known(record) if !record.names_any_of(tolerations) => Self::None,
            RecordState::Known(record) if record.is_released() => Self::Released(record),
            RecordState::Known(record) => Self::Held(record),
            RecordState::Guarded(_) | RecordState::Absent | RecordState::Undecodable => Self::None,
        }
    }

    /// The tolerations by which the pod is judged: with its own seconds, unless it was released with fewer.
    pub(super) fn judged_tolerations(&self, mut tolerations: Vec<Toleration>) -> Vec<Toleration> {
        match self {
            Self::None | Self::Released(_) => tolerations,
            Self::Guarded(record) => toleration_guard::own_tolerations(&tolerations, Some(record)),
            Self::Held(record) => {
                for held in record.tolerations() {
                    if let Some(at) = held.position_in(&tolerations)
                        && tolerations[at].seconds == held.given()
                    {
                        tolerations[at].seconds = Some(held.own());
                    }
                }
                tolerations
            }
        }
    }

    /// The tolerations of the object, from those of [`Self::judged_tolerations`]; `None`: they are the same.
    pub(super) fn written_tolerations(&self, judged: &[Toleration]) -> Option<Vec<Toleration>> {
        let Self::Guarded(record) = self else { return None };
        let mut written = judged.to_vec();
        for held in record.tolerations() {
            if let Some(at) = held.position_in(judged).filter(|at| judged[*at].seconds == Some(held.own())) {
                written[at].seconds = held.given();
            }
        }
        Some(written)
    }

    /// Whether the pod's countdowns are paused.
    pub(crate) fn holds(&self) -> HoldHistory {
        let mut holds = HoldHistory::NONE;
        if let Self::Held(record) = self {
            holds.begin(moment(record.changed()));
        }
        holds
    }

    /// The taints, each since when it counts for this pod.
    pub(crate) fn restarted<'t>(&self, taints: &'t [TaintInstance]) -> Cow<'t, [TaintInstance]> {
        let Self::Released(record) = self else { return Cow::Borrowed(taints) };
        let restarted = taints.iter().cloned().map(|mut instance| {
            if HoldHistory::applies_to(&instance.taint) {
                instance.start.at = instance.start.at.max(moment(record.changed()));
            }
            instance
        });
        restarted.collect()
    }
}

/// A snapshot's monotonic clock starts at the epoch.
const fn moment(at: Wall) -> Mono {
    Mono::from_micros(at.as_micros())
}

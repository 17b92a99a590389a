//! Defines the record of a guarded pod: the own seconds of each toleration that has the ceiling.

use crate::toleration::Toleration;
use crate::toleration_hold::HeldToleration;
use alloc::vec::Vec;

/// The annotation of a guarded pod; never empty.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GuardRecord {
    tolerations: Vec<HeldToleration>,
}

impl GuardRecord {
    /// Makes the record of an annotation; `None` if there is no toleration, or one that was not given more than its own
    /// seconds.
    pub fn recorded(tolerations: Vec<HeldToleration>) -> Option<Self> {
        let is_whole =
            !tolerations.is_empty() && tolerations.iter().all(|held| held.given() > Some(held.own()));
        is_whole.then_some(Self { tolerations })
    }

    /// The tolerations in the record.
    pub fn tolerations(&self) -> &[HeldToleration] {
        &self.tolerations
    }

    /// Those that the pod still has with the seconds that they were given, and their positions in its list. A
    /// toleration that another writer changed meanwhile belongs to that writer again.
    pub(crate) fn applying_to<'a>(
        &'a self,
        tolerations: &'a [Toleration],
    ) -> impl Iterator<Item = (usize, &'a HeldToleration)> {
        self.tolerations.iter().filter_map(|held| {
            let at = held.position_in(tolerations)?;
            (tolerations[at].seconds == held.given()).then_some((at, held))
        })
    }

    /// Whether these have the seconds that this record says.
    pub(crate) fn is_kept_by(&self, tolerations: &[Toleration]) -> bool {
        self.tolerations.iter().all(|held| held.is_in(tolerations))
    }

    /// Whether this record, which replaced an earlier one of a pod with these tolerations, names all that is left of
    /// the earlier one, with no fewer seconds. Additional ones may come from another leader; accepting them lets two
    /// processes agree.
    pub(crate) fn continues(&self, earlier: &Self, tolerations: &[Toleration]) -> bool {
        let is_named = |held: &HeldToleration| self.tolerations.iter().any(|one| one.continues(held));
        earlier.applying_to(tolerations).all(|(_, held)| is_named(held))
    }

    /// Whether one of these still has other seconds than its own because of this record.
    pub(crate) fn still_applies(&self, tolerations: &[Toleration]) -> bool {
        self.applying_to(tolerations).next().is_some()
    }
}

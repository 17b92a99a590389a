//! Defines the settings of holds, backfill and the guard, their facts about namespaces and policies, and the progress of
//! backfill.

use super::HoldLimit;
use crate::admission::policy::{DefaultDurations, TolerationPolicy};
use crate::admission::request::NamespaceFact;
use crate::identity::{ResourceVersion, Uid};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The settings of holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HoldSettings {
    /// How many nodes may be silent before pods are held; `None`: only an administrator's request holds pods.
    pub limit: Option<HoldLimit>,
}

/// The settings of backfill.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BackfillSettings {
    /// What counts as the seconds of a default toleration. The first are those of the API server's own admission, which
    /// apply if no policy and no annotation sets any.
    pub replaced: Vec<DefaultDurations>,
    /// Maximum number of pods patched per second.
    pub per_second: u32,
}

impl Default for BackfillSettings {
    fn default() -> Self {
        Self { replaced: [DefaultDurations::default()].into(), per_second: 20 }
    }
}

/// The settings of the guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GuardSettings {
    /// Maximum number of pods patched per second; including those of backfill, if both run.
    pub per_second: u32,
}

impl Default for GuardSettings {
    fn default() -> Self {
        Self { per_second: 50 }
    }
}

/// The fields of a namespace that seconds depend on.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SecondsNamespaceFact {
    /// `metadata.name`.
    pub name: Box<str>,
    /// The fields that admission needs, too.
    pub facts: NamespaceFact,
}

/// The fields of a policy that backfill needs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BackfillPolicyFact {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.name` and `spec`.
    pub policy: TolerationPolicy,
    /// `status.backfill`, if it exists and can be decoded.
    pub progress: Option<BackfillProgress>,
}

/// The progress of backfill for the pods of a policy's namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BackfillProgress {
    /// The generation of the policy that it is about.
    pub generation: i64,
    /// Pods whose default tolerations have the seconds that new pods get.
    pub current: i64,
    /// Pods whose default tolerations have others.
    pub pending: i64,
    /// Pods whose tolerations for the two taints are their own.
    pub own: i64,
}

/// A write of a policy's status.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PolicyStatusWrite {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.uid`.
    pub uid: Uid,
    /// The content.
    pub progress: BackfillProgress,
}

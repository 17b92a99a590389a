//! Defines what backfill and the guard are told of namespaces and policies, and what backfill says of its progress.

use crate::admission::DefaultSeconds;
use crate::admission::policy::TolerationPolicy;
use crate::admission::request::NamespaceFact;
use crate::identity::{ResourceVersion, Uid};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// By what backfill goes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BackfillSettings {
    /// What counts as the seconds of a default toleration. The first is what the API server's own admission gives, and
    /// what counts where no policy and no annotation says anything.
    pub replaced: Vec<DefaultSeconds>,
    /// Pods that are patched in a second, at most.
    pub per_second: u32,
}

impl Default for BackfillSettings {
    fn default() -> Self {
        Self { replaced: [DefaultSeconds::default()].into(), per_second: 20 }
    }
}

/// By what the guard goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GuardSettings {
    /// Pods that are patched in a second, at most; those of backfill included, where both run.
    pub per_second: u32,
}

impl Default for GuardSettings {
    fn default() -> Self {
        Self { per_second: 50 }
    }
}

/// A namespace, as far as seconds depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondsNamespaceFact {
    /// `metadata.name`.
    pub name: Box<str>,
    /// What admission wants to know of it, too.
    pub facts: NamespaceFact,
}

/// A policy, as backfill asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackfillPolicyFact {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.name` and `spec`.
    pub policy: TolerationPolicy,
    /// `status.backfill`, if it is there and can be decoded.
    pub progress: Option<BackfillProgress>,
}

/// How far backfill has come with the pods of a policy's namespaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BackfillProgress {
    /// The generation of the policy that this is about.
    pub generation: i64,
    /// Pods whose default tolerations have the seconds that new pods get.
    pub current: i64,
    /// Pods whose default tolerations have others.
    pub pending: i64,
    /// Pods whose tolerations for the two taints are their own.
    pub own: i64,
}

/// The status of a policy is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyStatusWrite {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.uid`.
    pub uid: Uid,
    /// What is written.
    pub progress: BackfillProgress,
}

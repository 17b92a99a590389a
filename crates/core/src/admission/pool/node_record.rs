//! Reads and writes the node annotation that records which taints and labels a pool has added.
//!
//! - Invariant: an annotation that cannot be parsed claims nothing; a leftover taint or label is better than removing one
//!   of another client.

use super::{DedicatedPool, PoolLabel, is_reserved};
use crate::taint::{Taint, TaintEffect};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The annotation: the pool's name, then what it has added, separated by spaces.
/// `team-a taint:dedicated=team-a:NoSchedule label:dedicated=team-a`
pub const RECORD: &str = "taintward.io/pool";

/// A taint or label that a pool adds to a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AppliedMark {
    /// A taint.
    Taint {
        /// Its key.
        key: Box<str>,
        /// Its value.
        value: Box<str>,
        /// Its effect.
        effect: TaintEffect,
    },
    /// A label.
    Label {
        /// Its key.
        key: Box<str>,
        /// Its value.
        value: Box<str>,
    },
}

impl AppliedMark {
    /// Returns the taint, unless the mark is a label.
    pub fn taint(&self) -> Option<Taint> {
        let Self::Taint { key, value, effect } = self else { return None };
        let (key, value, effect) = (key.clone(), value.clone(), effect.clone());
        Some(Taint { key, value, effect, time_added: None })
    }

    /// Returns the label, unless the mark is a taint.
    pub(super) fn label(&self) -> Option<PoolLabel> {
        let Self::Label { key, value } = self else { return None };
        Some(PoolLabel { key: key.clone(), value: value.clone() })
    }

    fn key(&self) -> &str {
        match self {
            Self::Taint { key, .. } | Self::Label { key, .. } => key,
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let (kind, rest) = text.split_once(':')?;
        let (key, rest) = rest.split_once('=')?;
        match kind {
            "label" => Some(Self::Label { key: key.into(), value: rest.into() }),
            "taint" => {
                let (value, effect) = rest.split_once(':')?;
                Some(Self::Taint { key: key.into(), value: value.into(), effect: TaintEffect::new(effect) })
            }
            _ => None,
        }
    }
}

impl fmt::Display for AppliedMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taint { key, value, effect } => write!(f, "taint:{key}={value}:{}", effect.as_str()),
            Self::Label { key, value } => write!(f, "label:{key}={value}"),
        }
    }
}

/// The pool of a node, and what was added for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRecordAnnotation {
    /// The pool's name; empty if the node belongs to no pool.
    pub pool: Box<str>,
    /// The marks that the controller added.
    pub marks: Vec<AppliedMark>,
}

impl NodeRecordAnnotation {
    /// Parses the annotation; invalid parts are left out.
    pub fn parse(text: &str) -> Self {
        let mut words = text.split(' ').filter(|word| !word.is_empty());
        let pool = words.next().unwrap_or_default().into();
        Self { pool, marks: words.filter_map(AppliedMark::parse).collect() }
    }
}

impl fmt::Display for NodeRecordAnnotation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let marks: String = self.marks.iter().map(|mark| format!(" {mark}")).collect();
        write!(f, "{}{marks}", self.pool)
    }
}

/// How far a record is trusted. A kubelet may not change the taints of its node (NL-61), but may write its annotations:
/// a malicious one could have a taint removed by claiming that a pool had added it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordTrust {
    /// Only marks are trusted that one of the given pools declares, or has declared ([`DedicatedPool::applied_marks`]).
    /// A pool must then remain, as [`DedicatedPool::leaving`], until its nodes are cleaned up: a finalizer ensures
    /// that.
    #[default]
    Pools,
    /// Every mark is trusted, also that of an unknown pool: for cleaning up after pools whose objects were deleted by
    /// force.
    Record,
}

impl RecordTrust {
    /// Whether a recorded mark is trusted to be a pool's. Kubernetes' own taints and labels never are.
    pub(super) fn believes(self, mark: &AppliedMark, pools: &[DedicatedPool]) -> bool {
        let stands = |pool: &DedicatedPool| pool.applied_marks.contains(mark) || pool.marks().contains(mark);
        !is_reserved(mark.key()) && (self == Self::Record || pools.iter().any(stands))
    }
}

//! Reads and writes the node annotation that records which taints and labels a pool has added.
//!
//! - Invariant: an annotation that cannot be parsed claims nothing; a leftover taint or label is better than removing a
//!   foreign one.

use super::{DedicatedPool, is_reserved};
use crate::taint::{Taint, TaintEffect};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// The annotation: the pool's name, then what it put there, with spaces between.
/// `team-a taint:dedicated=team-a:NoSchedule label:dedicated=team-a`
pub const RECORD: &str = "taintward.io/pool";

/// Something on a node that a pool puts there.
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
    /// The taint it is, if it is one.
    pub fn taint(&self) -> Option<Taint> {
        let Self::Taint { key, value, effect } = self else { return None };
        let (key, value, effect) = (key.clone(), value.clone(), effect.clone());
        Some(Taint { key, value, effect, time_added: None })
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

/// Whose a node is, and what was put there for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeRecordAnnotation {
    /// The pool's name; empty where the node is no pool's.
    pub pool: Box<str>,
    /// What was not there before.
    pub marks: Vec<AppliedMark>,
}

impl NodeRecordAnnotation {
    /// Reads the annotation; what makes no sense in it is left out.
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

/// What a record is worth. A kubelet may not change the taints of its node (NL-61), but may write its annotations: one
/// that is not to be trusted could have a taint taken off by claiming that a pool had put it there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RecordTrust {
    /// Only marks are believed that a pool given here stands for, or has stood for ([`DedicatedPool::applied_marks`]). A pool must then
    /// stay, as [`DedicatedPool::leaving`], until its nodes are cleaned: that is what a finalizer is for.
    #[default]
    Pools,
    /// Every mark is believed, also of a pool that nobody knows any more: for cleaning up after pools whose objects
    /// were taken away by force.
    Record,
}

impl RecordTrust {
    /// Whether a recorded mark is believed to be a pool's. What is Kubernetes' own never is.
    pub(super) fn believes(self, mark: &AppliedMark, pools: &[DedicatedPool]) -> bool {
        let stands = |pool: &DedicatedPool| pool.applied_marks.contains(mark) || pool.marks().contains(mark);
        !is_reserved(mark.key()) && (self == Self::Record || pools.iter().any(stands))
    }
}

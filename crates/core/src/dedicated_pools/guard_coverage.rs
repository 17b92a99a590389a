//! Says whether the PoolGuard covers a pool: its condition `Guarded`.

use super::guard_size::GUARD_BUDGET;
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

/// Whether the guard covers a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GuardCoverage {
    /// It contains the pool, and its writes succeed.
    Guarded,
    /// It will contain the pool after the next write.
    Pending,
    /// It has no room for the pool, which has this many bytes.
    TooLarge(usize),
    /// There is no guard.
    Absent,
    /// Its writes fail, for this reason.
    WriteFailed(Box<str>),
}

impl GuardCoverage {
    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::Guarded => "Guarded",
            Self::Pending => "Pending",
            Self::TooLarge(_) => "TooLarge",
            Self::Absent => "NoPoolGuard",
            Self::WriteFailed(_) => "WriteFailed",
        }
    }

    /// In a sentence, with the remedy.
    pub(crate) fn message(&self) -> String {
        match self {
            Self::Guarded => "the PoolGuard contains the pool".to_owned(),
            Self::Pending => "the controller has yet to write the pool into the PoolGuard".to_owned(),
            Self::TooLarge(size) => format!(
                "all pools and nodes together have more than {GUARD_BUDGET} bytes, so the largest pools are left out of \
                 the PoolGuard, this one with {size} bytes; the API server judges pods by the pool itself, which takes \
                 longer: name groups or a namespaceSelector instead of many users, or delete pools"
            ),
            Self::Absent => {
                "there is no PoolGuard, so the API server admits pods that name a node that does not exist \
                             yet: run taintward install --apply again"
                    .to_owned()
            }
            Self::WriteFailed(why) => format!(
                "the controller cannot write the PoolGuard, so changes of nodes do not reach the API server's policy; it \
                 judges pods by the pool itself if the pool has changed: {why}"
            ),
        }
    }
}

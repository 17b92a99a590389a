//! Defines a hold as an annotation of a node or of a pod orders it.

use crate::time::Wall;

/// A hold as an annotation orders it, in server time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HoldPeriod {
    /// When it began, or begins.
    pub since: Wall,
    /// When it ends, or ended.
    pub until: Wall,
}

//! Defines what a pool may do, given the findings about it.

/// What a pool may do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolValidity {
    /// Everything.
    #[default]
    Applied,
    /// Keep its nodes, and take no more. Its rules for pods apply.
    Frozen,
    /// Nothing, until it is corrected. Its nodes stay as they are; its rules for pods do not apply.
    Rejected,
}

impl PoolValidity {
    /// `Applied`
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "Applied",
            Self::Frozen => "Frozen",
            Self::Rejected => "Refused",
        }
    }
}

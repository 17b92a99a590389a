//! Describes a flag's effect that the operator should know.

/// A notice about a flag, logged after the log is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlagNotice {
    pub(crate) flag: &'static str,
    pub(crate) text: String,
}

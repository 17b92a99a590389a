//! Describes what the operator should know about a flag.

/// A notice about a flag that is logged once the log is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlagNotice {
    pub(crate) flag: &'static str,
    pub(crate) text: String,
}

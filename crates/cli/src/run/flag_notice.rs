//! Describes what the operator should know about a flag.

/// Something the operator should know about a flag, once the log is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FlagNotice {
    pub(crate) flag: &'static str,
    pub(crate) text: String,
}

//! Parses boolean flags as Go's `strconv.ParseBool` does.

/// Why a text is not a boolean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected true or false")]
pub(crate) struct InvalidBool;

/// Parses a boolean.
pub(crate) fn parse(text: &str) -> Result<bool, InvalidBool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(false),
        _ => Err(InvalidBool),
    }
}

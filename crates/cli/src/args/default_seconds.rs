//! Parses the seconds of default tolerations, as `--backfill-from` has them.

use taintward_core::admission::DefaultSeconds;

/// Why a text is invalid as the seconds of default tolerations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a number of seconds, or two numbers for not-ready and unreachable with a slash (300, 60/600)"
)]
pub(crate) struct NotSeconds;

/// Parses one entry: a number for both taints, or two with a slash.
pub(crate) fn parse(text: &str) -> Result<DefaultSeconds, NotSeconds> {
    let number = |text: &str| text.parse::<u32>().map(i64::from).map_err(|_| NotSeconds);
    let (not_ready, unreachable) = text.split_once('/').unwrap_or((text, text));
    Ok(DefaultSeconds { not_ready: number(not_ready)?, unreachable: number(unreachable)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_for_both_taints_or_for_each() {
        for (text, not_ready, unreachable) in [("300", 300, 300), ("60/600", 60, 600), ("0", 0, 0)] {
            assert_eq!(parse(text), Ok(DefaultSeconds { not_ready, unreachable }), "{text}");
        }
        for text in ["", "/", "60/", "/60", "-1", "1/2/3", "forever", "60s", " 60", "1e3", "9999999999"] {
            assert_eq!(parse(text), Err(NotSeconds), "{text}");
        }
    }
}

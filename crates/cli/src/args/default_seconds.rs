//! Parses the seconds of default tolerations, as `--backfill-from` has them.

use taintward_core::admission::policy::{DefaultDurations, TolerationDuration};

/// Why a text is invalid as the seconds of default tolerations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a number of seconds or forever, or two of them for not-ready and unreachable with a slash (300, 60/600, \
     60/forever)"
)]
pub(crate) struct NotSeconds;

/// Parses one entry: a duration for both taints, or two with a slash.
pub(crate) fn parse(text: &str) -> Result<DefaultDurations, NotSeconds> {
    let duration = |text: &str| match text {
        "forever" => Ok(TolerationDuration::Forever),
        text => {
            text.parse::<u32>().map(|number| TolerationDuration::For(number.into())).map_err(|_| NotSeconds)
        }
    };
    let (not_ready, unreachable) = text.split_once('/').unwrap_or((text, text));
    Ok(DefaultDurations { not_ready: duration(not_ready)?, unreachable: duration(unreachable)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use TolerationDuration::{For, Forever};

    #[test]
    fn seconds_are_for_both_taints_or_for_each() {
        for (text, not_ready, unreachable) in [
            ("300", For(300), For(300)),
            ("60/600", For(60), For(600)),
            ("0", For(0), For(0)),
            ("forever", Forever, Forever),
            ("60/forever", For(60), Forever),
        ] {
            assert_eq!(parse(text), Ok(DefaultDurations { not_ready, unreachable }), "{text}");
        }
        for text in ["", "/", "60/", "/60", "-1", "1/2/3", "Forever", "60s", " 60", "1e3", "9999999999"] {
            assert_eq!(parse(text), Err(NotSeconds), "{text}");
        }
    }
}

//! Parses the limits on nodes of `--hold-limit` and `--brake-limit`.

use taintward_core::node_limit::NodeLimit;

/// The value of `--hold-limit` and of `--brake-limit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParsedLimit {
    Off,
    Some(NodeLimit),
}

/// Why a text is not a limit on nodes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a number of nodes, a percentage from 1% to 100%, both with a comma (10,30%), or off")]
pub(crate) struct NotALimit;

impl ParsedLimit {
    pub(crate) const fn limit(self) -> Option<NodeLimit> {
        match self {
            Self::Off => None,
            Self::Some(limit) => Some(limit),
        }
    }
}

/// Parses `--hold-limit` and `--brake-limit`.
pub(crate) fn limit(text: &str) -> Result<ParsedLimit, NotALimit> {
    if text == "off" {
        return Ok(ParsedLimit::Off);
    }
    let (mut nodes, mut percent) = (None, None);
    for part in text.split(',') {
        match part.strip_suffix('%') {
            Some(share) if percent.is_none() => {
                let share = share.parse().ok().filter(|share| (1..=100).contains(share));
                percent = Some(share.ok_or(NotALimit)?);
            }
            None if nodes.is_none() => nodes = Some(part.parse().map_err(|_| NotALimit)?),
            _ => return Err(NotALimit),
        }
    }
    Ok(ParsedLimit::Some(NodeLimit { nodes, percent }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_a_share_or_both() {
        let is = |nodes, percent| Ok(ParsedLimit::Some(NodeLimit { nodes, percent }));
        for (text, expected) in [
            ("10,30%", is(Some(10), Some(30))),
            ("30%,10", is(Some(10), Some(30))),
            ("0", is(Some(0), None)),
            ("100%", is(None, Some(100))),
            ("off", Ok(ParsedLimit::Off)),
        ] {
            assert_eq!(limit(text), expected, "{text}");
        }
        for text in ["", ",", "0%", "101%", "-1", "5,6", "1%,2%", "5,", "5,6,7%", "x", "OFF", " 5"] {
            assert_eq!(limit(text), Err(NotALimit), "{text}");
        }
    }
}

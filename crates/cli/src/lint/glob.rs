//! Matches names with `*`, `**` and `?`, in time bounded by the product of both lengths.

pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let pattern = pieces(pattern);
    let text: Vec<char> = text.chars().collect();
    // The ends of the text that the parts so far can match.
    let mut reach = vec![false; text.len() + 1];
    reach[0] = true;
    for piece in pattern {
        reach = step(piece, &text, &reach);
    }
    reach[text.len()]
}

#[derive(Clone, Copy)]
enum GlobPart {
    Sign(char),
    OneSign,
    Name,
    Anything,
}

fn pieces(pattern: &str) -> Vec<GlobPart> {
    let mut pieces = Vec::new();
    let mut signs = pattern.chars().peekable();
    while let Some(sign) = signs.next() {
        pieces.push(match sign {
            '*' if signs.next_if_eq(&'*').is_some() => {
                // `a/**/b` matches `a/b`, too.
                if pieces.is_empty() || matches!(pieces.last(), Some(GlobPart::Sign('/'))) {
                    signs.next_if_eq(&'/');
                }
                GlobPart::Anything
            }
            '*' => GlobPart::Name,
            '?' => GlobPart::OneSign,
            other => GlobPart::Sign(other),
        });
    }
    pieces
}

fn step(piece: GlobPart, text: &[char], reach: &[bool]) -> Vec<bool> {
    let mut next = vec![false; reach.len()];
    for at in 0..reach.len() {
        let before = at.checked_sub(1);
        let sign = before.map(|before| text[before]);
        let came = before.is_some_and(|before| reach[before]);
        next[at] = match piece {
            GlobPart::Sign(wanted) => came && sign == Some(wanted),
            GlobPart::OneSign => came && sign != Some('/'),
            GlobPart::Name => reach[at] || before.is_some_and(|before| next[before] && sign != Some('/')),
            GlobPart::Anything => reach[at] || before.is_some_and(|before| next[before]),
        };
    }
    next
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_match_as_documented() {
        for (pattern, text, expected) in [
            ("", "", true),
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "web.yaml", true),
            ("*", "apps/web.yaml", false),
            ("*.yaml", "web.yaml", true),
            ("apps/*.yaml", "apps/web.yaml", true),
            ("apps/*.yaml", "apps/shop/web.yaml", false),
            ("apps/**", "apps/shop/web.yaml", true),
            ("apps/**/web.yaml", "apps/web.yaml", true),
            ("apps/**/web.yaml", "apps/a/b/web.yaml", true),
            ("**/web.yaml", "web.yaml", true),
            ("w?b", "web", true),
            ("w?b", "w/b", false),
            ("DaemonSet kube-system/*", "DaemonSet kube-system/proxy", true),
            ("*a*a*a*a*a*a*b", &"a".repeat(2_000), false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}

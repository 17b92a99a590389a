//! # Nesting: how deep an object goes
//! Room:     one look at an object's text.
//! Comes in: JSON that is known to be well formed.
//! Goes out: whether it is nested deeper than a reader can follow.
//! Not here: anything the object says.

/// How deep an object may be nested; whoever reads it further may recurse this far.
pub const NESTING_MAX: usize = 100;

/// Whether well-formed JSON is nested deeper than [`NESTING_MAX`].
pub(super) fn is_too_deep(json: &str) -> bool {
    let bytes = json.as_bytes();
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'{' | b'[' => {
                depth += 1;
                if depth > NESTING_MAX {
                    return true;
                }
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => at = after_string(bytes, at),
            _ => {}
        }
    }
    false
}

/// Where a string that has begun before `at` is over.
fn after_string(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        at += match byte {
            b'"' => return at + 1,
            b'\\' => 2,
            _ => 1,
        };
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(depth: usize) -> String {
        format!("{}1{}", "[".repeat(depth), "]".repeat(depth))
    }

    #[test]
    fn the_limit_itself_is_not_too_deep() {
        assert!(!is_too_deep(&nested(NESTING_MAX)));
        assert!(is_too_deep(&nested(NESTING_MAX + 1)));
        assert!(!is_too_deep(&format!("[{}]", vec!["{}"; 1000].join(","))));
    }

    #[test]
    fn brackets_in_strings_do_not_count() {
        assert!(!is_too_deep(&format!(r#"{{"a":"{}\\\"{}"}}"#, "[".repeat(500), "{".repeat(500))));
        assert!(is_too_deep(&format!(r#"{{"a\\":{}}}"#, nested(NESTING_MAX))));
    }
}

//! Converts a line and column of a JSON document to a field path.

/// Deeper levels are not distinguished: the fields that matter are at most six levels deep.
const DEEPEST: usize = 8;

enum PathLevel {
    Object { key: String, value: bool },
    Array(usize),
}

/// The path of the value at `line` and `column` (both from 1, in bytes).
pub(super) fn path_to(bytes: &[u8], line: usize, column: usize) -> String {
    let before: usize =
        bytes.split_inclusive(|&byte| byte == b'\n').take(line.saturating_sub(1)).map(<[u8]>::len).sum();
    let end = before.saturating_add(column).saturating_sub(1).min(bytes.len());
    let mut levels: Vec<PathLevel> = Vec::new();
    let mut deeper = 0_usize;
    let mut at = 0;
    while at < end {
        match bytes[at] {
            b'{' | b'[' if levels.len() == DEEPEST => deeper += 1,
            b'{' => levels.push(PathLevel::Object { key: String::new(), value: false }),
            b'[' => levels.push(PathLevel::Array(0)),
            b'}' | b']' if deeper > 0 => deeper -= 1,
            b'}' | b']' => drop(levels.pop()),
            b'"' => {
                let text = string(&bytes[at..end]);
                at += text.len();
                if let (0, Some(PathLevel::Object { key, value: false })) = (deeper, levels.last_mut()) {
                    *key = String::from_utf8_lossy(text.get(1..).unwrap_or_default())
                        .trim_end_matches('"')
                        .to_owned();
                }
                continue;
            }
            b':' if deeper == 0 => {
                if let Some(PathLevel::Object { value, .. }) = levels.last_mut() {
                    *value = true;
                }
            }
            b',' if deeper == 0 => match levels.last_mut() {
                Some(PathLevel::Object { value, .. }) => *value = false,
                Some(PathLevel::Array(index)) => *index += 1,
                None => {}
            },
            _ => {}
        }
        at += 1;
    }
    written(&levels)
}

/// The string literal at the beginning of these bytes, quotes included, as far as it goes.
fn string(bytes: &[u8]) -> &[u8] {
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    &bytes[..bytes.len().min(at + 1)]
}

fn written(levels: &[PathLevel]) -> String {
    let mut path = String::new();
    for level in levels {
        match level {
            PathLevel::Object { key, .. } if path.is_empty() => path.push_str(key),
            PathLevel::Object { key, .. } => path.extend([".", key]),
            PathLevel::Array(index) => path.push_str(&format!("[{index}]")),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_has_a_path() {
        let text = br#"{"a":1,"spec":{"x":[{"y":{}},[1,{"deep, \"er":"no, w"},{"s":"?"}]]}}"#;
        let place = text.iter().position(|&byte| byte == b'?').unwrap();
        assert_eq!(path_to(text, 1, place), "spec.x[1][2].s");
        assert_eq!(path_to(text, 1, 7), "a");
        assert_eq!(path_to(b"\n\n{\"k\":!}", 3, 7), "k");
    }

    #[test]
    fn any_bytes_have_some_path() {
        for bytes in [&b""[..], b"]]]}}}", b"\"\\", b"{\"a", b"[[[[[[[[[[[[[[[", b",,::,"] {
            for column in 0..20 {
                let _ = path_to(bytes, 1, column);
                let _ = path_to(bytes, 7, column);
            }
        }
    }
}

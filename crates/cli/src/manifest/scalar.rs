//! Resolves plain YAML scalars (null, booleans, numbers, text) as kubectl's YAML reader does.

use super::YamlValue;

/// Below this limit, every whole number with a fraction or an exponent is exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// YAML 1.1, as kubectl reads it: `yes` and `on` are booleans too.
pub(super) fn plain(word: &str) -> YamlValue {
    match word {
        "" | "~" | "null" | "Null" | "NULL" => YamlValue::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "y" | "Y" => {
            YamlValue::Truth(true)
        }
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "n" | "N" => {
            YamlValue::Truth(false)
        }
        _ => number(word).unwrap_or_else(|| YamlValue::Text(word.into())),
    }
}

fn number(word: &str) -> Option<YamlValue> {
    let begins = |sign: char| sign.is_ascii_digit() || "+-.".contains(sign);
    if !word.starts_with(begins) {
        return None;
    }
    if let Some(whole) = whole(word) {
        return Some(YamlValue::Number(word.into(), Some(whole)));
    }
    let plain = word.replace('_', "");
    let digits = plain.trim_start_matches(['+', '-']);
    let special = matches!(digits, ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN");
    let is_number = digits.starts_with(|sign: char| sign.is_ascii_digit() || sign == '.');
    let float = if is_number { plain.parse::<f64>().ok() } else { None };
    match float {
        None if special => Some(YamlValue::Number(word.into(), None)),
        None => None,
        // What Go writes as a whole number is read as one.
        Some(float) => {
            let exact = float.fract() == 0.0 && float.abs() < EXACT;
            let whole = exact.then_some(float as i64);
            Some(YamlValue::Number(word.into(), whole))
        }
    }
}

/// Decimal, `0x1f`, `0b1`, `0o17` and `017`, with `_` between digits.
fn whole(word: &str) -> Option<i64> {
    let plain = word.replace('_', "");
    let (sign, digits) = match plain.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", plain.strip_prefix('+').unwrap_or(&plain)),
    };
    let of = |digits: &str, radix| {
        let begins = digits.starts_with(|sign: char| sign.is_ascii_alphanumeric());
        begins.then(|| i64::from_str_radix(&format!("{sign}{digits}"), radix).ok())?
    };
    let prefixed = |prefix| digits.strip_prefix(prefix);
    if let Some(hex) = prefixed("0x") {
        return of(hex, 16);
    }
    if let Some(binary) = prefixed("0b") {
        return of(binary, 2);
    }
    if let Some(octal) = prefixed("0o").or_else(|| prefixed("0").filter(|rest| !rest.is_empty()))
        && let Some(whole) = of(octal, 8)
    {
        return Some(whole);
    }
    of(digits, 10)
}

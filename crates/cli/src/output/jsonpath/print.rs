//! Formats values as kubectl prints them: Go's texts, Go's JSON, Go's quoting.

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// In a template: lists and objects are JSON.
pub(super) fn printed(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Array(_) | Value::Object(_) => {
            let mut bytes = Vec::new();
            value
                .serialize(&mut Serializer::with_formatter(&mut bytes, GoJsonFormatter))
                .expect("memory takes it");
            String::from_utf8(bytes).expect("JSON is text")
        }
        scalar => shown(scalar),
    }
}

/// In a column: `map[cpu:4]`, `[a b]`, `<nil>`.
pub(crate) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(truth) => truth.to_string(),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => whole.to_string(),
            None => general(number.as_f64().unwrap_or(f64::NAN)),
        },
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(" ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("{name}:{}", shown(value)));
            format!("map[{}]", fields.collect::<Vec<_>>().join(" "))
        }
    }
}

/// The digits, and the power of ten of the first.
fn scientific(number: f64) -> (String, i32) {
    let text = format!("{number:e}");
    let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
    (digits.to_owned(), power.parse().unwrap_or(0))
}

/// `%v`
fn general(number: f64) -> String {
    match scientific(number) {
        (digits, power) if power < -4 => format!("{digits}e-{:02}", power.abs()),
        (digits, power) if power >= 21 => format!("{digits}e+{power:02}"),
        _ => number.to_string(),
    }
}

/// What Go's `json.Marshal` does with signs that mean something in HTML, and with numbers.
struct GoJsonFormatter;

impl Formatter for GoJsonFormatter {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, number: f64) -> io::Result<()> {
        match scientific(number) {
            (digits, power) if power < -6 => write!(writer, "{digits}e{power}"),
            (digits, power) if power >= 21 => write!(writer, "{digits}e+{power}"),
            _ => write!(writer, "{number}"),
        }
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, writer: &mut W, fragment: &str) -> io::Result<()> {
        for sign in fragment.chars() {
            match sign {
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => write!(writer, "\\u{:04x}", u32::from(sign))?,
                sign => write!(writer, "{sign}")?,
            }
        }
        Ok(())
    }
}

/// What stands in quotes, with Go's escapes; `None` if they are wrong.
pub(super) fn unquoted(text: &str, quote: char) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(sign) = rest.next() {
        if sign != '\\' {
            let mut room = [0; 4];
            bytes.extend_from_slice(sign.encode_utf8(&mut room).as_bytes());
            continue;
        }
        match rest.next()? {
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            't' => bytes.push(b'\t'),
            'n' => bytes.push(b'\n'),
            'v' => bytes.push(11),
            'f' => bytes.push(12),
            'r' => bytes.push(b'\r'),
            '\\' => bytes.push(b'\\'),
            'x' => bytes.push(u8::try_from(digits(&mut rest, 2, 16)?).ok()?),
            'u' => push(&mut bytes, digits(&mut rest, 4, 16)?)?,
            'U' => push(&mut bytes, digits(&mut rest, 8, 16)?)?,
            first @ '0'..='7' => {
                let more = digits(&mut rest, 2, 8)?;
                bytes.push(u8::try_from(first.to_digit(8)? * 64 + more).ok()?);
            }
            sign if sign == quote => bytes.push(u8::try_from(sign).ok()?),
            _ => return None,
        }
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn digits(rest: &mut std::str::Chars<'_>, count: usize, base: u32) -> Option<u32> {
    (0..count)
        .try_fold(0_u32, |number, _| number.checked_mul(base)?.checked_add(rest.next()?.to_digit(base)?))
}

fn push(bytes: &mut Vec<u8>, number: u32) -> Option<()> {
    let mut room = [0; 4];
    bytes.extend_from_slice(char::from_u32(number)?.encode_utf8(&mut room).as_bytes());
    Some(())
}

//! Formats values as kubectl prints them: Go's texts, Go's JSON, Go's quoting.

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{Formatter, Serializer};
use std::io::{self, Write};

/// The text in a template: lists and objects are JSON.
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

/// The text in a column: `map[cpu:4]`, `[a b]`, `<nil>`.
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

/// Writes HTML characters and numbers as Go's `json.Marshal` does.
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

//! Formats one log record as one line.
//!
//! - Invariant: no value breaks the line; values are cut at [`VALUE_MAX`] bytes.

use super::LogFormat;
use std::error::Error;
use std::fmt::{self, Write as _};
use taintward_core::text::error_chain;
use taintward_server::escape::{push_plain, push_quoted};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

/// The longest value that is shown whole, in bytes.
pub(super) const VALUE_MAX: usize = 4096;

/// Names that a JSON record uses itself.
const RESERVED: [&str; 4] = ["ts", "level", "v", "msg"];

/// Formats events as lines.
pub(super) struct LineFormatter {
    pub(super) format: LogFormat,
    pub(super) clock: fn() -> jiff::Timestamp,
}

impl<S, N> FormatEvent<S, N> for LineFormatter
where
    S: Subscriber + for<'span> LookupSpan<'span>,
    N: for<'writer> FormatFields<'writer> + 'static,
{
    fn format_event(
        &self,
        _: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut record = LogRecord::default();
        event.record(&mut record);
        let level = *event.metadata().level();
        let line = match self.format {
            LogFormat::Text => record.text(level, (self.clock)()),
            LogFormat::Json => record.json(level, (self.clock)()),
        };
        writer.write_str(&line)
    }
}

/// The content of a log event.
#[derive(Default)]
struct LogRecord {
    message: String,
    fields: Vec<(&'static str, FieldValue)>,
}

enum FieldValue {
    /// A number or a boolean: the same bytes in both formats.
    Bare(String),
    /// Any other value.
    Text(String),
}

impl LogRecord {
    fn text(&self, level: Level, now: jiff::Timestamp) -> String {
        let at = jiff::tz::Offset::UTC.to_datetime(now);
        let letter = match level {
            Level::ERROR => 'E',
            Level::WARN => 'W',
            _ => 'I',
        };
        let mut line = format!(
            "{letter}{:02}{:02} {:02}:{:02}:{:02}.{:06} ",
            at.month(),
            at.day(),
            at.hour(),
            at.minute(),
            at.second(),
            at.subsec_nanosecond() / 1000
        );
        push_plain(&mut line, &self.message);
        for (name, value) in &self.fields {
            line.push(' ');
            line.push_str(name);
            line.push('=');
            value.push(&mut line);
        }
        line.push('\n');
        line
    }

    fn json(&self, level: Level, now: jiff::Timestamp) -> String {
        let (word, verbosity) = match level {
            Level::ERROR => ("error", None),
            Level::WARN => ("warning", None),
            Level::INFO => ("info", Some(0)),
            Level::DEBUG => ("info", Some(2)),
            Level::TRACE => ("info", Some(4)),
        };
        let mut line = format!("{{\"ts\":\"{now:.6}\",\"level\":\"{word}\"");
        if let Some(v) = verbosity {
            // Writing to a String cannot fail.
            let _ = write!(line, ",\"v\":{v}");
        }
        line.push_str(",\"msg\":");
        push_quoted(&mut line, &self.message);
        for (name, value) in &self.fields {
            line.push_str(",\"");
            line.push_str(name);
            line.push_str(if RESERVED.contains(name) { "_\":" } else { "\":" });
            value.push(&mut line);
        }
        line.push_str("}\n");
        line
    }

    fn put(&mut self, field: &Field, value: FieldValue) {
        match (field.name(), value) {
            ("message", FieldValue::Bare(text) | FieldValue::Text(text)) => self.message = text,
            // Metadata of the bridge from the `log` crate, not part of the record.
            (name, _) if name.starts_with("log.") => {}
            (name, value) => self.fields.push((name.strip_prefix("r#").unwrap_or(name), value)),
        }
    }
}

impl FieldValue {
    fn push(&self, line: &mut String) {
        match self {
            Self::Bare(text) => line.push_str(text),
            Self::Text(text) => push_quoted(line, text),
        }
    }
}

impl Visit for LogRecord {
    fn record_f64(&mut self, field: &Field, value: f64) {
        let text = value.to_string();
        self.put(field, if value.is_finite() { FieldValue::Bare(text) } else { FieldValue::Text(text) });
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.put(field, FieldValue::Bare(value.to_string()));
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.put(field, FieldValue::Bare(value.to_string()));
    }

    fn record_i128(&mut self, field: &Field, value: i128) {
        self.put(field, FieldValue::Bare(value.to_string()));
    }

    fn record_u128(&mut self, field: &Field, value: u128) {
        self.put(field, FieldValue::Bare(value.to_string()));
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.put(field, FieldValue::Bare(value.to_string()));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.put(field, FieldValue::Text(bounded(format_args!("{value}"))));
    }

    fn record_error(&mut self, field: &Field, value: &(dyn Error + 'static)) {
        self.put(field, FieldValue::Text(bounded(format_args!("{}", error_chain(value)))));
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.put(field, FieldValue::Text(bounded(format_args!("{value:?}"))));
    }
}

/// The formatted text, at most [`VALUE_MAX`] bytes of it.
fn bounded(text: fmt::Arguments<'_>) -> String {
    let mut bounded = BoundedText(String::new());
    if bounded.write_fmt(text).is_err() {
        bounded.0.push_str("… (cut)");
    }
    bounded.0
}

/// A writer that is full after [`VALUE_MAX`] bytes.
struct BoundedText(String);

impl fmt::Write for BoundedText {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = VALUE_MAX - self.0.len();
        let fits = text.floor_char_boundary(room);
        self.0.push_str(&text[..fits]);
        if fits == text.len() { Ok(()) } else { Err(fmt::Error) }
    }
}

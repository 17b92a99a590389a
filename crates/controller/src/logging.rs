//! Sets up logging: levels, text or JSON, to standard error.

mod line_format;
mod log_counter;

use std::io;
use std::panic::PanicHookInfo;
use std::sync::atomic::{AtomicBool, Ordering};
pub use taintward_server::escape::escaped;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

/// The form of a log line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// `I1121 08:36:40.123456 message key="value"`, the time in UTC.
    #[default]
    Text,
    /// One JSON object with [`KEYS`].
    Json,
}

/// Settings of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogSettings {
    /// The form.
    pub format: LogFormat,
    /// The verbosity, 0 to 10, as in klog's `-v`.
    pub verbosity: u8,
}

/// The highest verbosity.
pub const VERBOSITY_MAX: u8 = 10;

/// The keys of log records, and what they hold; numbers and times that only one kind of record has are not listed. A
/// field named like one of the first four keys gets an underscore appended.
pub const KEYS: [(&str, &str); 14] = [
    ("ts", "the time, RFC 3339 in UTC with microseconds"),
    ("level", "`info`, `warning` or `error`"),
    ("v", "the verbosity from which the record is shown: 0, 2 or 4; only where the level is `info`"),
    ("msg", "what happened, always the same words for the same thing"),
    ("err", "what went wrong, with its causes, outermost first"),
    ("pod", "namespace/name of a pod"),
    ("uid", "the UID of that pod"),
    ("node", "the name of a node"),
    ("taint", "a taint as `kubectl taint` writes it: `key=value:Effect`"),
    ("reason", "why: the verdict, or what blocks it"),
    ("remedy", "what you can do about it"),
    ("flag", "the flag that a warning at start-up is about"),
    ("signal", "the signal that stopped the process"),
    ("code", "where a bug is in the source"),
];

/// Starts to log to standard error, for the rest of the process's life.
///
/// # Errors
/// If another logger already receives the log records of this process.
pub fn start(logging: LogSettings) -> Result<(), TryInitError> {
    subscriber(logging, io::stderr, jiff::Timestamp::now).try_init()?;
    log_panics();
    Ok(())
}

/// From now on a panic anywhere ends the process: a supervisor restarts it, and half a controller is worse than none
/// (P30). Call it after [`start`], or alone. `last`: what is done before the end, once: it may panic itself.
pub fn end_on_panic(last: impl Fn() + Send + Sync + 'static) {
    let (log, is_ending) = (std::panic::take_hook(), AtomicBool::new(false));
    std::panic::set_hook(Box::new(move |panic| {
        log(panic);
        if !is_ending.swap(true, Ordering::Relaxed) {
            last();
        }
        std::process::abort();
    }));
}

/// Turns the output of a panic, which is always a bug, into an ordinary log record.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let (cause, code) = cause_and_code(panic);
        let remedy = "report this line";
        tracing::error!(err = cause, code, remedy, "taintward stops because of a bug");
    }));
}

/// Turns the output of a panic into one sentence for a person, with a code for the report.
pub fn report_panics(report: fn(&str)) {
    std::panic::set_hook(Box::new(move |panic| {
        let (cause, code) = cause_and_code(panic);
        let version = env!("CARGO_PKG_VERSION");
        report(&format!(
            "taintward {version} stops because of a bug, code {code}: {cause}; report this line"
        ));
    }));
}

/// What a panic says, and the code of its place: the name of the source file without its folders, which are those of the
/// machine that built the program, and the line.
fn cause_and_code<'p>(panic: &'p PanicHookInfo<'_>) -> (&'p str, String) {
    let code = panic.location().map_or_else(String::new, |place| {
        let file = place.file().rsplit(['/', '\\']).next().unwrap_or_default();
        format!("{file}:{}", place.line())
    });
    (panic.payload_as_str().unwrap_or("no reason given"), code)
}

/// The subscriber of [`start`], with the caller's writer and clock.
pub fn subscriber<W>(
    logging: LogSettings,
    writer: W,
    clock: fn() -> jiff::Timestamp,
) -> impl Subscriber + Send + Sync
where
    W: for<'writer> MakeWriter<'writer> + Send + Sync + 'static,
{
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .log_internal_errors(false)
        .event_format(line_format::LineFormatter { format: logging.format, clock })
        .with_writer(writer)
        .with_filter(shown(logging.verbosity));
    tracing_subscriber::registry()
        .with(lines)
        .with(log_counter::LogCounter.with_filter(shown(logging.verbosity)))
}

/// Selects the records that are shown. Records of libraries are shown two steps later; their finest records are never
/// shown, because they may contain what was sent.
fn shown(verbosity: u8) -> Targets {
    let (ours, libraries) = match verbosity {
        0..=1 => (LevelFilter::INFO, LevelFilter::WARN),
        2..=3 => (LevelFilter::DEBUG, LevelFilter::WARN),
        4..=5 => (LevelFilter::TRACE, LevelFilter::WARN),
        6..=7 => (LevelFilter::TRACE, LevelFilter::INFO),
        _ => (LevelFilter::TRACE, LevelFilter::DEBUG),
    };
    Targets::new().with_default(libraries).with_target("taintward", ours)
}

#[cfg(test)]
pub(crate) mod tests;

//! Runs `taintward record`: fetches the record of a running controller into a file.

use crate::running_record::{RunningRecordArgs, RunningRecordError};
use crate::stderr;
use clap::Args;
use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Exit codes of `taintward record`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "The record is written"),
    (1, "The record could not be fetched or written, or the command line is invalid"),
];

/// The flags of `taintward record`.
#[derive(Debug, Args)]
pub(crate) struct RecordCommandArgs {
    /// The file to write, which must not exist; - is standard output
    #[arg(long, value_name = "FILE", default_value = "taintward.record")]
    out: PathBuf,
    #[command(flatten)]
    from: RunningRecordArgs,
}

/// Why no record was written.
#[derive(Debug, thiserror::Error)]
enum RecordCommandError {
    #[error(transparent)]
    Fetch(#[from] RunningRecordError),
    #[error("cannot write the record to {path}: {error}; name another file with --out")]
    Write { path: String, error: io::Error },
}

pub(crate) fn run(options: &RecordCommandArgs) -> ExitCode {
    stderr::exit_code(record(options))
}

fn record(options: &RecordCommandArgs) -> Result<(), RecordCommandError> {
    let record = options.from.fetch()?;
    let path = options.out.display().to_string();
    write(&options.out, &record).map_err(|error| RecordCommandError::Write { path: path.clone(), error })?;
    if path != "-" {
        let from = options.from.place();
        stderr::line("", format!("wrote {} bytes from {from} to {path}", record.len()));
    }
    Ok(())
}

/// Only the user may read the file: it has names and labels of objects.
fn write(path: &Path, record: &[u8]) -> io::Result<()> {
    if path == Path::new("-") {
        return io::stdout().write_all(record);
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(record)
}

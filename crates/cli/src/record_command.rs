//! Runs `taintward record`: writes the record of a running controller, or one that exists, to a file.

use crate::record_files::{self, RecordFilesError};
use crate::running_record::{RunningRecordArgs, RunningRecordError};
use crate::stderr;
use clap::Args;
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufWriter, Write};
use std::ops::ControlFlow;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use taintward_record::{Frame, FrameWriter, RecordError, RecordHeader, RecordReader, RecordedNames};

/// Exit codes of `taintward record`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "The record is written"),
    (1, "The record could not be fetched, read or written, or the command line is invalid"),
];

/// The flags of `taintward record`.
#[derive(Debug, Args)]
pub(crate) struct RecordCommandArgs {
    /// The file to write, which must not exist; - is standard output
    #[arg(long, value_name = "FILE", default_value = "taintward.record")]
    out: PathBuf,
    /// Another record than that of a running controller: a folder that --record-dir named, or a file. A folder becomes one file
    #[arg(short, long, value_name = "FILE|FOLDER")]
    filename: Option<PathBuf>,
    /// Replaces the names of nodes, pods, namespaces, workloads, labels and taints, so that you can give the record away. Equal
    /// names stay equal, and `taintward replay` decides the same
    #[arg(long)]
    redact: bool,
    #[command(flatten)]
    from: RunningRecordArgs,
}

/// Why no record was written.
#[derive(Debug, thiserror::Error)]
enum RecordCommandError {
    #[error(transparent)]
    Fetch(#[from] RunningRecordError),
    #[error(transparent)]
    Files(#[from] RecordFilesError),
    #[error("cannot write the record to {path}: {error}; name another file with --out")]
    Write { path: String, error: io::Error },
}

/// The record that is written.
enum RecordSource {
    /// In memory.
    Fetched(hyper::body::Bytes, String),
    Files(PathBuf),
}

pub(crate) fn run(options: &RecordCommandArgs) -> ExitCode {
    stderr::exit_code(record(options))
}

fn record(options: &RecordCommandArgs) -> Result<(), RecordCommandError> {
    let source = match &options.filename {
        Some(record) => RecordSource::Files(record.clone()),
        None => RecordSource::Fetched(options.from.fetch()?, options.from.place()),
    };
    let (mut program, names) = (None, options.redact.then(RecordedNames::default));
    source.read(&mut |header, frame| {
        program.get_or_insert_with(|| header.program.clone());
        names.as_ref().map_or(Ok(()), |names| names.read(frame))
    })?;
    let redaction = names.map(RecordedNames::redaction);
    let path = options.out.display().to_string();
    let failed = |error| RecordCommandError::Write { path: path.clone(), error };
    let sink = RecordSink::create(&options.out).map_err(failed)?;
    let program = program.as_deref().unwrap_or(env!("CARGO_PKG_VERSION"));
    let mut writer = FrameWriter::new(sink, program).map_err(failed)?;
    let mut broken = None;
    let read = source.read(&mut |_, frame| {
        let redacted = redaction.as_ref().map(|redaction| redaction.redact(frame)).transpose()?;
        if broken.is_none() {
            broken = writer.write(redacted.as_ref().unwrap_or(frame)).err();
        }
        Ok(())
    });
    let written = broken.map_or(Ok(()), Err).and_then(|()| writer.finish()).map_err(failed);
    match read.map_err(RecordCommandError::from).and(written) {
        Ok(sink) if path != "-" => {
            stderr::line("", format!("wrote {} bytes from {} to {path}", sink.bytes, source.place()));
        }
        Ok(_) => {}
        Err(error) => {
            if path != "-" {
                // A part of a record would look like one that was cut off.
                let _ = fs::remove_file(&options.out);
            }
            return Err(error);
        }
    }
    Ok(())
}

impl RecordSource {
    fn place(&self) -> String {
        match self {
            Self::Fetched(_, from) => from.clone(),
            Self::Files(path) => path.display().to_string(),
        }
    }

    /// Reads all frames, each with the header of its file. One that is cut off is left out.
    fn read(
        &self,
        each: &mut dyn FnMut(&RecordHeader, &Frame) -> Result<(), RecordError>,
    ) -> Result<(), RecordFilesError> {
        match self {
            Self::Files(path) => record_files::read_all(path, |_, reader| {
                read_frames(reader, each).map(|()| ControlFlow::Continue(()))
            }),
            Self::Fetched(record, from) => RecordReader::open(&record[..])
                .and_then(|mut reader| read_frames(&mut reader, each))
                .map_err(|error| RecordFilesError::Read { path: from.clone(), error }),
        }
    }
}

fn read_frames<R: BufRead>(
    reader: &mut RecordReader<R>,
    each: &mut dyn FnMut(&RecordHeader, &Frame) -> Result<(), RecordError>,
) -> Result<(), RecordError> {
    while let Some(frame) = reader.next_frame()? {
        each(reader.header(), &frame)?;
    }
    Ok(())
}

/// What is written, and how many bytes. Only the user may read a file: it has names and labels of objects.
struct RecordSink {
    sink: Box<dyn Write>,
    bytes: usize,
}

impl RecordSink {
    fn create(path: &Path) -> io::Result<Self> {
        let sink: Box<dyn Write> = match path == Path::new("-") {
            true => Box::new(io::stdout().lock()),
            false => Box::new(BufWriter::new(
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?,
            )),
        };
        Ok(Self { sink, bytes: 0 })
    }
}

impl Write for RecordSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.write(bytes)?;
        self.bytes += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

//! Finds and opens the files of a record that a command line names.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use taintward_record::{RecordError, RecordReader, record_files};

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordFilesError {
    #[error("{path}: {error}")]
    Read { path: String, error: RecordError },
    #[error("{0} contains no record; taintward run --record-dir writes one")]
    Empty(String),
}

impl RecordFilesError {
    pub(crate) fn read(path: &Path, error: RecordError) -> Self {
        Self::Read { path: path.display().to_string(), error }
    }
}

/// The files, the oldest first: those of a folder, or the one.
pub(crate) fn files(record: &Path) -> Result<Vec<PathBuf>, RecordFilesError> {
    if !record.is_dir() {
        return Ok(vec![record.to_owned()]);
    }
    let files = record_files(record).map_err(|error| RecordFilesError::read(record, error))?;
    if files.is_empty() {
        return Err(RecordFilesError::Empty(record.display().to_string()));
    }
    Ok(files)
}

/// Opens a file.
pub(crate) fn open(path: &Path) -> Result<RecordReader<BufReader<File>>, RecordError> {
    let open = |path| -> Result<_, io::Error> { Ok(BufReader::new(File::open(path)?)) };
    RecordReader::open(open(path)?)
}

//! Finds and opens the files of a record that a command line names.

use crate::counted_files::{CountedFile, CountedFiles};
use crate::stderr;
use std::io::BufReader;
use std::ops::ControlFlow;
use std::path::Path;
use taintward_record::{RecordError, RecordReader, record_files};

/// A file that is being read.
pub(crate) type RecordFile = RecordReader<BufReader<CountedFile>>;

/// Why a record cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RecordFilesError {
    #[error("{path}: {error}")]
    Read { path: String, error: RecordError },
    #[error("{0} contains no record; taintward run --record-dir writes one")]
    Empty(String),
}

impl RecordFilesError {
    fn read(path: &Path, error: RecordError) -> Self {
        Self::Read { path: path.display().to_string(), error }
    }
}

/// Reads the files, the oldest first: those of a folder, or the one. `read` may end it. Those of a folder that another
/// version has written in its own format are left out with a note, if there are others.
pub(crate) fn read_all(
    record: &Path,
    mut read: impl FnMut(&Path, &mut RecordFile) -> Result<ControlFlow<()>, RecordError>,
) -> Result<(), RecordFilesError> {
    if !record.is_dir() {
        let files = CountedFiles::new(&[record.to_owned()]);
        let read = open(&files, record).and_then(|mut reader| read(record, &mut reader));
        return read.map(drop).map_err(|error| RecordFilesError::read(record, error));
    }
    let (mut is_empty, mut other) = (true, None);
    let paths = record_files(record).map_err(|error| RecordFilesError::read(record, error))?;
    let files = CountedFiles::new(&paths);
    for path in paths {
        // One at a time: a record may have more files than a process may open.
        match open(&files, &path).and_then(|mut reader| read(&path, &mut reader)) {
            Ok(ControlFlow::Continue(())) => is_empty = false,
            Ok(ControlFlow::Break(())) => return Ok(()),
            Err(error @ RecordError::OtherFormat { .. }) => {
                stderr::note(format!("{} is left out: {error}", path.display()));
                other = Some(RecordFilesError::read(&path, error));
            }
            Err(error) => return Err(RecordFilesError::read(&path, error)),
        }
    }
    match is_empty {
        false => Ok(()),
        true => Err(other.unwrap_or_else(|| RecordFilesError::Empty(record.display().to_string()))),
    }
}

fn open(files: &CountedFiles, path: &Path) -> Result<RecordFile, RecordError> {
    RecordReader::open(BufReader::new(files.open(path)?))
}

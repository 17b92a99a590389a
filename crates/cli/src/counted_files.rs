//! Counts what is read from the files of a record, and shows it when that takes long.

use crate::progress::Progress;
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// How much of all files was read.
pub(crate) struct CountedFiles {
    counts: Rc<RefCell<ReadCounts>>,
}

struct ReadCounts {
    read: u64,
    all: u64,
    progress: Progress,
}

/// One of them.
pub(crate) struct CountedFile {
    file: File,
    counts: Rc<RefCell<ReadCounts>>,
}

impl CountedFiles {
    /// Knows the sizes of these files.
    pub(crate) fn new(files: &[PathBuf]) -> Self {
        let all = files.iter().filter_map(|file| file.metadata().ok()).map(|file| file.len()).sum();
        Self { counts: Rc::new(RefCell::new(ReadCounts { read: 0, all, progress: Progress::default() })) }
    }

    pub(crate) fn open(&self, path: &Path) -> io::Result<CountedFile> {
        Ok(CountedFile { file: File::open(path)?, counts: Rc::clone(&self.counts) })
    }
}

impl Read for CountedFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        let mut counts = self.counts.borrow_mut();
        counts.read += count as u64;
        let (read, all) = (counts.read, counts.all);
        counts.progress.at_byte(read, all);
        Ok(count)
    }
}

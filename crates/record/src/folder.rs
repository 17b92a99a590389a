//! Keeps a record in a folder: one file a segment, the oldest of which make room.

use crate::error::RecordError;
use crate::frame::{Frame, FrameContent, RecordedController};
use crate::reader::RecordHeader;
use jiff::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use taintward_core::time::{Mono, Now, Span, Wall};

/// How much of a record stays in its folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FolderLimits {
    /// The largest size of all files together, in bytes.
    pub bytes: u64,
    /// How old a file may be, by the time at which it begins.
    pub age: Span,
}

/// How often files are written through to the disk at most.
const SYNC_PERIOD: Span = Span::from_secs(1);

/// Names and labels are nothing for other users of the machine.
const MODE: u32 = 0o600;

/// The end of the names of a record's files.
const SUFFIX: &str = ".record";

/// The times in names: they sort as text.
const NAME_TIME: &str = "%Y%m%dT%H%M%S.%6fZ";

/// The files of a record, the oldest first.
///
/// # Errors
/// If the folder cannot be read.
pub fn record_files(folder: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        names.extend(name.to_str().filter(|name| begun_at(name).is_some()).map(str::to_owned));
    }
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

/// When a file of a record begins; `None` for other files.
fn begun_at(name: &str) -> Option<Wall> {
    let (time, _) = name.strip_suffix(SUFFIX)?.split_once("Z-")?;
    let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S.%f", time).ok()?;
    let micros = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().as_microsecond();
    Some(Wall::from_micros(micros))
}

/// A file that is being written.
struct OpenFile {
    path: PathBuf,
    file: File,
    is_synced: bool,
}

/// Writes the files.
pub(crate) struct FolderWriter {
    folder: PathBuf,
    header: RecordHeader,
    limits: FolderLimits,
    open: BTreeMap<RecordedController, OpenFile>,
    synced: Mono,
}

impl FolderWriter {
    /// Makes the folder if it does not exist, and checks that files can be made in it.
    pub(crate) fn new(folder: &Path, header: RecordHeader, limits: FolderLimits) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let probe = folder.join(format!(".{}{SUFFIX}", std::process::id()));
        File::create(&probe)?;
        fs::remove_file(&probe)?;
        let folder = folder.to_owned();
        Ok(Self { folder, header, limits, open: BTreeMap::new(), synced: Mono::from_micros(i64::MIN) })
    }

    /// Whether a segment of this controller has begun, and was not closed.
    pub(crate) fn is_open(&self, controller: RecordedController) -> bool {
        self.open.contains_key(&controller)
    }

    /// Adds nothing to the segment any more: it may end within a frame.
    pub(crate) fn close(&mut self, controller: RecordedController) {
        self.open.remove(&controller);
    }

    /// Writes a frame. A state begins a new file.
    pub(crate) fn write(&mut self, frame: &Frame, packed: &[u8], now: Now) -> io::Result<()> {
        if frame.content == FrameContent::State {
            self.begin(frame.controller, now)?;
        }
        let Some(open) = self.open.get_mut(&frame.controller) else { return Ok(()) };
        open.is_synced = false;
        open.file.write_all(packed)?;
        if now.mono.since(self.synced) >= SYNC_PERIOD {
            self.synced = now.mono;
            return self.sync();
        }
        Ok(())
    }

    /// Writes everything through to the disk.
    pub(crate) fn sync(&mut self) -> io::Result<()> {
        for open in self.open.values_mut().filter(|open| !open.is_synced) {
            open.file.sync_data()?;
            open.is_synced = true;
        }
        Ok(())
    }

    fn begin(&mut self, controller: RecordedController, now: Now) -> io::Result<()> {
        if let Some(ended) = self.open.remove(&controller) {
            ended.file.sync_data()?;
        }
        self.make_room(now)?;
        let path = self.folder.join(file_name(controller.as_str(), now.wall));
        let mut file = new_file(&path)?;
        file.write_all(&self.header.to_line())?;
        self.open.insert(controller, OpenFile { path, file, is_synced: false });
        Ok(())
    }

    /// Deletes the oldest files while there are too many bytes, or while they are too old.
    fn make_room(&self, now: Now) -> io::Result<()> {
        let files = record_files(&self.folder).map_err(io::Error::other)?;
        let mut sized = Vec::new();
        for path in files {
            sized.push((fs::metadata(&path)?.len(), path));
        }
        let mut total: u64 = sized.iter().map(|(bytes, _)| bytes).sum();
        let earliest = now.wall.as_micros().saturating_sub(self.limits.age.as_micros());
        let is_open = |path: &Path| self.open.values().any(|open| open.path == path);
        for (bytes, path) in sized.into_iter().filter(|(_, path)| !is_open(path)) {
            let begun = path.file_name().and_then(|name| begun_at(name.to_str()?));
            if total <= self.limits.bytes && begun.is_some_and(|begun| begun.as_micros() >= earliest) {
                break;
            }
            fs::remove_file(&path)?;
            total -= bytes;
        }
        Ok(())
    }
}

/// A file that only this user may read.
pub(crate) fn new_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(MODE).open(path)
}

/// The name of a file that begins, or was written, at this time.
pub(crate) fn file_name(of: &str, begun: Wall) -> String {
    let begun = Timestamp::from_microsecond(begun.as_micros()).unwrap_or_default();
    format!("{}-{of}{SUFFIX}", begun.strftime(NAME_TIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_when_a_file_begins_and_other_files_are_left_alone() {
        let begun = Wall::from_micros(1_800_000_000_123_456);
        let name = file_name("node-lifecycle-controller", begun);
        assert_eq!(name, "20270115T080000.123456Z-node-lifecycle-controller.record");
        assert_eq!(begun_at(&name), Some(begun));
        for other in ["notes.record", "20270115T080000.123456Z-a.txt", "2027Z-a.record", ".17.record"] {
            assert_eq!(begun_at(other), None, "{other}");
        }
    }
}

//! Receives the frames of taps, and keeps the record.

use crate::folder::{FolderLimits, FolderWriter};
use crate::frame::{Frame, FrameContent, RecordedController};
use crate::reader::RecordHeader;
use crate::ring::{Ring, RingLimits};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io, thread};
use taintward_core::time::Now;

/// The destination of a tap's frames.
pub trait FrameSink {
    /// Takes a frame. False: it was dropped, and the tap begins a new segment later.
    fn send(&self, frame: Frame, now: Now) -> bool;
}

/// How many frames may wait for a thread that writes them.
const QUEUE_MAX: usize = 64;

/// How long the end of the process waits for the disk.
const FINISH_MAX: Duration = Duration::from_secs(2);

/// The record of a process. Clones share it.
#[derive(Clone)]
pub struct EngineRecorder(RecorderKind);

#[derive(Clone)]
enum RecorderKind {
    Memory(Arc<MemoryRecord>),
    Folder(FolderRecord),
}

#[derive(Clone)]
struct FolderRecord {
    queue: SyncSender<Message>,
    broken: BrokenSegments,
}

/// The controllers whose segment could not be written, and that have not begun a new one since.
type BrokenSegments = Arc<Mutex<BTreeSet<RecordedController>>>;

struct MemoryRecord {
    header: RecordHeader,
    limits: RingLimits,
    rings: Mutex<BTreeMap<RecordedController, Ring>>,
}

enum Message {
    Frame(Frame, Now),
    /// Reply when everything before is on the disk.
    Sync(SyncSender<()>),
}

impl EngineRecorder {
    /// An empty record in memory. `program`: the version of the program.
    pub fn in_memory(program: &str, limits: RingLimits) -> Self {
        let header = RecordHeader::new(program);
        Self(RecorderKind::Memory(Arc::new(MemoryRecord { header, limits, rings: Mutex::default() })))
    }

    /// A record in a folder, which is made if it does not exist. A thread writes it.
    ///
    /// # Errors
    /// If files cannot be written there.
    pub fn in_folder(folder: &Path, program: &str, limits: FolderLimits) -> io::Result<Self> {
        let writer = FolderWriter::new(folder, RecordHeader::new(program), limits)?;
        let (queue, frames) = mpsc::sync_channel(QUEUE_MAX);
        let broken = BrokenSegments::default();
        let mut thread = WriterThread {
            writer,
            folder: folder.display().to_string(),
            broken: Arc::clone(&broken),
            failing: false,
        };
        thread::Builder::new().name("record".into()).spawn(move || thread.run(&frames))?;
        Ok(Self(RecorderKind::Folder(FolderRecord { queue, broken })))
    }

    /// The record so far, as a file; empty if it is in a folder.
    pub fn to_bytes(&self) -> Vec<u8> {
        let RecorderKind::Memory(record) = &self.0 else { return Vec::new() };
        let rings = lock(&record.rings);
        let mut bytes = record.header.to_line();
        rings.values().flat_map(Ring::frames).for_each(|frames| bytes.extend_from_slice(frames));
        bytes
    }

    /// Waits until everything that was sent is on the disk, for two seconds at most. For the end of the process.
    pub fn finish(&self) {
        if let RecorderKind::Folder(FolderRecord { queue, .. }) = &self.0 {
            let (queue, (done, wait)) = (queue.clone(), mpsc::sync_channel(1));
            // The queue may be full, and its thread may wait for a disk that does not respond.
            thread::spawn(move || queue.send(Message::Sync(done)));
            let _ = wait.recv_timeout(FINISH_MAX);
        }
    }
}

/// Two are equal if they are the same record.
impl PartialEq for EngineRecorder {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (RecorderKind::Memory(one), RecorderKind::Memory(two)) => Arc::ptr_eq(one, two),
            _ => false,
        }
    }
}

impl fmt::Debug for EngineRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            RecorderKind::Memory(_) => "EngineRecorder(memory)",
            RecorderKind::Folder(_) => "EngineRecorder(folder)",
        })
    }
}

impl FrameSink for EngineRecorder {
    fn send(&self, frame: Frame, now: Now) -> bool {
        match &self.0 {
            RecorderKind::Memory(record) => record.take(&frame, now),
            RecorderKind::Folder(record) => {
                let is_broken = lock(&record.broken).remove(&frame.controller);
                !is_broken && record.send(frame, now)
            }
        }
    }
}

impl FolderRecord {
    /// A tap pauses after a frame that was dropped, so that there are few of these lines.
    fn send(&self, frame: Frame, now: Now) -> bool {
        let controller = frame.controller.as_str();
        let sent = self.queue.try_send(Message::Frame(frame, now));
        if let Err(error) = &sent {
            let (err, reason) = (error.to_string(), "what happens meanwhile is missing in it");
            tracing::warn!(controller, err, reason, "cannot write the record");
        }
        sent.is_ok()
    }
}

impl MemoryRecord {
    fn take(&self, frame: &Frame, now: Now) -> bool {
        let Some(packed) = frame.pack() else { return false };
        let mut rings = lock(&self.rings);
        let ring = rings.entry(frame.controller).or_insert_with(|| Ring::new(self.limits));
        match frame.content {
            FrameContent::State => ring.begin(packed, now.mono),
            FrameContent::Calls => ring.push(&packed, now.mono),
        }
        true
    }
}

/// A thread that panicked left nothing that is half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread that writes to a folder.
struct WriterThread {
    writer: FolderWriter,
    folder: String,
    broken: BrokenSegments,
    failing: bool,
}

impl WriterThread {
    /// Writes frames until there is no sender any more.
    fn run(&mut self, messages: &Receiver<Message>) {
        while let Ok(message) = messages.recv() {
            match message {
                Message::Frame(frame, now) => self.write(&frame, now),
                Message::Sync(done) => {
                    let synced = self.writer.sync();
                    self.report(synced);
                    // An error means that nothing waits for it.
                    let _ = done.send(());
                }
            }
        }
    }

    fn write(&mut self, frame: &Frame, now: Now) {
        // The rest of a broken segment cannot be replayed.
        if frame.content == FrameContent::Calls && !self.writer.is_open(frame.controller) {
            return;
        }
        let packed = frame.pack().ok_or_else(|| io::Error::other("the state of an engine is too large"));
        let written = packed.and_then(|packed| self.writer.write(frame, &packed, now));
        if written.is_err() {
            self.writer.close(frame.controller);
            lock(&self.broken).insert(frame.controller);
        }
        self.report(written);
    }

    /// Logs that writing begins to fail, and that it works again.
    fn report(&mut self, written: io::Result<()>) {
        let folder = &*self.folder;
        match written {
            Err(error) if !self.failing => {
                self.failing = true;
                let (err, reason) = (error.to_string(), "what happens meanwhile is missing in it");
                tracing::warn!(folder, err, reason, "cannot write the record");
            }
            Ok(()) if self.failing => {
                self.failing = false;
                tracing::info!(folder, "the record is written again");
            }
            _ => {}
        }
    }
}

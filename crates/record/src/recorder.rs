//! Receives the frames of taps, and keeps the record.

use crate::folder::{FolderLimits, FolderWriter, file_name, new_file};
use crate::frame::{Frame, FrameContent, RecordedController};
use crate::open_block::OpenBlock;
use crate::reader::RecordHeader;
use crate::ring::{Ring, RingLimits};
use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use std::{fmt, io, thread};
use taintward_core::time::{Now, Wall};

/// The destination of a tap's frames.
pub trait FrameSink {
    /// Takes a frame. False: it was dropped, and the tap begins a new segment later.
    fn send(&self, frame: Frame, now: Now) -> bool;

    /// The block in which a tap keeps the calls that it has not sent yet.
    fn open_block(&self, _controller: RecordedController) -> OpenBlock {
        OpenBlock::new()
    }
}

/// How many frames may wait for a thread that writes them.
const QUEUE_MAX: usize = 64;

/// How long the end of the process waits for the disk.
const FINISH_MAX: Duration = Duration::from_secs(2);

/// The record of a process: the latest segments in memory, and all of them in a folder if there is one. Clones share it.
#[derive(Clone)]
pub struct EngineRecorder {
    memory: Arc<MemoryRecord>,
    /// The thread that packs frames; `None`: the caller does.
    thread: Option<RecordThread>,
}

#[derive(Clone)]
struct RecordThread {
    queue: SyncSender<Message>,
    broken: BrokenSegments,
    blocks: Arc<Mutex<Vec<(RecordedController, OpenBlock)>>>,
    folder: Option<Arc<Path>>,
}

/// The controllers whose segment could not be written, and that have not begun a new one since.
type BrokenSegments = Arc<Mutex<BTreeSet<RecordedController>>>;

struct MemoryRecord {
    header: RecordHeader,
    ring: Mutex<Ring>,
}

enum Message {
    Frame(Frame, Now),
    /// Reply when everything before is in the record.
    Sync(SyncSender<()>),
}

impl EngineRecorder {
    /// An empty record in memory, without a thread: a tap waits until a frame is packed. For virtual time. `program`: the
    /// version of the program.
    pub fn in_memory(program: &str, limits: RingLimits) -> Self {
        let header = RecordHeader::new(program);
        let memory = Arc::new(MemoryRecord { header, ring: Mutex::new(Ring::new(limits)) });
        Self { memory, thread: None }
    }

    /// A record that a thread writes: in memory, and in a folder if one is given, which is made if it does not exist.
    ///
    /// # Errors
    /// If the thread cannot start, or files cannot be written to the folder.
    pub fn in_background(
        program: &str,
        limits: RingLimits,
        folder: Option<(&Path, FolderLimits)>,
    ) -> io::Result<Self> {
        let Self { memory, .. } = Self::in_memory(program, limits);
        let path = folder.map(|(path, _)| path);
        let folder =
            folder.map(|(folder, limits)| FolderRecord::new(folder, &memory.header, limits)).transpose()?;
        let (queue, frames) = mpsc::sync_channel(QUEUE_MAX);
        let broken = BrokenSegments::default();
        let mut writer = RecordWriter { memory: Arc::clone(&memory), folder, broken: Arc::clone(&broken) };
        thread::Builder::new().name("record".into()).spawn(move || writer.run(&frames))?;
        let folder = path.map(Arc::from);
        Ok(Self { memory, thread: Some(RecordThread { queue, broken, blocks: Arc::default(), folder }) })
    }

    /// The latest segments, as a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let ring = lock(&self.memory.ring);
        let mut bytes = self.memory.header.to_line();
        ring.frames().for_each(|frames| bytes.extend_from_slice(frames));
        bytes
    }

    /// Writes the record up to this moment: to its folder, or as a new file to `otherwise`. Returns where it is. For a
    /// process that gets SIGUSR1, or ends suddenly.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write_out(&self, otherwise: &Path, now: Wall) -> io::Result<PathBuf> {
        self.send_open_blocks();
        self.finish();
        if let Some(folder) = self.thread.as_ref().and_then(|thread| thread.folder.as_deref()) {
            return Ok(folder.to_owned());
        }
        let path = otherwise.join(file_name("taintward", now));
        let mut file = new_file(&path)?;
        file.write_all(&self.to_bytes())?;
        Ok(path)
    }

    fn send_open_blocks(&self) {
        let Some(thread) = &self.thread else { return };
        for (controller, block) in lock(&thread.blocks).iter() {
            let content = FrameContent::Calls;
            let send = |bytes, now| thread.send(Frame { content, controller: *controller, bytes }, now);
            if !block.send_now(send) {
                lock(&thread.broken).insert(*controller);
            }
        }
    }

    /// Waits until everything that was sent is in the record, for two seconds at most. For the end of the process.
    pub fn finish(&self) {
        if let Some(RecordThread { queue, .. }) = &self.thread {
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
        Arc::ptr_eq(&self.memory, &other.memory)
    }
}

impl fmt::Debug for EngineRecorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EngineRecorder")
    }
}

impl FrameSink for EngineRecorder {
    fn send(&self, frame: Frame, now: Now) -> bool {
        match &self.thread {
            None => frame.pack().map(|packed| self.memory.take(&frame, &packed, now)).is_some(),
            Some(thread) => {
                let is_broken = lock(&thread.broken).remove(&frame.controller);
                !is_broken && thread.send(frame, now)
            }
        }
    }

    fn open_block(&self, controller: RecordedController) -> OpenBlock {
        let block = OpenBlock::new();
        if let Some(thread) = &self.thread {
            lock(&thread.blocks).push((controller, block.clone()));
        }
        block
    }
}

impl RecordThread {
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
    fn take(&self, frame: &Frame, packed: &[u8], now: Now) {
        let mut ring = lock(&self.ring);
        match frame.content {
            FrameContent::State => ring.begin(frame.controller, packed, now.mono),
            FrameContent::Calls => ring.push(frame.controller, packed, now.mono),
        }
    }
}

/// A thread that panicked left nothing that is half done.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the thread of a record does.
struct RecordWriter {
    memory: Arc<MemoryRecord>,
    folder: Option<FolderRecord>,
    broken: BrokenSegments,
}

impl RecordWriter {
    /// Writes frames until there is no sender any more.
    fn run(&mut self, messages: &Receiver<Message>) {
        while let Ok(message) = messages.recv() {
            match message {
                Message::Frame(frame, now) => self.write(&frame, now),
                Message::Sync(done) => {
                    self.folder.iter_mut().for_each(FolderRecord::sync);
                    // An error means that nothing waits for it.
                    let _ = done.send(());
                }
            }
        }
    }

    fn write(&mut self, frame: &Frame, now: Now) {
        let is_written = match frame.pack() {
            Some(packed) => {
                self.memory.take(frame, &packed, now);
                self.folder.as_mut().is_none_or(|folder| folder.write(frame, &packed, now))
            }
            None => {
                let (controller, reason) =
                    (frame.controller.as_str(), "the state of its engine is too large");
                tracing::warn!(controller, reason, "cannot write the record");
                false
            }
        };
        if !is_written {
            lock(&self.broken).insert(frame.controller);
        }
    }
}

/// The folder of a record, and whether it can be written.
struct FolderRecord {
    writer: FolderWriter,
    path: String,
    failing: bool,
}

impl FolderRecord {
    fn new(folder: &Path, header: &RecordHeader, limits: FolderLimits) -> io::Result<Self> {
        let writer = FolderWriter::new(folder, header.clone(), limits)?;
        Ok(Self { writer, path: folder.display().to_string(), failing: false })
    }

    /// Writes a packed frame. False: its segment is broken.
    fn write(&mut self, frame: &Frame, packed: &[u8], now: Now) -> bool {
        // The rest of a broken segment cannot be replayed.
        if frame.content == FrameContent::Calls && !self.writer.is_open(frame.controller) {
            return true;
        }
        let written = self.writer.write(frame, packed, now);
        let is_written = written.is_ok();
        if !is_written {
            self.writer.close(frame.controller);
        }
        self.report(written);
        is_written
    }

    fn sync(&mut self) {
        let synced = self.writer.sync();
        self.report(synced);
    }

    /// Logs that writing begins to fail, and that it works again.
    fn report(&mut self, written: io::Result<()>) {
        let folder = &*self.path;
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

//! Reads the output of a child process line by line, and polls a condition, with a time limit.

#![allow(dead_code, reason = "each test binary uses some of it")]

use std::io::Read;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use testkit::wait::until_blocking;

/// On a busy machine, everything arrives within this if it arrives at all.
pub(crate) const STARTUP_TIMEOUT: Duration = Duration::from_secs(120);

/// The output of a program, read immediately, so that the program never blocks on a full pipe. Behind a lock, because
/// threads of tests share it.
pub(crate) struct Output(Mutex<Receiver<Vec<u8>>>);

impl Output {
    pub(crate) fn of(mut from: impl Read + Send + 'static) -> Self {
        let (send, message) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = from.read(&mut bytes) {
                if send.send(bytes[..count].to_vec()).is_err() {
                    break;
                }
            }
        });
        Self(Mutex::new(message))
    }

    /// The next piece; `None` at the end.
    ///
    /// # Panics
    /// If there is no output for [`STARTUP_TIMEOUT`]; `before` is the earlier output.
    pub(crate) fn more(&self, before: impl AsRef<[u8]>) -> Option<Vec<u8>> {
        match self.0.lock().unwrap().recv_timeout(STARTUP_TIMEOUT) {
            Ok(bytes) => Some(bytes),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => {
                panic!("no output came after {:?}", String::from_utf8_lossy(before.as_ref()))
            }
        }
    }
}

/// The output, line by line.
pub(crate) struct Lines {
    message: Output,
    rest: Vec<u8>,
    last: String,
}

impl Lines {
    pub(crate) fn of(from: impl Read + Send + 'static) -> Self {
        Self { message: Output::of(from), rest: Vec::new(), last: String::new() }
    }

    /// The next line, without its line break; `None` after the last.
    pub(crate) fn next(&mut self) -> Option<String> {
        let end = loop {
            if let Some(at) = self.rest.iter().position(|byte| *byte == b'\n') {
                break at + 1;
            }
            match self.message.more(&self.last) {
                Some(bytes) => self.rest.extend(bytes),
                None if self.rest.is_empty() => return None,
                None => break self.rest.len(),
            }
        };
        let line: Vec<u8> = self.rest.drain(..end).collect();
        self.last = String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned();
        Some(self.last.clone())
    }
}

/// Repeats a check until it returns a value.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, probe: impl FnMut() -> Option<T>) -> T {
    until_blocking(what, STARTUP_TIMEOUT, probe)
}

//! Holds the calls that wait to be sent to the record: a process that ends suddenly takes them from here.

use crate::call::{CallEncoder, EngineCall};
use serde::Serialize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use taintward_core::time::Now;

/// The latest calls of one engine. Clones share it.
#[derive(Clone)]
pub struct OpenBlock(Arc<Mutex<CallEncoder>>);

impl OpenBlock {
    /// A block without calls.
    pub fn new() -> Self {
        Self(Arc::new(Mutex::new(CallEncoder::new())))
    }

    /// The length of its calls, in bytes.
    pub(crate) fn len(&self) -> usize {
        self.encoder().len()
    }

    /// Adds a call. After an error, the block is unusable.
    pub(crate) fn push<I: Serialize, F: Serialize, N: Serialize>(
        &self,
        call: &EngineCall<I, F, N>,
        now: Now,
    ) -> Result<(), postcard::Error> {
        self.encoder().push(call, now)
    }

    /// Drops its calls.
    pub(crate) fn clear(&self) {
        self.encoder().take();
    }

    /// Sends its calls, and empties it; no others are sent meanwhile, so that they stay in order. Returns the length, and
    /// whether they were sent.
    pub(crate) fn send(&self, send: impl FnOnce(Vec<u8>) -> bool) -> (usize, bool) {
        let mut encoder = self.encoder();
        let bytes = encoder.take();
        let length = bytes.len();
        let is_sent = length == 0 || send(bytes);
        drop(encoder);
        (length, is_sent)
    }

    /// The same for another thread than the engine's: false if its calls could not be sent.
    pub(crate) fn send_now(&self, send: impl FnOnce(Vec<u8>, Now) -> bool) -> bool {
        let mut encoder = match self.0.try_lock() {
            Ok(encoder) => encoder,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The thread that panicked may hold it.
            Err(TryLockError::WouldBlock) => return true,
        };
        let last = encoder.last();
        let bytes = encoder.take();
        bytes.is_empty() || send(bytes, last)
    }

    /// A thread that panicked while it added a call is about to end the process.
    fn encoder(&self) -> MutexGuard<'_, CallEncoder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for OpenBlock {
    fn default() -> Self {
        Self::new()
    }
}

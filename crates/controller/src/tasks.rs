//! Aborts spawned tasks when their owner is dropped.

use tokio::task::{AbortHandle, JoinHandle};

/// Tasks that are never awaited.
pub(crate) struct TaskSet(pub(crate) Vec<JoinHandle<()>>);

impl Drop for TaskSet {
    fn drop(&mut self) {
        self.0.iter().for_each(JoinHandle::abort);
    }
}

/// A task that may be awaited.
pub(crate) struct AbortOnDrop(pub(crate) AbortHandle);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}

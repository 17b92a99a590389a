//! Runs async work on a single-threaded tokio runtime that ends without waiting for blocked lookups or files.

use std::io;
use tokio::runtime::Builder;

/// A runtime; on drop, it does not wait for the tasks that still run.
pub(crate) struct Runtime(Option<tokio::runtime::Runtime>);

impl Runtime {
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self(Some(Builder::new_current_thread().enable_all().build()?)))
    }

    pub(crate) fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.0.as_ref().expect("taken only by drop").block_on(work)
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

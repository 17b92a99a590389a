//! Keeps every core busy until [`CpuLoad`] is dropped.

use std::hint;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// One thread for each core, at ordinary priority, that only counts.
pub(crate) struct CpuLoad {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl CpuLoad {
    pub(crate) fn start() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let cores = thread::available_parallelism().map_or(1, NonZero::get);
        let spin = |stop: Arc<AtomicBool>| {
            move || {
                while !stop.load(Ordering::Relaxed) {
                    hint::spin_loop();
                }
            }
        };
        let threads = (0..cores).map(|_| thread::spawn(spin(stop.clone()))).collect();
        Self { stop, threads }
    }
}

impl Drop for CpuLoad {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread that only counts cannot have panicked.
            let _ = thread.join();
        }
    }
}

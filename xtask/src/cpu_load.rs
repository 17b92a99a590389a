//! Keeps every core busy until [`CpuLoad`] is dropped.

use std::hint;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;

/// One thread for each core, at ordinary priority, that only counts. The threads end when this is dropped.
pub(crate) struct CpuLoad {
    _running: Arc<()>,
}

impl CpuLoad {
    pub(crate) fn start() -> Self {
        let running = Arc::new(());
        for _ in 0..thread::available_parallelism().map_or(1, NonZero::get) {
            let load = Arc::downgrade(&running);
            thread::spawn(move || {
                while load.strong_count() > 0 {
                    hint::spin_loop();
                }
            });
        }
        Self { _running: running }
    }
}

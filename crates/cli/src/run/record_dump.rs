//! Writes the record out when the process gets SIGUSR1, and before a panic ends it.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use std::{env, io, thread};
use taintward_kube::clock::Clock;
use taintward_record::EngineRecorder;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::spawn_blocking;

/// How long a panic waits for the record.
const PANIC_MAX: Duration = Duration::from_secs(5);

/// Writes the record at each SIGUSR1, as long as the runtime exists.
pub(super) fn on_signal(recorder: EngineRecorder) -> io::Result<()> {
    let mut signals = signal(SignalKind::user_defined1())?;
    tokio::spawn(async move {
        while signals.recv().await.is_some() {
            let recorder = recorder.clone();
            // An error means that it panicked, which ends the process.
            let _ = spawn_blocking(move || write(&recorder, &env::temp_dir())).await;
        }
    });
    Ok(())
}

/// Writes the record before the process ends. The thread that panicked may hold what another needs, so that this one
/// waits only for a while.
pub(super) fn on_panic(recorder: &EngineRecorder, folder: &Path) {
    let (recorder, folder) = (recorder.clone(), folder.to_owned());
    let (done, wait) = mpsc::sync_channel(1);
    let started = thread::Builder::new().spawn(move || {
        write(&recorder, &folder);
        let _ = done.send(());
    });
    if started.is_ok() {
        let _ = wait.recv_timeout(PANIC_MAX);
    }
}

/// Without `--record-dir`, the record is a new file of this folder.
fn write(recorder: &EngineRecorder, folder: &Path) {
    match recorder.write_out(folder, Clock::system().now().wall) {
        Ok(path) => tracing::warn!(path = %path.display(), "the record is written"),
        Err(error) => {
            let (err, remedy) =
                (error.to_string(), "set TMPDIR to a folder that can be written, or --record-dir");
            tracing::warn!(err, remedy, "cannot write the record");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use taintward_record::testkit::TappedLoop;
    use taintward_record::{RecordReader, RingLimits, SegmentLimits, record_files};

    #[test]
    fn a_panic_leaves_a_record_with_the_last_calls() {
        let folder = env::temp_dir().join(format!("taintward-panic-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let recorder = EngineRecorder::in_background("0.1.0", RingLimits::default(), None).unwrap();
        // Its calls wait in the block: they are sent every second only.
        TappedLoop::new(recorder.clone(), SegmentLimits::default()).turn(Clock::system().now());
        on_panic(&recorder, &folder);
        let [file] = &record_files(&folder).unwrap()[..] else { panic!("one file") };
        let record = fs::read(file).unwrap();
        let mut reader = RecordReader::open(&record[..]).unwrap();
        assert_eq!(std::iter::from_fn(|| reader.next_frame().unwrap()).count(), 2, "a state and calls");
        fs::remove_dir_all(&folder).unwrap();
    }
}

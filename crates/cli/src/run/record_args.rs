//! Defines the flags of `taintward run` about the record of what the controllers observed and did.

use crate::args::duration;
use clap::Args;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use taintward_core::quantity::Quantity;
use taintward_core::time::Span;
use taintward_record::{EngineRecorder, FolderLimits, RingLimits};

/// The smallest size of a record: one segment of a busy cluster fits.
const SIZE_MIN: i64 = 1 << 20;

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The record")]
pub(super) struct RecordArgs {
    /// The folder for a record of every event that the controllers receive and of every decision; taintward history and
    /// taintward replay read it. It contains names and labels of nodes and pods. Without this flag, only the last ten
    /// minutes are kept, in at most 16 MiB of memory
    #[arg(long, value_name = "FOLDER")]
    record_dir: Option<PathBuf>,
    /// The largest size of the record; the oldest files make room
    #[arg(long, value_name = "SIZE", default_value = "256Mi", value_parser = size)]
    record_max_size: u64,
    /// The age from which files of the record are deleted
    #[arg(long, value_name = "DURATION", default_value = "72h", value_parser = duration::parse)]
    record_max_age: Duration,
}

impl RecordArgs {
    /// Begins the record.
    pub(super) fn recorder(&self) -> io::Result<EngineRecorder> {
        let age = Span::from_micros(i64::try_from(self.record_max_age.as_micros()).unwrap_or(i64::MAX));
        let limits = FolderLimits { bytes: self.record_max_size, age };
        let folder = self.record_dir.as_deref().map(|folder| (folder, limits));
        EngineRecorder::in_background(env!("CARGO_PKG_VERSION"), RingLimits::default(), folder)
    }

    /// The place of the record, for an error.
    pub(super) fn place(&self) -> String {
        self.record_dir.as_ref().map_or_else(|| "memory".to_owned(), |folder| folder.display().to_string())
    }
}

/// Parses a size as Kubernetes writes quantities.
fn size(text: &str) -> Result<u64, &'static str> {
    let bytes = Quantity::parse(text).ok().map(Quantity::units).filter(|bytes| *bytes >= SIZE_MIN);
    bytes.map(i64::unsigned_abs).ok_or("expected a size of at least 1Mi, such as 64Mi or 2Gi")
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_quantities_of_at_least_a_mebibyte() {
        assert_eq!(size("1Mi"), Ok(1 << 20));
        assert_eq!(size("2Gi"), Ok(2 << 30));
        assert_eq!(size("5M"), Ok(5_000_000));
        for wrong in ["", "0", "-1Gi", "1023Ki", "64MB", "much"] {
            assert!(size(wrong).is_err_and(|error| error.contains("at least 1Mi")), "{wrong}");
        }
    }
}

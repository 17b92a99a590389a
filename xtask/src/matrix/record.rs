//! Keeps the results of the tests on one version of Kubernetes.

use super::probes::Probes;
use crate::sources;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::{fs, io};
use taintward_envtest::Release;

/// The results of one version.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The tested version; a new pin begins a new record.
    pin: String,
    pub(crate) probes: Probes,
    /// By the name of the test program.
    pub(crate) suites: BTreeMap<String, SuiteResult>,
}

/// The results of one test program.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct SuiteResult {
    pub(crate) passed: BTreeSet<String>,
    /// The passed tests that passed only when they ran again, alone.
    pub(crate) passed_alone: BTreeSet<String>,
    pub(crate) failed: BTreeSet<String>,
    /// With what they need.
    pub(crate) skipped: BTreeMap<String, String>,
    pub(crate) seconds: u64,
}

impl SuiteResult {
    pub(crate) fn in_words(&self) -> String {
        let (passed, failed, skipped) = (self.passed.len(), self.failed.len(), self.skipped.len());
        format!("{passed} passed, {failed} failed, {skipped} skipped in {} s", self.seconds)
    }
}

impl Record {
    /// The record of a version; empty if it was not tested yet.
    pub(crate) fn read(release: &Release) -> Result<Self> {
        let file = file(release);
        let none = Self { pin: release.version().to_owned(), ..Self::default() };
        let record: Self = match fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text).with_context(|| {
                format!("cannot parse {}; remove it, and run this version again", file.display())
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(none),
            Err(error) => return Err(error).with_context(|| format!("reading {}", file.display())),
        };
        Ok(if record.pin == none.pin { record } else { none })
    }

    pub(crate) fn write(&self, release: &Release) -> Result<()> {
        let file = file(release);
        let phase = file.with_extension("new");
        fs::write(&phase, serde_json::to_string_pretty(self)? + "\n")?;
        fs::rename(phase, file)?;
        Ok(())
    }
}

/// In the repository, next to the pins, so that the page can be written if only some versions ran.
fn file(release: &Release) -> PathBuf {
    sources::root().join(format!("xtask/cluster/results/{}.json", release.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_envtest::releases::RELEASES;

    #[test]
    fn every_record_can_be_read() {
        for release in &RELEASES {
            let record = Record::read(release).unwrap();
            assert!(!record.suites.is_empty(), "no result is recorded for Kubernetes {}", release.name());
        }
    }
}

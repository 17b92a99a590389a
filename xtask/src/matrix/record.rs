//! Keeps what came of the tests on one version of Kubernetes.

use super::probes::Probes;
use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::{fs, io};
use taintward_envtest::Release;

/// One version. A new pin begins a new one: it lies in the folder of the pin's binaries.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) probes: Probes,
    /// By the name of the test program.
    pub(crate) suites: BTreeMap<String, SuiteResult>,
}

/// What came of one test program.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct SuiteResult {
    pub(crate) passed: BTreeSet<String>,
    /// Of these, the ones that passed only when they ran again, alone.
    pub(crate) passed_alone: BTreeSet<String>,
    pub(crate) failed: BTreeSet<String>,
    /// With what they lack.
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
    /// What is recorded; nothing if nothing was tried yet.
    pub(crate) fn read(release: &Release) -> Result<Self> {
        let file = file(release)?;
        match fs::read_to_string(&file) {
            Ok(text) => serde_json::from_str(&text).with_context(|| {
                format!("{} cannot be read; remove it, and run this version again", file.display())
            }),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("reading {}", file.display())),
        }
    }

    pub(crate) fn write(&self, release: &Release) -> Result<()> {
        let file = file(release)?;
        let half = file.with_extension("new");
        fs::write(&half, serde_json::to_string_pretty(self)?)?;
        fs::rename(half, file)?;
        Ok(())
    }
}

fn file(release: &Release) -> Result<PathBuf> {
    Ok(release.folder()?.join("matrix.json"))
}

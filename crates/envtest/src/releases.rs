//! Lists the versions of Kubernetes whose control planes are pinned, and selects one.

use crate::pinned_tool::PinnedTool;
use anyhow::{Context as _, Result};
use std::env;
use std::path::PathBuf;

/// The variable that selects the version of all binaries, such as `TAINTWARD_KUBERNETES=1.34`.
pub const CHOICE: &str = "TAINTWARD_KUBERNETES";

/// The version if none is selected. Its go.mod also pins etcd, for all versions.
const DEFAULT: &str = "1.36";

/// A version of Kubernetes that is pinned.
#[derive(Debug)]
pub struct Release(pub(crate) PinnedTool);

macro_rules! pinned {
    ($name:literal, $folder:literal) => {
        Release(PinnedTool {
            name: $name,
            go_mod: include_str!(concat!("../../../xtask/", $folder, "/go.mod")),
            go_sum: include_str!(concat!("../../../xtask/", $folder, "/go.sum")),
        })
    };
}

/// All of them, oldest first.
pub static RELEASES: [Release; 8] = [
    pinned!("cluster-1.30", "cluster/1.30"),
    pinned!("cluster-1.31", "cluster/1.31"),
    pinned!("cluster-1.32", "cluster/1.32"),
    pinned!("cluster-1.33", "cluster/1.33"),
    pinned!("cluster-1.34", "cluster/1.34"),
    pinned!("cluster-1.35", "cluster/1.35"),
    pinned!("cluster", "cluster"),
    pinned!("cluster-1.37", "cluster/1.37"),
];

impl Release {
    /// The pinned version, such as `v1.36.3`.
    ///
    /// # Panics
    ///
    /// The go.mod does not pin Kubernetes, which the tests of this file exclude.
    pub fn version(&self) -> &'static str {
        self.0.kubernetes().expect("each go.mod of a release pins Kubernetes")
    }

    /// The short version, such as `1.36`.
    pub fn name(&self) -> &'static str {
        let version = self.version().trim_start_matches('v');
        version.rsplit_once('.').map_or(version, |(name, _)| name)
    }

    /// The folder for the binaries and other data of exactly this pin.
    pub fn folder(&self) -> Result<PathBuf> {
        self.0.folder()
    }

    /// The release with this short version.
    pub fn named(name: &str) -> Result<&'static Self> {
        RELEASES.iter().find(|release| release.name() == name).with_context(|| {
            let names: Vec<&str> = RELEASES.iter().map(Self::name).collect();
            format!("Kubernetes {name:?} is not pinned here; choose one of {}", names.join(", "))
        })
    }

    /// The release that [`CHOICE`] selects, or the default.
    pub fn chosen() -> Result<&'static Self> {
        match env::var(CHOICE) {
            Ok(name) => Self::named(&name).with_context(|| format!("reading {CHOICE}")),
            Err(_) => Ok(Self::default()),
        }
    }

    /// The release that CI tests.
    pub(crate) fn default() -> &'static Self {
        Self::named(DEFAULT).expect("the default is pinned")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_minor_version_is_pinned_once_in_a_folder_of_its_name() {
        let names: Vec<&str> = RELEASES.iter().map(Release::name).collect();
        assert_eq!(names, ["1.30", "1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37"]);
        for release in &RELEASES {
            let folder = match release.name() {
                DEFAULT => "cluster".to_owned(),
                name => format!("cluster-{name}"),
            };
            assert_eq!(release.0.name, folder);
        }
    }

    #[test]
    fn staging_modules_are_of_the_same_version() {
        for release in &RELEASES {
            let wanted = release.version().replacen("v1.", "v0.", 1);
            let replaced: Vec<&str> =
                release.0.go_mod.lines().filter_map(|line| Some(line.split_once(" => k8s.io/")?.1)).collect();
            assert!(replaced.len() > 20, "{}", release.name());
            for line in replaced {
                assert_eq!(line.split(' ').nth(1), Some(wanted.as_str()), "{}: {line}", release.name());
            }
        }
    }

    #[test]
    fn a_version_that_is_not_pinned_is_refused_with_those_that_are() {
        let error = Release::named("1.29").unwrap_err().to_string();
        assert_eq!(
            error,
            "Kubernetes \"1.29\" is not pinned here; choose one of 1.30, 1.31, 1.32, 1.33, 1.34, 1.35, 1.36, 1.37"
        );
    }
}

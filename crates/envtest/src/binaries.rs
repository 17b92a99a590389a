//! Finds the binaries of a control plane, or builds the missing ones from their pinned Go modules into the user's
//! cache.
//!
//! - Binaries in `KUBEBUILDER_ASSETS` come first; KWOK, Helm, promtool, Prometheus and actionlint are built only on
//!   request.
//! - See `releases.rs` for the versions, `servers.rs` and `kwok.rs` for starting them.

use crate::pinned_tool::PinnedTool;
use crate::releases::{self, Release};
use anyhow::{Context as _, Result, bail, ensure};
use std::env;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that some tests need in addition to the control plane, built once from its pinned Go module.
pub struct OptionalProgram {
    tool: PinnedTool,
    title: &'static str,
    package: &'static str,
    /// How long a build takes on two cores.
    build_time: &'static str,
}

/// Runs pods without containers.
pub const KWOK: OptionalProgram = OptionalProgram {
    tool: PinnedTool {
        name: "kwok",
        go_mod: include_str!("../../../xtask/kwok/go.mod"),
        go_sum: include_str!("../../../xtask/kwok/go.sum"),
    },
    title: "KWOK",
    package: "sigs.k8s.io/kwok/cmd/kwok",
    build_time: "2 minutes",
};

/// Renders charts.
pub const HELM: OptionalProgram = OptionalProgram {
    tool: PinnedTool {
        name: "helm",
        go_mod: include_str!("../../../xtask/helm/go.mod"),
        go_sum: include_str!("../../../xtask/helm/go.sum"),
    },
    title: "Helm",
    package: "helm.sh/helm/v3/cmd/helm",
    build_time: "4 minutes",
};

/// Checks and tests alerts and queries.
pub const PROMTOOL: OptionalProgram = OptionalProgram {
    tool: PinnedTool {
        name: "promtool",
        go_mod: include_str!("../../../xtask/promtool/go.mod"),
        go_sum: include_str!("../../../xtask/promtool/go.sum"),
    },
    title: "promtool",
    package: "github.com/prometheus/prometheus/cmd/promtool",
    build_time: "5 minutes",
};

/// Checks the workflows in `.github`.
pub const ACTIONLINT: OptionalProgram = OptionalProgram {
    tool: PinnedTool {
        name: "actionlint",
        go_mod: include_str!("../../../xtask/actionlint/go.mod"),
        go_sum: include_str!("../../../xtask/actionlint/go.sum"),
    },
    title: "actionlint",
    package: "github.com/rhysd/actionlint/cmd/actionlint",
    build_time: "a minute",
};

/// Of the same module as promtool; what the two have in common is not built twice.
pub const PROMETHEUS: OptionalProgram = OptionalProgram {
    tool: PinnedTool { name: "prometheus", ..PROMTOOL.tool },
    title: "Prometheus",
    package: "github.com/prometheus/prometheus/cmd/prometheus",
    build_time: "4 minutes",
};

/// Kubernetes' programs, the Go package of each, and what they are needed for. The biggest comes first, because the
/// others reuse what they share with it.
const PROGRAMS: [(&str, &str, ToolUse); 4] = [
    ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", ToolUse::Always),
    ("kubectl", "k8s.io/kubernetes/cmd/kubectl", ToolUse::Sometimes),
    ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", ToolUse::Sometimes),
    ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", ToolUse::Sometimes),
];

/// etcd, whose one version, pinned with the default release, serves all releases.
const ETCD: (&str, &str) = ("etcd", "go.etcd.io/etcd/server/v3");

#[derive(Clone, Copy, PartialEq, Eq)]
enum ToolUse {
    Always,
    /// Comparisons and demonstrations; a folder in `KUBEBUILDER_ASSETS` may lack it.
    Sometimes,
}

/// The folders with the binaries.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
    etcd_folder: PathBuf,
}

impl Binaries {
    /// Finds the binaries without building anything.
    pub fn find() -> Result<Self> {
        match assets()? {
            Some(folder) => Self::within(&folder, &folder, ToolUse::Always)
                .with_context(|| format!("KUBEBUILDER_ASSETS is {}", folder.display())),
            None => Self::of(Release::chosen()?),
        }
    }

    /// Finds the binaries, or builds them: about 8 minutes on two cores, once.
    pub fn find_or_build() -> Result<Self> {
        if assets()?.is_some() { Self::find() } else { Self::build(Release::chosen()?) }
    }

    /// Finds the binaries of a pinned version without building anything.
    pub fn of(release: &Release) -> Result<Self> {
        let (folder, etcd) = (release.0.folder()?, Release::default().0.folder()?);
        Self::within(&folder.join("bin"), &etcd.join("bin"), ToolUse::Sometimes).with_context(|| {
            format!(
                "the control plane's binaries are not all there; `cargo xtask cluster build --version {}` builds what is \
                 missing",
                release.name()
            )
        })
    }

    /// Finds the binaries of a pinned version, or builds the missing ones.
    pub fn build(release: &Release) -> Result<Self> {
        let programs = PROGRAMS.map(|(name, package, _)| (name, package));
        let what = format!("the control plane of Kubernetes {}", release.name());
        let folder = release.0.build(&programs, &what, "8 minutes")?;
        let etcd_folder = Release::default().0.build(&[ETCD], "etcd", "a minute")?;
        Ok(Self { folder, etcd_folder })
    }

    /// The path of one program.
    pub fn path(&self, program: &str) -> Result<PathBuf> {
        let folder = if program == ETCD.0 { &self.etcd_folder } else { &self.folder };
        let path = folder.join(program);
        if !path.is_file() {
            bail!("{} is missing; unset KUBEBUILDER_ASSETS to have it built", path.display());
        }
        Ok(path)
    }

    /// The minor version of Kubernetes 1, as reported by the API server.
    pub fn minor(&self) -> Result<u32> {
        let output = Command::new(self.path("kube-apiserver")?).arg("--version").output()?;
        let output_text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let minor =
            output_text.strip_prefix("Kubernetes v1.").and_then(|rest| rest.split('.').next()?.parse().ok());
        minor.with_context(|| {
            format!("`kube-apiserver --version` says {output_text:?}, which is not a version of Kubernetes 1")
        })
    }

    fn within(folder: &Path, etcd_folder: &Path, need: ToolUse) -> Result<Self> {
        let programs =
            PROGRAMS.iter().filter(|(.., when)| need == ToolUse::Sometimes || *when == ToolUse::Always);
        let all = programs.map(|(name, ..)| (*name, folder)).chain([(ETCD.0, etcd_folder)]);
        let missing: Vec<String> = all
            .filter(|(name, folder)| !folder.join(name).is_file())
            .map(|(name, folder)| format!("{name} not found in {}", folder.display()))
            .collect();
        ensure!(missing.is_empty(), missing.join("; "));
        Ok(Self { folder: folder.to_owned(), etcd_folder: etcd_folder.to_owned() })
    }
}

/// The folder that is used as it is. Its version is unknown, so no version can be chosen in addition to it.
fn assets() -> Result<Option<PathBuf>> {
    let Some(folder) = env::var_os("KUBEBUILDER_ASSETS") else { return Ok(None) };
    let choice = releases::CHOICE;
    ensure!(
        env::var_os(choice).is_none(),
        "both KUBEBUILDER_ASSETS and {choice} say which control plane to use; unset one of them"
    );
    Ok(Some(folder.into()))
}

/// The binaries for a test, or `None` if they are not available: then it reports the test as skipped, unless `CI=true`,
/// where the test fails. Skipped tests are also listed in the file that `TAINTWARD_SKIPPED` names, if it is set.
pub fn for_test(test: &str) -> Option<Binaries> {
    had_for_test(test, "a real API server", Binaries::find())
}

/// Reports that a test is skipped, and why.
pub fn skipped(test: &str, why: &str) {
    eprintln!("SKIPPED {test}: {why}");
    if let Some(file) = env::var_os("TAINTWARD_SKIPPED")
        && let Ok(mut file) = File::options().create(true).append(true).open(file)
    {
        let _ = writeln!(file, "{test}: {why}");
    }
}

impl OptionalProgram {
    /// Finds the program without building anything.
    pub fn find(&self) -> Result<PathBuf> {
        let program = self.tool.folder()?.join("bin").join(self.tool.name);
        if !program.is_file() {
            let Self { tool, title, .. } = self;
            bail!("{title} has not been built yet; `cargo xtask cluster build --{}` builds it", tool.name);
        }
        Ok(program)
    }

    /// Finds the program, or builds it, which takes minutes, once.
    pub fn find_or_build(&self) -> Result<PathBuf> {
        let Self { tool, title, package, build_time } = self;
        self.find().or_else(|_| Ok(tool.build(&[(tool.name, package)], title, build_time)?.join(tool.name)))
    }

    /// The program for a test, or `None` if it was not built, as with [`for_test`].
    pub fn for_test(&self, test: &str) -> Option<PathBuf> {
        had_for_test(test, self.title, self.find())
    }
}

pub(crate) fn had_for_test<T>(test: &str, what: &str, found: Result<T>) -> Option<T> {
    let why = match found {
        Ok(found) => return Some(found),
        Err(why) => why,
    };
    assert!(env::var("CI").as_deref() != Ok("true"), "{test} needs {what}: {why:#}");
    skipped(test, &format!("it needs {what}, and {why:#}"));
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_without_the_programs_is_named_in_the_error() {
        let (folder, etcd) = (Path::new("/nonexistent"), Path::new("/neither"));
        let error = Binaries::within(folder, etcd, ToolUse::Always).map(drop).unwrap_err().to_string();
        assert_eq!(error, "kube-apiserver not found in /nonexistent; etcd not found in /neither");
    }
}

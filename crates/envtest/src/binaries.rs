//! Finds the binaries of a control plane, or builds the missing ones from their pinned Go modules into the user's
//! cache.
//!
//! - Binaries in `KUBEBUILDER_ASSETS` come first; KWOK and Helm are built only on request.
//! - See `servers.rs` and `kwok.rs` for starting them.

use anyhow::{Context as _, Result, bail};
use std::env;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A pinned Go module; each builds into a folder of its own, so that a new pin of one leaves the other's binaries alone.
struct PinnedTool {
    name: &'static str,
    go_mod: &'static str,
    go_sum: &'static str,
    /// What the linker is told.
    link: &'static str,
}

/// Kubernetes' programs learn their version from the linker. Without one, kubectl cannot compare it with a server's, and
/// `kubectl version` fails. A test holds these to go.mod.
const RELEASE: &str = "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 \
                       -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36 \
                       -X k8s.io/component-base/version.gitTreeState=clean";

/// Without tables for debuggers.
const SLIM: &str = "-s -w";

const CONTROL_PLANE: PinnedTool = PinnedTool {
    name: "cluster",
    go_mod: include_str!("../../../xtask/cluster/go.mod"),
    go_sum: include_str!("../../../xtask/cluster/go.sum"),
    link: RELEASE,
};

const KWOK: PinnedTool = PinnedTool {
    name: "kwok",
    go_mod: include_str!("../../../xtask/kwok/go.mod"),
    go_sum: include_str!("../../../xtask/kwok/go.sum"),
    link: SLIM,
};

const HELM: PinnedTool = PinnedTool {
    name: "helm",
    go_mod: include_str!("../../../xtask/helm/go.mod"),
    go_sum: include_str!("../../../xtask/helm/go.sum"),
    link: SLIM,
};

/// The programs, the Go package of each, and what they are needed for. The biggest comes first: what the others share
/// with it need not be built again.
const PROGRAMS: [(&str, &str, ToolUse); 5] = [
    ("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver", ToolUse::Always),
    ("etcd", "go.etcd.io/etcd/server/v3", ToolUse::Always),
    ("kubectl", "k8s.io/kubernetes/cmd/kubectl", ToolUse::Sometimes),
    ("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager", ToolUse::Sometimes),
    ("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler", ToolUse::Sometimes),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum ToolUse {
    Always,
    /// Comparisons and demonstrations; a folder given by `KUBEBUILDER_ASSETS` may lack it.
    Sometimes,
}

/// A folder with the binaries.
#[derive(Clone, Debug)]
pub struct Binaries {
    folder: PathBuf,
}

impl Binaries {
    /// Finds the binaries without building anything.
    pub fn find() -> Result<Self> {
        if let Some(folder) = env::var_os("KUBEBUILDER_ASSETS").map(PathBuf::from) {
            return Self::within(&folder, ToolUse::Always)
                .with_context(|| format!("KUBEBUILDER_ASSETS is {}", folder.display()));
        }
        let folder = cache_folder()?;
        Self::within(&folder.join("bin"), ToolUse::Sometimes).context(
            "the control plane's binaries are not all there; `cargo xtask cluster build` builds what is missing",
        )
    }

    /// Finds the binaries, or builds them: about 8 minutes on two cores, once.
    pub fn find_or_build() -> Result<Self> {
        if env::var_os("KUBEBUILDER_ASSETS").is_some() {
            return Self::find();
        }
        Self::find().or_else(|_| {
            let programs = PROGRAMS.map(|(name, package, _)| (name, package));
            let bin = CONTROL_PLANE.build(&programs, "a real control plane", "8 minutes")?;
            Self::within(&bin, ToolUse::Sometimes)
        })
    }

    /// The path of one program.
    pub fn path(&self, program: &str) -> Result<PathBuf> {
        let path = self.folder.join(program);
        if !path.is_file() {
            bail!("{} is missing; unset KUBEBUILDER_ASSETS to have it built", path.display());
        }
        Ok(path)
    }

    fn within(folder: &Path, need: ToolUse) -> Result<Self> {
        let missing: Vec<&str> = PROGRAMS
            .iter()
            .filter(|(name, _, when)| {
                (*when == ToolUse::Always || need == ToolUse::Sometimes) && !folder.join(name).is_file()
            })
            .map(|(name, _, _)| *name)
            .collect();
        if !missing.is_empty() {
            bail!("{} not found in {}", missing.join(", "), folder.display());
        }
        Ok(Self { folder: folder.to_owned() })
    }
}

/// The binaries for a test, or `None` if they can't be had: then the test says so and counts as skipped, unless
/// `CI=true`, where it fails. Skipped tests are also named in the file `TAINTWARD_SKIPPED` points to, if it is set.
pub fn for_test(test: &str) -> Option<Binaries> {
    had_for_test(test, "a real API server", Binaries::find())
}

/// Says that a test is skipped, and why.
pub fn skipped(test: &str, why: &str) {
    eprintln!("SKIPPED {test}: {why}");
    if let Some(file) = env::var_os("TAINTWARD_SKIPPED")
        && let Ok(mut file) = File::options().create(true).append(true).open(file)
    {
        let _ = writeln!(file, "{test}");
    }
}

/// Finds KWOK without building anything.
pub fn find_kwok() -> Result<PathBuf> {
    let program = KWOK.folder()?.join("bin/kwok");
    if !program.is_file() {
        bail!("KWOK has not been built yet; `cargo xtask cluster build --kwok` builds it");
    }
    Ok(program)
}

/// Finds KWOK, or builds it: about 2 minutes on two cores, once.
pub fn find_or_build_kwok() -> Result<PathBuf> {
    find_kwok().or_else(|_| {
        let bin = KWOK.build(&[("kwok", "sigs.k8s.io/kwok/cmd/kwok")], "KWOK", "2 minutes")?;
        Ok(bin.join("kwok"))
    })
}

/// Finds Helm without building anything.
pub fn find_helm() -> Result<PathBuf> {
    let program = HELM.folder()?.join("bin/helm");
    if !program.is_file() {
        bail!("Helm has not been built yet; `cargo xtask cluster build --helm` builds it");
    }
    Ok(program)
}

/// Finds Helm, or builds it: about 4 minutes on two cores, once.
pub fn find_or_build_helm() -> Result<PathBuf> {
    find_helm().or_else(|_| {
        let bin = HELM.build(&[("helm", "helm.sh/helm/v3/cmd/helm")], "Helm", "4 minutes")?;
        Ok(bin.join("helm"))
    })
}

/// Helm for a test, or `None` where it was not built, as with [`for_test`].
pub fn helm_for_test(test: &str) -> Option<PathBuf> {
    had_for_test(test, "Helm", find_helm())
}

/// KWOK for a test, or `None` where it was not built, as with [`for_test`].
pub fn kwok_for_test(test: &str) -> Option<PathBuf> {
    had_for_test(test, "KWOK", find_kwok())
}

fn had_for_test<T>(test: &str, what: &str, found: Result<T>) -> Option<T> {
    let why = match found {
        Ok(found) => return Some(found),
        Err(why) => why,
    };
    assert!(env::var("CI").as_deref() != Ok("true"), "{test} needs {what}: {why:#}");
    skipped(test, &format!("it needs {what}, and {why:#}"));
    None
}

/// The folder of the control plane's binaries; also where developer commands keep their state.
pub fn cache_folder() -> Result<PathBuf> {
    CONTROL_PLANE.folder()
}

/// Where everything that was built is kept.
fn cache() -> Result<PathBuf> {
    let cache = match (env::var_os("XDG_CACHE_HOME"), env::var_os("HOME")) {
        (Some(cache), _) if Path::new(&cache).is_absolute() => PathBuf::from(cache),
        (_, Some(home)) => PathBuf::from(home).join(".cache"),
        _ => bail!("neither XDG_CACHE_HOME nor HOME is set, so there is no place to keep the built binaries"),
    };
    Ok(cache.join("taintward"))
}

fn fnv1a(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
}

impl PinnedTool {
    /// The folder for the binaries of exactly these module versions, linked in just this way.
    fn folder(&self) -> Result<PathBuf> {
        let text = self.go_mod.bytes().chain(self.go_sum.bytes()).chain(self.link.bytes());
        Ok(cache()?.join(self.name).join(format!("{:016x}", text.fold(0xcbf2_9ce4_8422_2325, fnv1a))))
    }

    /// Builds what is not there yet; the folder of the binaries comes back.
    fn build(&self, programs: &[(&str, &str)], what: &str, long: &str) -> Result<PathBuf> {
        require_go()?;
        let folder = self.folder()?;
        let (source, bin) = (folder.join("source"), folder.join("bin"));
        fs::create_dir_all(&source)?;
        fs::create_dir_all(&bin)?;
        let lock = File::create(folder.join("lock"))?;
        if lock.try_lock().is_err() {
            eprintln!("another process is building {what}; waiting for it");
            lock.lock()?;
        }
        fs::write(source.join("go.mod"), self.go_mod)?;
        fs::write(source.join("go.sum"), self.go_sum)?;
        let missing: Vec<_> = programs.iter().filter(|(name, _)| !bin.join(name).is_file()).collect();
        match missing.len() == programs.len() {
            true => eprintln!("building {what}, once, into {} (about {long} on two cores)", bin.display()),
            false => eprintln!("building what is missing of {what}, once, into {}", bin.display()),
        }
        for (name, package) in missing {
            build_one(name, package, self.link, (&source, &bin))?;
        }
        Ok(bin)
    }
}

/// Any Go since 1.21 fetches the very toolchain go.mod asks for.
fn require_go() -> Result<()> {
    const WAY_OUT: &str = "install Go from https://go.dev/dl, or point KUBEBUILDER_ASSETS at a folder with etcd, \
                           kube-apiserver, kubectl, kube-controller-manager and kube-scheduler";
    let Ok(output) = Command::new("go").args(["env", "GOVERSION"]).output() else {
        bail!("Go is needed to build the control plane, and there is no `go` in PATH; {WAY_OUT}");
    };
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    match minor_version(&version) {
        Some(minor) if minor >= 21 => Ok(()),
        _ => bail!("Go 1.21 or newer is needed to build the control plane, this is {version:?}; {WAY_OUT}"),
    }
}

fn minor_version(version: &str) -> Option<u32> {
    let rest = version.strip_prefix("go1.")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn build_one(name: &str, package: &str, link: &str, (source, bin): (&Path, &Path)) -> Result<()> {
    let half = bin.join(format!("{name}.building"));
    let errors = source.join(format!("{name}.log"));
    let mut child = Command::new("go")
        .args(["build", "-mod=readonly"])
        .arg(format!("-ldflags={link}"))
        .arg("-o")
        .arg(&half)
        .arg(package)
        .current_dir(source)
        .env("CGO_ENABLED", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&errors)?)
        .spawn()
        .context("starting go build")?;
    let (start, live) = (Instant::now(), std::io::stderr().is_terminal());
    let mut said = Duration::ZERO;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let elapsed = start.elapsed();
        if live {
            eprint!("\r  {name:<24} building, {:>4} s", elapsed.as_secs());
        } else if elapsed - said >= Duration::from_secs(30) {
            eprintln!("  {name:<24} building, {:>4} s", elapsed.as_secs());
            said = elapsed;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    if !status.success() {
        bail!("go build {package} failed:\n{}", last_lines(&errors));
    }
    eprintln!("{}  {name:<24} built in {:>3} s ", if live { "\r" } else { "" }, start.elapsed().as_secs());
    fs::rename(half, bin.join(name))?;
    Ok(())
}

fn last_lines(file: &Path) -> String {
    let Ok(file) = File::open(file) else { return String::new() };
    let lines: Vec<String> = BufReader::new(file).lines().map_while(Result::ok).collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn go_versions() {
        assert_eq!(minor_version("go1.26.8"), Some(26));
        assert_eq!(minor_version("go1.22rc1"), Some(22));
        for text in ["", "devel +abc", "go2.0", "go1."] {
            assert_eq!(minor_version(text), None, "{text}");
        }
    }

    #[test]
    fn programs_say_the_version_they_are_made_of() {
        let line = |line: &&str| line.trim_start().starts_with("k8s.io/kubernetes v");
        let pinned = CONTROL_PLANE.go_mod.lines().find(line).and_then(|line| line.split_whitespace().nth(1));
        let version = pinned.expect("a pinned version");
        let (major, minor) = version[1..].rsplit_once('.').and_then(|(two, _)| two.split_once('.')).unwrap();
        for (name, value) in [("gitVersion", version), ("gitMajor", major), ("gitMinor", minor)] {
            let flag = format!("-X k8s.io/component-base/version.{name}={value} ");
            assert!(RELEASE.contains(&flag), "{flag}");
        }
    }

    #[test]
    fn a_folder_without_the_programs_is_named_in_the_error() {
        let error = Binaries::within(Path::new("/nonexistent"), ToolUse::Always).unwrap_err().to_string();
        assert_eq!(error, "kube-apiserver, etcd not found in /nonexistent");
    }
}

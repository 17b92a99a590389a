//! Builds programs from pinned Go modules into the user's cache.
//!
//! - See `binaries.rs` for what is built.

use anyhow::{Context as _, Result, bail};
use std::env;
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, IsTerminal as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// A pinned Go module. Each builds into its own folder, so that a new pin of one keeps the other's binaries.
#[derive(Debug)]
pub(crate) struct PinnedTool {
    /// The folder in the cache.
    pub(crate) name: &'static str,
    pub(crate) go_mod: &'static str,
    pub(crate) go_sum: &'static str,
}

/// The folder of everything that was built.
pub fn cache_folder() -> Result<PathBuf> {
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

/// The name of a folder for exactly these texts.
pub(crate) fn fingerprint(text: impl Iterator<Item = u8>) -> String {
    format!("{:016x}", text.fold(0xcbf2_9ce4_8422_2325, fnv1a))
}

impl PinnedTool {
    /// The pinned version of Kubernetes, such as `v1.36.3`, if it is Kubernetes.
    pub(crate) fn kubernetes(&self) -> Option<&'static str> {
        self.go_mod
            .lines()
            .find_map(|line| line.trim_start().strip_prefix("k8s.io/kubernetes "))?
            .split(' ')
            .next()
    }

    /// The linker's flags: no debug tables, and the version for Kubernetes' programs. Without it kubectl cannot compare
    /// versions, and `kubectl version` fails.
    fn link(&self) -> String {
        let mut link = "-s -w".to_owned();
        let Some(version) = self.kubernetes() else { return link };
        let mut numbers = version.trim_start_matches('v').split('.');
        let (major, minor) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        let values = [("Version", version), ("Major", major), ("Minor", minor), ("TreeState", "clean")];
        for (name, value) in values {
            link += &format!(" -X k8s.io/component-base/version.git{name}={value}");
        }
        link
    }

    /// Build tags. Prometheus' programs are built without the clients of all clouds, which are most of their code.
    fn tags(&self) -> &'static str {
        let of_prometheus = self.go_mod.contains("\n\tgithub.com/prometheus/prometheus v");
        if of_prometheus { "remove_all_sd" } else { "" }
    }

    /// The folder for the binaries of exactly these module versions, build tags and linker flags.
    pub(crate) fn folder(&self) -> Result<PathBuf> {
        let how = self.link() + self.tags();
        let text = self.go_mod.bytes().chain(self.go_sum.bytes()).chain(how.bytes());
        Ok(cache_folder()?.join(self.name).join(fingerprint(text)))
    }

    /// Any Go since 1.21 downloads the exact toolchain that go.mod requires.
    fn require_go(&self, what: &str) -> Result<()> {
        let way_out = match self.kubernetes() {
            Some(_) => {
                "install Go from https://go.dev/dl, or point KUBEBUILDER_ASSETS at a folder with etcd, kube-apiserver, \
                 kubectl, kube-controller-manager and kube-scheduler"
            }
            None => "install Go from https://go.dev/dl",
        };
        let Ok(output) = Command::new("go").args(["env", "GOVERSION"]).output() else {
            bail!("Go is needed to build {what}, and there is no `go` in PATH; {way_out}");
        };
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        match minor_version(&version) {
            Some(minor) if minor >= 21 => Ok(()),
            _ => bail!("Go 1.21 or newer is needed to build {what}, this is {version:?}; {way_out}"),
        }
    }

    /// Builds missing binaries and returns their folder.
    pub(crate) fn build(&self, programs: &[(&str, &str)], what: &str, long: &str) -> Result<PathBuf> {
        let folder = self.folder()?;
        let (source, bin) = (folder.join("source"), folder.join("bin"));
        if programs.iter().all(|(name, _)| bin.join(name).is_file()) {
            return Ok(bin);
        }
        self.require_go(what)?;
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
        let flags = [format!("-ldflags={}", self.link()), format!("-tags={}", self.tags())];
        for (name, package) in missing {
            build_one(name, package, &flags, (&source, &bin))?;
        }
        Ok(bin)
    }
}

fn minor_version(version: &str) -> Option<u32> {
    let rest = version.strip_prefix("go1.")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

fn build_one(name: &str, package: &str, flags: &[String], (source, bin): (&Path, &Path)) -> Result<()> {
    let partial = bin.join(format!("{name}.building"));
    let errors = source.join(format!("{name}.log"));
    let mut child = Command::new("go")
        .args(["build", "-mod=readonly"])
        .args(flags)
        .arg("-o")
        .arg(&partial)
        .arg(package)
        .current_dir(source)
        .env("CGO_ENABLED", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&errors)?)
        .spawn()
        .context("starting go build")?;
    let (start, live) = (Instant::now(), std::io::stderr().is_terminal());
    let mut reported = Duration::ZERO;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let elapsed = start.elapsed();
        if live {
            eprint!("\r  {name:<24} building, {:>4} s", elapsed.as_secs());
        } else if elapsed - reported >= Duration::from_secs(30) {
            eprintln!("  {name:<24} building, {:>4} s", elapsed.as_secs());
            reported = elapsed;
        }
        std::thread::sleep(Duration::from_millis(200));
    };
    if !status.success() {
        bail!(
            "go build {package} failed; the first build downloads modules and so needs the network:\n{}",
            last_lines(&errors)
        );
    }
    eprintln!("{}  {name:<24} built in {:>3} s ", if live { "\r" } else { "" }, start.elapsed().as_secs());
    fs::rename(partial, bin.join(name))?;
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
        let tool = |go_mod| PinnedTool { name: "", go_mod, go_sum: "" };
        let lines = "require (\n\tk8s.io/kubernetes v1.36.3 // indirect\n)\n";
        assert_eq!(
            tool(lines).link(),
            "-s -w -X k8s.io/component-base/version.gitVersion=v1.36.3 \
             -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36 \
             -X k8s.io/component-base/version.gitTreeState=clean"
        );
        assert_eq!(tool("require sigs.k8s.io/kwok v0.7.0\n").link(), "-s -w");
    }
}

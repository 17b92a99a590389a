//! Builds test programs that contain many changes, each behind a switch.
//!
//! - Changes that do not compile are taken out, until the rest does: the compiler's errors say where they are.

use super::mutant::Mutant;
use super::switches::SwitchedFile;
use crate::sources;
use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Builds that are tried until one compiles.
const BUILDS_MAX: usize = 40;

/// What became of the changes.
pub(crate) struct SwitchBuild {
    pub(crate) programs: Vec<TestProgram>,
    /// These have a switch in the programs.
    pub(crate) switched: BTreeSet<usize>,
    /// These do not compile.
    pub(crate) invalid: BTreeSet<usize>,
}

/// A test program.
pub(crate) struct TestProgram {
    pub(crate) path: PathBuf,
    /// The folder of its package, where it is started.
    pub(crate) folder: PathBuf,
}

/// A package in a copy of the sources, which is changed.
pub(crate) struct SwitchPackage<'m> {
    copy: &'m Path,
    package: &'m str,
    tests: &'m [&'m str],
    mutations: &'m [Mutant],
    /// The files as they are without switches, by their paths.
    originals: BTreeMap<String, String>,
    invalid: BTreeSet<usize>,
    constant: BTreeSet<String>,
}

impl<'m> SwitchPackage<'m> {
    /// `copy`: the folder of a workspace without switches.
    pub(crate) fn new(
        copy: &'m Path,
        package: &'m str,
        tests: &'m [&'m str],
        mutations: &'m [Mutant],
    ) -> Result<Self> {
        let mut originals = BTreeMap::new();
        for path in mutations.iter().map(Mutant::file) {
            if !originals.contains_key(path) {
                let text = fs::read_to_string(copy.join(path)).with_context(|| format!("reading {path}"))?;
                originals.insert(path.to_owned(), text);
            }
        }
        let (invalid, constant) = (BTreeSet::new(), BTreeSet::new());
        Ok(Self { copy, package, tests, mutations, originals, invalid, constant })
    }

    pub(crate) fn build(mut self) -> Result<SwitchBuild> {
        let library = self.add_module()?;
        for targets in [&[self.package, "--lib"][..], self.tests] {
            let mut built = None;
            for _ in 0..BUILDS_MAX {
                let files = self.write_switches(&library)?;
                let messages = self.compile(targets)?;
                let (programs, errors) = (programs(&messages), errors(&messages));
                if errors.is_empty() {
                    ensure!(!programs.is_empty(), "cargo test named no program");
                    built = Some((programs, files));
                    break;
                }
                self.take_out(&errors, &files)?;
                eprintln!("{} changes do not compile so far", self.invalid.len());
            }
            let (programs, files) =
                built.with_context(|| format!("{} still does not compile", self.package))?;
            if targets == self.tests {
                let switched = files.values().flat_map(|file| file.switched.iter().copied()).collect();
                return Ok(SwitchBuild { programs, switched, invalid: self.invalid });
            }
        }
        bail!("a scope needs test programs")
    }

    /// Adds the module that says which switch is on. Returns the file of the crate that has to declare it.
    fn add_module(&mut self) -> Result<String> {
        let first = self.mutations.first().context("there are no changes")?.file();
        let (folder, _) = first.split_once("/src/").context("a file outside of src")?;
        let module = MODULE.replace("COUNT", &self.mutations.len().to_string());
        fs::write(self.copy.join(folder).join("src/mutant.rs"), module).context("writing mutant.rs")?;
        let library = format!("{folder}/src/lib.rs");
        let text =
            fs::read_to_string(self.copy.join(&library)).with_context(|| format!("reading {library}"))?;
        self.originals.insert(library.clone(), text);
        Ok(library)
    }

    fn write_switches(&mut self, library: &str) -> Result<BTreeMap<String, SwitchedFile>> {
        let mut by_file: BTreeMap<&str, Vec<(usize, &Mutant)>> = BTreeMap::new();
        for (number, mutation) in self.mutations.iter().enumerate() {
            let of_file = by_file.entry(mutation.file()).or_default();
            of_file.extend((!self.invalid.contains(&number)).then_some((number, mutation)));
        }
        let mut files = BTreeMap::new();
        for (path, original) in &self.originals {
            let mutations = by_file.remove(path.as_str()).unwrap_or_default();
            let file = SwitchedFile::new(original, &mutations, &self.constant)
                .with_context(|| format!("adding switches to {path}"))?;
            self.invalid.extend(&file.invalid);
            let declaration = if path == library { "\n#[allow(missing_docs)]\nmod mutant;\n" } else { "" };
            write_if_changed(&self.copy.join(path), &(file.text.clone() + declaration))?;
            files.insert(path.clone(), file);
        }
        Ok(files)
    }

    fn compile(&self, targets: &[&str]) -> Result<Vec<Value>> {
        let mut cargo = sources::cargo();
        cargo.args(["test", "--no-run", "--message-format=json"]);
        // Optimized, because thousands of runs follow; with the checks of the development profile.
        let package = self.package.trim_start_matches("--package=");
        let optimized = format!("profile.dev.package.{package}.opt-level=2");
        cargo.args(["--config", "profile.dev.debug=false", "--config", &optimized]);
        cargo
            .args(targets)
            .current_dir(self.copy)
            .env("CARGO_TARGET_DIR", self.copy.with_file_name("target"));
        // Code of a change may leave a name unused.
        cargo.env("RUSTFLAGS", "--cap-lints=allow");
        let done = cargo.output().context("starting cargo test")?;
        let messages: Vec<Value> = String::from_utf8_lossy(&done.stdout)
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let complete = done.status.success() || !errors(&messages).is_empty();
        ensure!(complete, "cargo test failed: {}", String::from_utf8_lossy(&done.stderr));
        Ok(messages)
    }

    /// Takes out what the errors point at.
    fn take_out(&mut self, errors: &[CompileError], files: &BTreeMap<String, SwitchedFile>) -> Result<()> {
        let before = (self.invalid.len(), self.constant.len());
        for error in errors {
            self.constant.extend(error.constant.clone());
            if error.constant.is_none() {
                for (path, range) in &error.places {
                    self.invalid
                        .extend(files.get(path).map(|file| file.mutations_at(range)).into_iter().flatten());
                }
            }
        }
        let text = errors.first().map(|error| error.text.as_str()).unwrap_or_default();
        ensure!(
            (self.invalid.len(), self.constant.len()) != before,
            "no change explains this error:\n{text}"
        );
        Ok(())
    }
}

fn write_if_changed(path: &Path, text: &str) -> Result<()> {
    if !fs::read_to_string(path).is_ok_and(|old| old == text) {
        fs::write(path, text).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

fn programs(messages: &[Value]) -> Vec<TestProgram> {
    let program = |message: &Value| {
        // Programs that are no tests are built too, for those that start them.
        let path = message["executable"].as_str().filter(|_| message["profile"]["test"] == true)?;
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?;
        Some(TestProgram { path: path.into(), folder: folder.into() })
    };
    messages.iter().filter_map(program).collect()
}

/// An error of the compiler.
struct CompileError {
    text: String,
    places: Vec<(String, Range<usize>)>,
    /// A function that has to remain `const`.
    constant: Option<String>,
}

fn errors(messages: &[Value]) -> Vec<CompileError> {
    let of_compiler = messages.iter().filter(|message| message["reason"] == "compiler-message");
    let errors = of_compiler.map(|message| &message["message"]).filter(|message| message["level"] == "error");
    errors
        .filter(|error| error["spans"].as_array().is_some_and(|spans| !spans.is_empty()))
        .map(error)
        .collect()
}

fn error(message: &Value) -> CompileError {
    let text = message["rendered"].as_str().unwrap_or_default().to_owned();
    let spans = message["spans"].as_array().into_iter().flatten();
    let primary = spans.filter(|span| span["is_primary"] == true);
    let places = primary.filter_map(|span| {
        let byte = |name: &str| span[name].as_u64().and_then(|byte| usize::try_from(byte).ok());
        Some((span["file_name"].as_str()?.to_owned(), byte("byte_start")?..byte("byte_end")?))
    });
    // "cannot call non-const associated function `time::Span::from_secs` in constants"
    let called = message["message"].as_str().unwrap_or_default().split('`').nth(1).unwrap_or_default();
    let name = called.rsplit("::").next().unwrap_or_default().to_owned();
    let is_constant = message["code"]["code"] == "E0015";
    CompileError { text, places: places.collect(), constant: is_constant.then_some(name) }
}

/// The module `mutant` of a package with switches. A number that is no mutation's says that all are off, and that those that
/// are reached are written to a file.
const MODULE: &str = r#"//! Which mutation is on.
extern crate std;
use std::io::Write as _;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
static ON: OnceLock<usize> = OnceLock::new();
static REACHED: [AtomicBool; COUNT] = [const { AtomicBool::new(false) }; COUNT];
#[inline]
pub(crate) fn is_on(number: usize) -> bool {
    let on = *ON.get_or_init(|| std::env::var("MUTANT").ok().and_then(|on| on.parse().ok()).unwrap_or(usize::MAX));
    if on == usize::MAX {
        reach(number);
    }
    on == number
}
#[cold]
fn reach(number: usize) {
    if !REACHED[number].swap(true, Ordering::Relaxed) && let Some(path) = std::env::var_os("MUTANTS_REACHED") {
        let mut file = std::fs::OpenOptions::new().append(true).create(true).open(path).unwrap();
        file.write_all(std::format!("{number}\n").as_bytes()).unwrap();
    }
}
"#;

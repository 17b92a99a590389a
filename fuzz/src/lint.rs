//! Fuzzes the manifest parser and the lint rules: no panic, no hang, bounded memory.
//!
//! - Run with libFuzzer (`cargo xtask fuzz lint`), or on files
//!   (`cargo run --manifest-path fuzz/Cargo.toml --bin lint -- FILE...`).

#![cfg_attr(feature = "libfuzzer", no_main)]
#![allow(dead_code, unused_imports, reason = "files and answers of API servers are not fuzzed")]

#[path = "../../crates/cli/src"]
mod program {
    pub(crate) mod manifest;
}
#[path = "../../crates/cli/src/lint/elements.rs"]
mod elements;
#[path = "../../crates/cli/src/lint/known_kinds.rs"]
mod known_kinds;
#[path = "../../crates/cli/src/lint/object.rs"]
mod object;
#[path = "../../crates/cli/src/lint/shape.rs"]
mod shape;

use program::manifest;
use taintward_core::lint::{LintInput, lint};

/// The number of objects and of findings.
fn run(bytes: &[u8]) -> (usize, usize) {
    let mut facts = LintInput { daemons_known: true, ..LintInput::default() };
    manifest::each(&String::from_utf8_lossy(bytes), |tree| {
        for object in object::read(tree) {
            match object.what {
                object::LintObjectKind::Workload(workload) => facts.workloads.push(workload),
                object::LintObjectKind::Node(node) => facts.nodes.push(node),
            }
        }
    });
    (facts.workloads.len() + facts.nodes.len(), lint(&facts).len())
}

#[cfg(feature = "libfuzzer")]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    run(bytes);
});

#[cfg(not(feature = "libfuzzer"))]
fn main() -> std::io::Result<()> {
    for path in std::env::args_os().skip(1) {
        let (objects, findings) = run(&std::fs::read(&path)?);
        println!("{}: {findings} findings in {objects} objects", path.display());
    }
    Ok(())
}

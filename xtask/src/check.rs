//! Runs `cargo xtask check`: what most often keeps a change from being merged, in a few minutes.

use crate::sources;
use anyhow::{Result, ensure};
use std::time::Instant;

/// Each step, and the arguments for cargo: always with the whole workspace, because another selection changes features, and
/// with them what has to be compiled.
const STEPS: [(&str, &str); 6] = [
    ("formatting", "fmt --all --check"),
    ("lints", "clippy --workspace --all-targets --locked -- -D warnings"),
    ("fuzz targets", "check --locked --manifest-path fuzz/Cargo.toml --target-dir target/fuzz"),
    ("unit tests", "test --no-fail-fast --workspace --locked --lib --bins"),
    (
        "output of commands, reference, pages, rules about sources, texts, links, measures",
        "test --no-fail-fast --workspace --locked --test documents --test repository --test observability",
    ),
    ("phrases to judge", "test --quiet --workspace --locked --test repository prose::no_text -- --nocapture"),
];

/// Runs each step, also after one that failed, and prints how long each took.
pub(crate) fn run() -> Result<()> {
    let mut report = String::new();
    let mut failed = Vec::new();
    for (name, arguments) in STEPS {
        println!("\n== {name}");
        let began = Instant::now();
        let result = sources::run(sources::cargo().args(arguments.split(' ')));
        let state = if result.is_ok() { "ok" } else { "failed" };
        report += &format!("{:>5} s  {state:<6}  {name}\n", began.elapsed().as_secs());
        failed.extend(result.err().map(|_| name));
    }
    print!("\n{report}");
    ensure!(failed.is_empty(), "failed: {}; the output above says why", failed.join(", "));
    Ok(())
}

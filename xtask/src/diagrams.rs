//! Draws the diagrams of the book: `docs/diagrams/NAME.txt` becomes `docs/diagrams/NAME.svg`.
//!
//! - See `flow.rs` for boxes and arrows, `timeline.rs` for lanes of time; `xtask/tests/book.rs` compares the files.

mod flow;
mod svg;
mod timeline;

use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of definitions and drawings, from the root of the repository.
pub const FOLDER: &str = "docs/diagrams";

/// Every drawing: its file below `root`, and what has to be in it.
pub fn files(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let mut drawn = Vec::new();
    for entry in fs::read_dir(root.join(FOLDER)).with_context(|| format!("reading {FOLDER}"))? {
        let file = entry?.path();
        if file.extension().is_some_and(|end| end == "txt") {
            let definition = fs::read_to_string(&file)?;
            let svg = draw(&definition).with_context(|| format!("drawing {}", file.display()))?;
            drawn.push((file.with_extension("svg"), svg));
        }
    }
    drawn.sort();
    Ok(drawn)
}

/// Writes all drawings below `root`.
pub fn run(root: &Path) -> Result<()> {
    for (file, svg) in files(root)? {
        fs::write(&file, svg)?;
        println!("{}: written", file.display());
    }
    Ok(())
}

fn draw(definition: &str) -> Result<String> {
    let lines: Vec<(&str, &str)> = definition
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| {
            let (left, right) = line.split_once(':').with_context(|| format!("no colon in {line:?}"))?;
            Ok((left.trim(), right.trim()))
        })
        .collect::<Result<_>>()?;
    if lines.iter().any(|(left, _)| *left == "lane") { timeline::draw(&lines) } else { flow::draw(&lines) }
}

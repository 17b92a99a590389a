//! Draws the diagrams of the book: `docs/diagrams/NAME.txt` becomes `docs/diagrams/NAME.svg`.
//!
//! - See `flow.rs` for boxes and arrows, `timeline.rs` for lanes of time; `xtask/tests/repository/book.rs` compares the files.

mod flow;
mod svg;
mod timeline;

use anyhow::{Context as _, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of definitions and drawings, from the root of the repository.
pub const FOLDER: &str = "docs/diagrams";

/// Every drawing: its file below `root`, and its contents.
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

#[cfg(test)]
mod tests {
    use super::draw;

    #[test]
    fn what_cannot_be_drawn_is_named() {
        let fault = |definition| format!("{:#}", draw(definition).unwrap_err());
        assert!(
            draw("title: t\nrow: a b\nbox a: one\ngood b: two\na -> b: then")
                .unwrap()
                .contains(">then</text>")
        );
        assert_eq!(fault("row: a\nbox b: x"), "b is in no row");
        assert!(fault("row: a\nhat a: x").starts_with("unknown kind of box \"hat\""));
        assert!(
            fault("row: a b\nrow: c d\nbox a: 1\nbox b: 2\nbox c: 3\nbox d: 4\na -> d: x")
                .starts_with("no way")
        );
        assert!(
            fault("time: 0 | 1\nlane: l\nwait 0 1: far too many letters for one tick").contains("longer")
        );
        assert!(fault("a line").starts_with("no colon"));
    }
}

//! # Picture: the tour, as it looks
//! Room:     runs `taintward sandbox --tour` and draws what it printed.
//! Comes in: the program's real output.
//! Goes out: docs/tour.svg, which the README shows.
//! Not here: making anything up.

use crate::sources;
use anyhow::{Context as _, Result, bail};
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

/// Widths and heights of letters, in pixels.
const LETTER: (f64, usize) = (7.83, 18);
const MARGIN: usize = 16;

pub(crate) fn run() -> Result<()> {
    let program = sources::build_taintward(true)?;
    let done = Command::new(program).args(["sandbox", "--tour"]).output().context("starting the tour")?;
    if !done.status.success() {
        bail!("the tour failed: {}", String::from_utf8_lossy(&done.stderr));
    }
    let file = sources::root().join("docs/tour.svg");
    fs::write(&file, drawn(&String::from_utf8_lossy(&done.stdout)))?;
    println!("{}: written", file.display());
    Ok(())
}

fn drawn(text: &str) -> String {
    let lines: Vec<&str> = std::iter::once("$ taintward sandbox --tour").chain(text.lines()).collect();
    let columns = lines.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    let width = (columns as f64 * LETTER.0).ceil() as usize + 2 * MARGIN;
    let height = lines.len() * LETTER.1 + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1b1f24\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"#d8dee6\" xml:space=\"preserve\">\n"
    );
    for (index, line) in lines.iter().enumerate() {
        let colour = if line.contains("kubectl") || line.contains("taintward sandbox node") || index == 0 { " fill=\"#8ec07c\"" } else { "" };
        let y = MARGIN + (index + 1) * LETTER.1 - 4;
        let escaped = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y}\"{colour}>{escaped}</text>");
    }
    svg + "</g>\n</svg>\n"
}

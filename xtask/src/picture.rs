//! Draws the output of the tour, `plan` and `explain` as SVG files in docs/, and takes pictures of the board and the dashboards.

mod board_page;
mod dashboards;

use crate::sources;
use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

#[derive(Debug, Args)]
pub(crate) struct PictureArgs {
    /// The subject of the pictures
    #[arg(value_enum, default_value = "text")]
    subject: PictureSubject,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PictureSubject {
    /// The output of commands
    Text,
    /// The page of the sandbox's board, which needs Chromium
    Board,
    /// The dashboards with the series of a real Prometheus, which needs Chromium and 5 minutes
    Dashboards,
}

/// Widths and heights of letters, in pixels.
const LETTER: (f64, usize) = (7.83, 18);
const MARGIN: usize = 16;

/// The pictures besides the tour: the file, the folder of the cluster file, and the command.
const SHOTS: [(&str, &str, &str); 2] = [
    (
        "plan",
        "crates/cli/tests/cmd/plan.in",
        "taintward plan -f cluster.yaml --as-of 2026-11-21T14:00:00Z --taint n1 dedicated=db:NoExecute",
    ),
    (
        "explain",
        "crates/cli/tests/cmd/explain.in",
        "taintward explain pod/cache-0 -f cluster.yaml --as-of 2026-11-21T14:00:00Z",
    ),
];

pub(crate) async fn run(arguments: &PictureArgs) -> Result<()> {
    match arguments.subject {
        PictureSubject::Text => draw_text(),
        PictureSubject::Board => board_page::run(),
        PictureSubject::Dashboards => dashboards::run().await,
    }
}

fn draw_text() -> Result<()> {
    let program = sources::build_taintward(false)?;
    for (name, folder, typed) in SHOTS {
        let words = typed.split(' ').skip(1).chain(["--color", "always"]);
        let done = Command::new(&program)
            .args(words)
            .current_dir(sources::root().join(folder))
            .env("TZ", "UTC")
            .output()
            .with_context(|| format!("starting {typed}"))?;
        if done.stdout.is_empty() || !done.stderr.is_empty() {
            bail!("{typed} failed: {}", String::from_utf8_lossy(&done.stderr));
        }
        write(name, typed, &done.stdout)?;
    }
    let done = Command::new(program).args(["sandbox", "--tour"]).output().context("starting the tour")?;
    if !done.status.success() {
        bail!("the tour failed: {}", String::from_utf8_lossy(&done.stderr));
    }
    write("tour", "taintward sandbox --tour", &done.stdout)
}

fn write(name: &str, typed: &str, printed: &[u8]) -> Result<()> {
    let file = sources::root().join(format!("docs/{name}.svg"));
    fs::write(&file, drawn(typed, &String::from_utf8_lossy(printed)))?;
    println!("{}: written", file.display());
    Ok(())
}

fn drawn(typed: &str, text: &str) -> String {
    let typed = format!("$ {typed}");
    let lines: Vec<&str> = std::iter::once(typed.as_str()).chain(text.lines()).collect();
    let columns = lines.iter().map(|line| plain(line).chars().count()).max().unwrap_or(0);
    let width = (columns as f64 * LETTER.0).ceil() as usize + 2 * MARGIN;
    let height = lines.len() * LETTER.1 + 2 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1b1f24\"/>\n\
         <g font-family=\"ui-monospace, Menlo, Consolas, monospace\" font-size=\"13\" fill=\"#d8dee6\" xml:space=\"preserve\">\n"
    );
    for (index, line) in lines.iter().enumerate() {
        // The command, and the steps of the tour, which a terminal shows in this color.
        let is_step = line.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
        let color = if is_step || index == 0 { " fill=\"#8ec07c\"" } else { "" };
        let y = MARGIN + (index + 1) * LETTER.1 - 4;
        let _ = writeln!(svg, "<text x=\"{MARGIN}\" y=\"{y}\"{color}>{}</text>", painted(line));
    }
    svg + "</g>\n</svg>\n"
}

/// A line without its colors.
fn plain(line: &str) -> String {
    let mut pieces = line.split("\x1b[");
    let first = pieces.next().unwrap_or_default();
    let rest = pieces.map(|piece| piece.split_once('m').map_or("", |(_, text)| text));
    std::iter::once(first).chain(rest).collect()
}

/// A line with the colors of the picture.
fn painted(line: &str) -> String {
    let escaped = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut pieces = escaped.split("\x1b[");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (code, rest) = piece.split_once('m').unwrap_or(("0", piece));
        let fill = match code {
            "31" => "#fb4934",
            "33" => "#fabd2f",
            "34" => "#83a598",
            _ => "#d8dee6",
        };
        let _ = write!(text, "<tspan fill=\"{fill}\">{rest}</tspan>");
    }
    text
}

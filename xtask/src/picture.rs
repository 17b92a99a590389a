//! Draws the output of the tour, `plan` and `explain` as SVG files in docs/, and takes pictures of the board and the dashboards.

mod board_page;
mod dashboards;

use crate::sources;
use anyhow::{Context as _, Result, ensure};
use clap::{Args, ValueEnum};
use std::fs;
use std::process::Command;
use taintward_envtest::browser::Browser;

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
        PictureSubject::Board => board_page::run().await,
        PictureSubject::Dashboards => dashboards::run().await,
    }
}

fn draw_text() -> Result<()> {
    let program = sources::build_taintward(false)?;
    for (name, folder, typed) in SHOTS {
        let words = typed.split(' ').skip(1).chain(["--color", "always"]);
        let mut command = Command::new(&program);
        command.args(words).current_dir(sources::root().join(folder)).env("TZ", "UTC");
        let done = command.output().with_context(|| format!("starting {typed}"))?;
        let complaint = String::from_utf8_lossy(&done.stderr);
        ensure!(!done.stdout.is_empty() && complaint.is_empty(), "{typed} failed: {complaint}");
        draw(name, typed, &String::from_utf8(done.stdout)?)?;
    }
    let text = sources::output(Command::new(program).args(["sandbox", "--tour"]))?;
    // The steps, which a terminal shows in this color.
    let is_step = |line: &str| line.split_once(". ").is_some_and(|(number, _)| number.parse::<u8>().is_ok());
    let lines = text.lines().map(|line| if is_step(line) { highlighted(line) } else { format!("{line}\n") });
    draw("tour", "taintward sandbox --tour", &lines.collect::<String>())
}

fn highlighted(line: &str) -> String {
    format!("\x1b[32m{line}\x1b[0m\n")
}

/// Draws a command and what it printed, with the colors of a terminal.
fn draw(name: &str, typed: &str, printed: &str) -> Result<()> {
    let text = highlighted(&format!("$ {typed}")) + printed.trim_end();
    let file = sources::root().join(format!("docs/{name}.svg"));
    fs::write(&file, anstyle_svg::Term::new().render_svg(&text))?;
    println!("{}: written", file.display());
    Ok(())
}

/// Keeps what a browser shows as a picture in docs, if it is not too large.
fn save(browser: &mut Browser, name: &str, bytes_max: u64) -> Result<()> {
    let file = sources::root().join(format!("docs/{name}.png"));
    browser.picture(&file)?;
    let length = fs::metadata(&file)?.len();
    ensure!(length < bytes_max, "{} has {length} bytes, more than {bytes_max}", file.display());
    println!("{}: written, {length} bytes", file.display());
    Ok(())
}

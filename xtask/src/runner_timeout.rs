//! Runs a test program for cargo and ends it, with its children, after [`LIMIT`]; records how long it took.

use anyhow::{Context as _, Result, bail};
use rustix::process::{Pid, Signal, kill_process_group};
use std::env;
use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};

/// The environment variable with the file to which each program's seconds and name are appended.
pub(crate) const DURATIONS: &str = "TAINTWARD_TEST_DURATIONS";

/// The longest program takes ten minutes on two cores, and twice as long on busy ones.
const LIMIT: Duration = Duration::from_secs(30 * 60);

#[derive(clap::Args)]
pub(crate) struct TimeoutArgs {
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
    program: Vec<OsString>,
}

/// The setting that makes cargo start all test programs like this.
pub(crate) fn runner() -> Result<String> {
    Ok(runner_at(&own_path()?))
}

/// This program. While cargo builds it again, it has no path.
pub(crate) fn own_path() -> Result<String> {
    let own = env::current_exe().context("finding this program")?;
    own.into_os_string().into_string().ok().context("the path of this program is not valid UTF-8")
}

/// The same with this program at `own`.
pub(crate) fn runner_at(own: &str) -> String {
    format!("target.'cfg(all())'.runner={:?}", [own, "within"])
}

pub(crate) async fn run(arguments: &TimeoutArgs, limit: Option<Duration>) -> Result<ExitCode> {
    let (limit, began) = (limit.unwrap_or(LIMIT), Instant::now());
    let [program, rest @ ..] = &arguments.program[..] else { bail!("no program") };
    let name = program.display();
    let (mut interrupt, mut end) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let mut command = Command::new(program);
    let mut child =
        command.args(rest).process_group(0).spawn().with_context(|| format!("starting {name}"))?;
    let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed())).context("it has an id")?;
    let why = tokio::select! {
        status = child.wait() => {
            let code = status?.code().and_then(|code| u8::try_from(code).ok());
            record(program.as_ref(), began.elapsed());
            return Ok(code.map_or(ExitCode::FAILURE, ExitCode::from));
        }
        () = tokio::time::sleep(limit) => format!("{name} did not end within {} minutes", limit.as_secs() / 60),
        _ = interrupt.recv() => format!("{name}: interrupted"),
        _ = end.recv() => format!("{name}: terminated"),
    };
    kill_process_group(group, Signal::KILL)?;
    bail!(why);
}

/// Appends a line to the file of durations, if there is one. The name is without the hash that cargo adds.
fn record(program: &Path, took: Duration) {
    let Some(file) = env::var_os(DURATIONS) else { return };
    let name = program.file_stem().unwrap_or_default().to_string_lossy();
    let name = name.rsplit_once('-').map_or(&*name, |(name, _)| name);
    let line = format!("{} {name}\n", took.as_secs());
    let file = OpenOptions::new().append(true).create(true).open(file);
    // A table for people: a failure to write it fails no test.
    let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn ended(script: &str, limit: Duration) -> Result<ExitCode> {
        let program = ["sh", "-c", script].map(OsString::from).into();
        run(&TimeoutArgs { program }, Some(limit)).await
    }

    #[tokio::test]
    async fn exit_codes_are_passed_on() {
        let minute = Duration::from_secs(60);
        assert_eq!(ended("exit 0", minute).await.unwrap(), ExitCode::SUCCESS);
        assert_eq!(ended("exit 101", minute).await.unwrap(), ExitCode::from(101));
        assert_eq!(ended("kill -9 $$", minute).await.unwrap(), ExitCode::FAILURE);
    }

    #[tokio::test]
    async fn a_program_that_does_not_end_is_killed_with_its_children() {
        let file = env::temp_dir().join(format!("taintward-within-{}", std::process::id()));
        let script = format!("sleep 600 & echo $! > {}; wait", file.display());
        let began = Instant::now();
        let why = ended(&script, Duration::from_secs(2)).await.unwrap_err().to_string();
        assert!(why.contains("sh did not end within"), "{why}");
        assert!(began.elapsed() < Duration::from_secs(30));
        let child: i32 = std::fs::read_to_string(&file).unwrap().trim().parse().unwrap();
        std::fs::remove_file(&file).unwrap();
        // The process that adopts orphans may need a moment to reap this one.
        let state = || std::fs::read_to_string(format!("/proc/{child}/stat"));
        while state().is_ok_and(|state| !state.contains(") Z ")) {
            assert!(began.elapsed() < Duration::from_secs(30), "the child still runs");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

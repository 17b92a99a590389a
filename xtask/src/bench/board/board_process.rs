//! Runs `taintward board` for the benchmark, and reads its stream of events.

use crate::board_session::{BoardSession, read_state};
use crate::sources::{self, ChildGuard};
use anyhow::{Context as _, Result, ensure};
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long the board may take to show what it should.
pub(super) const STARTUP_TIMEOUT: Duration = Duration::from_secs(120);

/// `taintward board`.
pub(super) struct BoardProcess {
    child: ChildGuard,
    url: String,
    session: BoardSession,
}

impl BoardProcess {
    pub(super) fn start(kubeconfig: &Path) -> Result<Self> {
        let mut child = Command::new(sources::build_taintward(true)?)
            .arg("board")
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("a pipe")?;
        let child = ChildGuard(child);
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let (_, url) = line.rsplit_once("http://").context("no address was printed")?;
        Ok(Self { child, url: format!("http://{}", url.trim()), session: BoardSession::of(&line)? })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.0.id()
    }

    /// The address that gives a browser the cookie.
    pub(super) fn entrance(&self) -> &str {
        &self.url
    }

    pub(super) fn events(&self) -> Result<BufReader<TcpStream>> {
        self.session.events()
    }

    /// The whole state, in parts, and how long it takes.
    pub(super) fn whole_state(&self) -> Result<(Duration, Vec<String>)> {
        let began = Instant::now();
        let parts = read_state(&mut self.events()?)?;
        Ok((began.elapsed(), parts))
    }

    /// Requests the whole state until it fulfils a condition.
    pub(super) fn until_shown(&self, is_it: impl Fn(&[String]) -> bool) -> Result<()> {
        let began = Instant::now();
        while !is_it(&self.whole_state()?.1) {
            ensure!(began.elapsed() < STARTUP_TIMEOUT, "the board does not show what it should");
            thread::sleep(Duration::from_millis(500));
        }
        Ok(())
    }
}

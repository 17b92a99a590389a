//! Runs `taintward board` for the benchmark, and reads its stream of events.

use crate::sources::{self, ChildGuard};
use anyhow::{Context as _, Result, ensure};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long the board may take to show what it should.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);

/// `taintward board`.
pub(super) struct BoardProcess {
    child: ChildGuard,
    address: SocketAddr,
    token: String,
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
        let (address, token) = url.trim().split_once("/?token=").context("no token was printed")?;
        Ok(Self { child, address: address.parse()?, token: token.to_owned() })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.0.id()
    }

    /// Its page, for a browser that has the cookie.
    pub(super) fn page(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// The address that gives a browser the cookie.
    pub(super) fn entrance(&self) -> String {
        format!("{}?token={}", self.page(), self.token)
    }

    pub(super) fn events(&self) -> Result<BufReader<TcpStream>> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let (address, token, port) = (self.address, &self.token, self.address.port());
        let cookie = format!("taintward-board-{port}={token}");
        stream.write_all(
            format!("GET /events HTTP/1.1\r\nhost: {address}\r\ncookie: {cookie}\r\n\r\n").as_bytes(),
        )?;
        Ok(BufReader::new(stream))
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
            ensure!(began.elapsed() < PATIENCE, "the board does not show what it should");
            thread::sleep(Duration::from_millis(500));
        }
        Ok(())
    }
}

/// The data of the next messages up to that with the last part of the whole state.
pub(super) fn read_state(stream: &mut BufReader<TcpStream>) -> Result<Vec<String>> {
    let (mut parts, mut is_last) = (Vec::new(), false);
    loop {
        let mut line = String::new();
        ensure!(stream.read_line(&mut line)? > 0, "the stream has ended");
        is_last |= line.trim_end() == "event: snapshot";
        if let Some(data) = line.strip_prefix("data: ") {
            parts.push(data.to_owned());
            if is_last {
                return Ok(parts);
            }
        }
    }
}

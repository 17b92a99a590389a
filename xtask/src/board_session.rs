//! Enters a board as a browser does: the printed address leads to its pages, and gives the cookie for them.

use crate::http;
use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::time::Duration;

/// How long a message may take to come.
const TIMEOUT: Duration = Duration::from_secs(120);

/// A board, for a client that has its cookie.
pub(crate) struct BoardSession {
    port: u16,
    /// Where its pages are: `/FOLDER/`.
    folder: String,
    cookie: String,
}

impl BoardSession {
    /// Enters by a printed text with `http://127.0.0.1:PORT/?token=TOKEN`.
    pub(crate) fn of(printed: &str) -> Result<Self> {
        let (_, board) = printed.split_once("http://127.0.0.1:").context("no board's address was printed")?;
        let (port, rest) = board.split_once("/?token=").context("the board has no token")?;
        let (port, token) = (port.parse()?, rest.split_whitespace().next().unwrap_or_default());
        let (status, head, body) = http::send(port, "GET", &format!("/?token={token}"), &[], "")?;
        ensure!(status == 303, "the board refuses its token with {status}: {body}");
        let header = |name: &str| {
            let mut lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.find(|(one, _)| one.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
        };
        let folder = header("location").context("the board leads nowhere")?;
        let cookie = header("set-cookie").context("the board sets no cookie")?;
        let cookie = cookie.split(';').next().unwrap_or_default().to_owned();
        Ok(Self { port, folder, cookie })
    }

    /// Its stream of events.
    pub(crate) fn events(&self) -> Result<BufReader<TcpStream>> {
        let Self { port, folder, cookie } = self;
        let mut stream = TcpStream::connect(("127.0.0.1", *port))?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        let request =
            format!("GET {folder}events HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncookie: {cookie}\r\n\r\n");
        stream.write_all(request.as_bytes())?;
        Ok(BufReader::new(stream))
    }

    /// Runs the clock of a sandbox at another speed, as a button of its board does.
    pub(crate) fn run_at_speed(&self, speed: f64) -> Result<()> {
        let parts = read_state(&mut self.events()?)?;
        let first: Value = serde_json::from_str(parts.first().context("no state")?)?;
        let bearer = format!("Bearer {}", first["token"].as_str().context("the board has no buttons")?);
        let headers = [
            ("Cookie", self.cookie.as_str()),
            ("Authorization", &bearer),
            ("Content-Type", "application/json"),
        ];
        let action = json!({"verb": "speed", "speed": speed}).to_string();
        let path = format!("{}action", self.folder);
        let (status, _, body) = http::send(self.port, "POST", &path, &headers, &action)?;
        ensure!(status == 200, "the board refuses another speed with {status}: {body}");
        Ok(())
    }
}

/// The data of the next messages up to that with the last part of the whole state.
pub(crate) fn read_state(stream: &mut BufReader<TcpStream>) -> Result<Vec<String>> {
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

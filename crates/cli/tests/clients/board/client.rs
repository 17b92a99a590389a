//! Sends requests to a board, and reads its stream of events.

use crate::cli::running::RunningSandbox;
use serde_json::Value;
use std::io::{BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// How long a message may take to come.
pub(crate) const STARTUP_TIMEOUT: Duration = Duration::from_secs(30);

/// The address of a board, and what a browser gets there.
pub(crate) struct BoardAddress {
    pub(crate) address: SocketAddr,
    pub(crate) token: String,
    /// Where its pages are: `/FOLDER`.
    pub(crate) folder: String,
    /// `NAME=VALUE`
    pub(crate) cookie: String,
    /// What a sandbox sends to its pages for their buttons; `None`: the board has no buttons.
    buttons: OnceLock<Option<String>>,
}

/// An answer: status, head and body.
pub(crate) struct EventStreamResponse {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// A stream of events.
pub(crate) struct EventStreamClient(BufReader<TcpStream>);

impl BoardAddress {
    /// From a line with `http://ADDRESS/?token=TOKEN`.
    pub(crate) fn of(line: &str) -> Self {
        let (address, token) = line.rsplit_once("http://").unwrap().1.trim().split_once("/?token=").unwrap();
        let (address, token) = (address.parse().unwrap(), token.to_owned());
        let mut board =
            Self { address, token, folder: String::new(), cookie: String::new(), buttons: OnceLock::new() };
        let entered = board.request("GET", &format!("/?token={}", board.token), &[], "");
        assert_eq!(entered.status, 303);
        board.folder = entered.header("location").trim_end_matches('/').to_owned();
        board.cookie = entered.header("set-cookie").split(';').next().unwrap().to_owned();
        board
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        self.send_through(stream, method, path, headers, body)
    }

    fn send_through(
        &self,
        mut stream: TcpStream,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> TcpStream {
        stream.set_read_timeout(Some(STARTUP_TIMEOUT)).unwrap();
        let mut request = format!("{method} {path} HTTP/1.1\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            request += &format!("host: {}\r\n", self.address);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{request}\r\n{body}").as_bytes()).unwrap();
        stream
    }

    /// An answer to a client that keeps no connection.
    pub(crate) fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> EventStreamResponse {
        let headers: Vec<(&str, &str)> = headers.iter().copied().chain([("connection", "close")]).collect();
        let mut response = String::new();
        self.send(method, path, &headers, body).read_to_string(&mut response).unwrap();
        let (head, body) = response.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        EventStreamResponse { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// A page below the folder: `/`, `/events`.
    pub(crate) fn get(&self, page: &str) -> EventStreamResponse {
        self.request("GET", &format!("{}{page}", self.folder), &[("cookie", &self.cookie)], "")
    }

    /// What pages send in a header of each change.
    pub(crate) fn bearer(&self) -> String {
        let reported = || self.events("").next().2["token"].as_str().map(str::to_owned);
        format!("Bearer {}", self.buttons.get_or_init(reported).as_deref().unwrap_or_default())
    }

    pub(crate) fn act(&self, action: &Value) -> EventStreamResponse {
        let (bearer, kind) = (self.bearer(), "application/json");
        let headers =
            [("cookie", self.cookie.as_str()), ("authorization", bearer.as_str()), ("content-type", kind)];
        self.request("POST", &format!("{}/action", self.folder), &headers, &action.to_string())
    }

    pub(crate) fn events(&self, last: &str) -> EventStreamClient {
        self.events_through(TcpStream::connect(self.address).unwrap(), last)
    }

    /// The stream of events over this connection.
    pub(crate) fn events_through(&self, stream: TcpStream, last: &str) -> EventStreamClient {
        let headers = [("cookie", self.cookie.as_str()), ("last-event-id", last)];
        let path = format!("{}/events", self.folder);
        EventStreamClient(BufReader::new(self.send_through(stream, "GET", &path, &headers, "")))
    }
}

impl EventStreamResponse {
    /// The value of a header, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(one, _)| one.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
    }
}

impl EventStreamClient {
    /// The id, kind and data of the next message.
    pub(crate) fn next(&mut self) -> (String, String, Value) {
        let (mut id, mut kind) = (String::new(), String::new());
        loop {
            let mut line = String::new();
            assert_ne!(self.0.read_line(&mut line).unwrap(), 0, "the stream has ended");
            match line.trim_end().split_once(": ") {
                Some(("id", value)) => id = value.to_owned(),
                Some(("event", value)) => kind = value.to_owned(),
                Some(("data", value)) => return (id, kind, serde_json::from_str(value).unwrap()),
                _ => {}
            }
        }
    }

    /// All that is left of the stream; `None`: it does not end.
    pub(crate) fn rest(mut self) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.0.read_to_end(&mut bytes) {
            Err(why) if matches!(why.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => None,
            // The board may reset a connection with unread bytes.
            _ => Some(bytes),
        }
    }

    /// The first message that matches.
    pub(crate) fn until(&mut self, what: &str, mut is_it: impl FnMut(&Value) -> bool) -> (String, Value) {
        let began = Instant::now();
        loop {
            let (id, _, message) = self.next();
            if is_it(&message) {
                return (id, message);
            }
            assert!(began.elapsed() < STARTUP_TIMEOUT, "no message with {what}");
        }
    }

    /// Waits for so many pods on nodes.
    pub(crate) fn until_pods(&mut self, count: usize) {
        let mut known = 0;
        self.until("the pods", |message| {
            known += message["pods"].as_array().map_or(0, Vec::len);
            known >= count
        });
    }
}

/// A sandbox, and the address of its board.
pub(crate) fn sandbox() -> (RunningSandbox, BoardAddress) {
    let mut running = RunningSandbox::start(&["--plain"]);
    let board = BoardAddress::of(&running.until("/?token="));
    (running, board)
}

pub(crate) fn has_counting(message: &Value) -> bool {
    message["pods"].as_array().is_some_and(|pods| pods.iter().any(|pod| pod[4] == 1))
}

/// `taintward board` with a kubeconfig.
pub(crate) fn board_with(kubeconfig: &str) -> (RunningSandbox, BoardAddress) {
    board_of(&["--kubeconfig", kubeconfig])
}

/// `taintward board` with these flags.
pub(crate) fn board_of(flags: &[&str]) -> (RunningSandbox, BoardAddress) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.arg("board").args(flags).stderr(Stdio::inherit());
    let mut process = RunningSandbox::of(command);
    let board = BoardAddress::of(&process.until("The board of "));
    (process, board)
}

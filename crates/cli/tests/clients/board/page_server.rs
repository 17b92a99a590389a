//! Serves the board's page and tells it a scripted state, so that a test decides what the page sees.

#![allow(dead_code, reason = "each test binary uses some of it")]

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// As the board's own server sends it.
const POLICY: &str = "Content-Security-Policy: default-src 'self'\r\n";

const FILES: [(&str, &str, &[u8]); 3] = [
    ("/", "text/html; charset=utf-8", include_bytes!("../../../src/board/page/index.html")),
    ("/board.css", "text/css", include_bytes!("../../../src/board/page/board.css")),
    ("/board.js", "text/javascript", include_bytes!("../../../src/board/page/board.js")),
];

/// Pods in one part of a whole state, as in `board_state.rs`.
const PART_PODS: usize = 10_000;

/// The bytes of all three files.
pub(crate) fn page_length() -> usize {
    FILES.iter().map(|(.., file)| file.len()).sum()
}

#[derive(Default)]
struct PageScript {
    /// The events of the whole state.
    snapshot: String,
    viewers: Vec<TcpStream>,
    actions: Vec<(String, Value)>,
    ended: bool,
    /// Rejects everything, as a restarted board does.
    locked: bool,
}

pub(crate) struct PageServer {
    port: u16,
    script: Arc<Mutex<PageScript>>,
    /// Holds the port.
    listening: Option<JoinHandle<()>>,
}

impl PageServer {
    pub(crate) fn start(snapshot: &Value) -> Self {
        Self::at(0, snapshot)
    }

    /// At this port; 0 is any that is free.
    pub(crate) fn at(port: u16, snapshot: &Value) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = Arc::new(Mutex::new(PageScript { snapshot: events(snapshot), ..PageScript::default() }));
        let shared = Arc::clone(&script);
        let listening = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.lock().unwrap().ended {
                    break;
                }
                let shared = Arc::clone(&shared);
                // A browser that goes away in the midst of an answer fails no test.
                std::thread::spawn(move || stream.and_then(|stream| serve(stream, &shared)));
            }
        });
        Self { port, script, listening: Some(listening) }
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Sends a change to all viewers.
    pub(crate) fn submit(&self, change: &Value) {
        self.send("id: 1-1", "change", change);
    }

    /// Sends the last part of a whole state to all viewers, or all of it.
    pub(crate) fn send_all(&self, state: &Value) {
        self.send("id: 1-2", "snapshot", state);
    }

    /// Sends a part of a whole state to all viewers; others follow.
    pub(crate) fn send_part(&self, part: &Value) {
        self.send("id", "part", part);
    }

    fn send(&self, id: &str, kind: &str, data: &Value) {
        let event = format!("{id}\nevent: {kind}\ndata: {data}\n\n");
        for viewer in &mut self.script.lock().unwrap().viewers {
            viewer.write_all(event.as_bytes()).unwrap();
        }
    }

    /// What was posted so far: the header `Authorization`, and the body.
    pub(crate) fn actions(&self) -> Vec<(String, Value)> {
        self.script.lock().unwrap().actions.clone()
    }

    pub(crate) fn lock(&self) {
        self.script.lock().unwrap().locked = true;
    }
}

impl Drop for PageServer {
    fn drop(&mut self) {
        let mut script = self.script.lock().unwrap();
        script.ended = true;
        for viewer in &script.viewers {
            let _ = viewer.shutdown(Shutdown::Both);
        }
        drop(script);
        // The listener wakes up, sees the end, and frees the port.
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let _ = self.listening.take().map(JoinHandle::join);
    }
}

/// A whole state as the board sends it: in parts, of which the first has everything but the pods of the others.
fn events(snapshot: &Value) -> String {
    let pods = snapshot["pods"].as_array().unwrap();
    let mut parts: Vec<Value> = pods.chunks(PART_PODS).map(|pods| json!({"pods": pods})).collect();
    let first = parts.first().map_or_else(|| json!([]), |part| part["pods"].clone());
    parts.splice(..parts.len().min(1), [snapshot.clone()]);
    parts[0]["pods"] = first;
    let last = parts.pop().unwrap();
    let before: String = parts.iter().map(|part| format!("id\nevent: part\ndata: {part}\n\n")).collect();
    format!("{before}id: 1-0\nevent: snapshot\ndata: {last}\n\n")
}

fn serve(mut stream: TcpStream, script: &Mutex<PageScript>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut head = String::new();
    while reader.read_line(&mut head)? > 2 {}
    let path = head.split(' ').nth(1).unwrap_or_default();
    let header = |name: &str| {
        let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with(name));
        line.map(|line| line[name.len()..].trim().to_owned()).unwrap_or_default()
    };
    let mut body = vec![0; header("content-length:").parse().unwrap_or(0)];
    reader.read_exact(&mut body)?;
    let mut script = script.lock().unwrap();
    if script.locked {
        return response(&mut stream, "401 Unauthorized", "text/plain", b"another token");
    }
    if path.starts_with("/events?last=") {
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n{}", script.snapshot)?;
        script.viewers.push(stream);
        return Ok(());
    }
    if path == "/action" {
        script.actions.push((header("authorization:"), serde_json::from_slice(&body)?));
        return response(
            &mut stream,
            "200 OK",
            "application/json",
            json!({"message": "It is done."}).to_string().as_bytes(),
        );
    }
    if let Some((_, kind, file)) = FILES.iter().find(|(name, ..)| *name == path) {
        return response(&mut stream, "200 OK", kind, file);
    }
    if path.starts_with("/explain?") || path.starts_with("/plan?") {
        return response(
            &mut stream,
            "200 OK",
            "text/plain; charset=utf-8",
            format!("An answer to {path}").as_bytes(),
        );
    }
    response(&mut stream, "204 No Content", "text/plain", b"")
}

fn response(stream: &mut TcpStream, status: &str, kind: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{POLICY}Content-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(body)
}

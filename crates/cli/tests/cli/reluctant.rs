//! Serves chosen responses to GET requests on loopback, as an API server that permits little.

#![allow(dead_code, reason = "each test binary uses some of it")]

use super::running::TestFolder;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

/// The response at a path.
pub(crate) enum There {
    /// This object.
    Object(&'static str),
    /// 404.
    Nothing,
    /// 404 with this message, in JSON.
    Gone(&'static str),
    /// 403.
    Hidden,
}

/// Serves the responses of `there`; `/version` always exists.
pub(crate) fn serve(folder: &TestFolder, there: impl Fn(&str) -> There + Send + Sync + 'static) -> String {
    serve_at(folder, "", there)
}

/// The same, with this `Date` header.
pub(crate) fn serve_at(
    folder: &TestFolder,
    date: &'static str,
    there: impl Fn(&str) -> There + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let there = Arc::new(there);
    // A client may open connections that it does not need.
    std::thread::spawn(move || {
        listener.incoming().for_each(|stream| {
            let there = Arc::clone(&there);
            std::thread::spawn(move || response(stream.unwrap(), date, &*there));
        });
    });
    folder.write("kubeconfig", &kubeconfig(&format!("http://{address}")))
}

fn response(mut stream: TcpStream, date: &str, there: &impl Fn(&str) -> There) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    let requested = lines.by_ref().next().unwrap_or_default();
    lines.take_while(|line| !line.is_empty()).for_each(drop);
    let path = requested.split([' ', '?']).nth(1).unwrap_or_default();
    let rejected = |reason: &str, message: &str| {
        format!(r#"{{"kind": "Status", "reason": "{reason}", "message": "{message}"}}"#)
    };
    let (status, body) = match there(path) {
        _ if path == "/version" => ("200 OK", r#"{"gitVersion": "v1.36.0"}"#.to_owned()),
        There::Object(body) => ("200 OK", body.to_owned()),
        There::Gone(words) => ("404 Not Found", rejected("NotFound", words)),
        There::Nothing => ("404 Not Found", rejected("NotFound", "there is none")),
        There::Hidden => {
            let resource = path.rsplit('/').next().unwrap_or_default();
            ("403 Forbidden", rejected("Forbidden", &format!("eve cannot list resource {resource}")))
        }
    };
    let length = body.len();
    let head = "content-type: application/json\r\nconnection: close";
    let _ = write!(stream, "HTTP/1.1 {status}\r\n{head}\r\n{date}content-length: {length}\r\n\r\n{body}");
}

/// The kubeconfig of a server without authentication, with the namespace `shop`.
pub(crate) fn kubeconfig(server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\nclusters: [{{name: x, cluster: {{server: '{server}'}}}}]\nusers: [{{name: x, user: \
         {{}}}}]\ncontexts: [{{name: x, context: {{cluster: x, user: x, namespace: shop}}}}]\ncurrent-context: x\n"
    )
}

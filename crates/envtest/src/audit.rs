//! Reads the audit log of the API servers: which account wrote what, and when.

use anyhow::Result;
use jiff::Timestamp;
use serde_json::Value;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// One request as an API server recorded it.
#[derive(Clone, Debug)]
pub struct AuditEntry {
    /// `ResponseComplete`, or `ResponseStarted` for a watch that is still open.
    pub stage: String,
    /// The user of the request.
    pub user: String,
    /// The user agent.
    pub agent: String,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`.
    pub verb: String,
    /// The path and query of the request.
    pub uri: String,
    /// The resource, plural; with the subresource as in `pods/status`.
    pub resource: String,
    /// The namespace; empty if there is none.
    pub namespace: String,
    /// The object's name; empty for collections.
    pub name: String,
    /// The HTTP status of the response.
    pub code: u16,
    /// The request body; `Null` for reads.
    pub request: Value,
    /// The response body; `Null` for reads.
    pub response: Value,
    /// When the request arrived.
    pub received: Timestamp,
    /// When its `stage` ended.
    pub completed: Timestamp,
}

impl AuditEntry {
    /// Whether the request changes the cluster. Reviews and dry runs change nothing.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
            && !self.resource.ends_with("reviews")
            && !self.uri.contains("dryRun=All")
    }

    /// Whether the request wanted a streamed list and the server, without WatchList, rejected it.
    pub fn is_rejected_stream(&self) -> bool {
        self.code == 422 && self.verb == "watch" && self.uri.contains("sendInitialEvents=true")
    }
}

/// Log files, each read up to a position. A line that is still being written is left for the next call.
#[derive(Debug)]
pub struct AuditTail {
    files: Vec<(PathBuf, u64)>,
}

impl AuditTail {
    /// Starts at the beginning of the given files.
    pub fn of<'a>(files: impl IntoIterator<Item = &'a Path>) -> Self {
        Self { files: files.into_iter().map(|file| (file.to_owned(), 0)).collect() }
    }

    /// The entries since the last call, in order of arrival.
    pub fn read(&mut self) -> Result<Vec<AuditEntry>> {
        let mut entries = Vec::new();
        for (path, place) in &mut self.files {
            let Ok(mut file) = File::open(path) else { continue };
            file.seek(SeekFrom::Start(*place))?;
            let mut text = Vec::new();
            file.read_to_end(&mut text)?;
            for line in text.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")) {
                entries.push(parse(&serde_json::from_slice(line)?)?);
                *place += line.len() as u64;
            }
        }
        entries.sort_by_key(|entry| entry.received);
        Ok(entries)
    }
}

/// Every entry of the files so far. Each line is parsed once: a test that waits for an entry takes no processor time from
/// what it waits for.
#[derive(Debug)]
pub(crate) struct AuditLog {
    tail: AuditTail,
    entries: Vec<Arc<AuditEntry>>,
}

impl AuditLog {
    pub(crate) const fn new(tail: AuditTail) -> Self {
        Self { tail, entries: Vec::new() }
    }

    /// Every entry so far, in order of arrival.
    pub(crate) fn read(&mut self) -> Result<Vec<Arc<AuditEntry>>> {
        self.entries.extend(self.tail.read()?.into_iter().map(Arc::new));
        self.entries.sort_by_key(|entry| entry.received);
        Ok(self.entries.clone())
    }
}

fn parse(line: &Value) -> Result<AuditEntry> {
    let text = |pointer: &str| line.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut resource = text("/objectRef/resource");
    let subresource = text("/objectRef/subresource");
    if !subresource.is_empty() {
        resource = format!("{resource}/{subresource}");
    }
    let code = line.pointer("/responseStatus/code").and_then(Value::as_u64).unwrap_or_default();
    Ok(AuditEntry {
        stage: text("/stage"),
        user: text("/user/username"),
        agent: text("/userAgent"),
        verb: text("/verb"),
        uri: text("/requestURI"),
        resource,
        namespace: text("/objectRef/namespace"),
        name: text("/objectRef/name"),
        code: u16::try_from(code)?,
        request: line["requestObject"].clone(),
        response: line["responseObject"].clone(),
        received: text("/requestReceivedTimestamp").parse()?,
        completed: text("/stageTimestamp").parse()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"kind":"Event","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/d/pods/p","verb":"delete","user":{"username":"u"},"userAgent":"a/1","objectRef":{"resource":"pods","namespace":"d","name":"p","subresource":"status"},"responseStatus":{"code":409},"requestObject":{"preconditions":{"uid":"x"}},"requestReceivedTimestamp":"2026-11-21T08:00:00.123456Z","stageTimestamp":"2026-11-21T08:00:02.5Z"}"#;

    #[test]
    fn a_line_still_being_written_waits() {
        let file = std::env::temp_dir().join(format!("taintward-audit-test-{}", std::process::id()));
        std::fs::write(&file, format!("{LINE}\n{}", &LINE[..40])).unwrap();
        let mut tail = AuditTail::of([file.as_path()]);
        let entries = tail.read().unwrap();
        assert_eq!((entries.len(), tail.read().unwrap().len()), (1, 0));
        std::fs::write(&file, format!("{LINE}\n{LINE}\n")).unwrap();
        assert_eq!((tail.read().unwrap().len(), tail.read().unwrap().len()), (1, 0));
        std::fs::remove_file(&file).unwrap();
        let entry = &entries[0];
        assert_eq!((entry.user.as_str(), entry.resource.as_str(), entry.code), ("u", "pods/status", 409));
        assert_eq!(entry.request["preconditions"]["uid"], "x");
        assert_eq!(entry.received.as_microsecond() % 1_000_000, 123_456);
        assert_eq!(entry.completed.as_microsecond() - entry.received.as_microsecond(), 2_376_544);
        assert!(entry.is_write());
    }

    #[test]
    fn reading_and_reviewing_change_nothing() {
        let with = |verb: &str, resource: &str, uri: &str| {
            let mut line: Value = serde_json::from_str(LINE).unwrap();
            line["verb"] = verb.into();
            line["objectRef"] = serde_json::json!({"resource": resource});
            line["requestURI"] = uri.into();
            parse(&line).unwrap().is_write()
        };
        assert!(!with("watch", "pods", "/"));
        assert!(!with("create", "selfsubjectaccessreviews", "/"));
        assert!(!with("delete", "pods", "/x?dryRun=All"));
        assert!(with("delete", "pods", "/x"));
    }
}

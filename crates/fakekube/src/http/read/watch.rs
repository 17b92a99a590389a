//! Serves watches as streams of events.
//!
//! - Invariant: a slow client costs no memory: it reads from the store's history, and gets 410 when that has moved on.

use super::{ListOptions, parse_version, selector, unexpected};
use crate::api::{ApiServer, ResourcePath};
use crate::api_status::StatusError;
use crate::http::ResponseEncoding;
use crate::http::response_format::ResponseFormat;
use crate::http::{HttpRequest, HttpResponse, JSON, PROTOBUF_STREAM};
use crate::resource::ResourceId;
use crate::select::ObjectSelector;
use crate::store::{self, ChangeKind, ListRange, StoreEvent, StoredObject};
use bytes::{Bytes, BytesMut};
use futures::stream::{self, StreamExt as _};
use serde_json::json;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// The largest number of events in one piece.
const AT_ONCE: usize = 256;

/// The size at which a piece takes no further event. It bounds the memory of a client that does not read.
const BYTES_AT_ONCE: usize = 64 << 10;

/// How often an idle stream sends a bookmark.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

/// How long before its end a stream sends a bookmark.
const BEFORE_THE_END: Duration = Duration::from_secs(2);

/// The duration of a watch without `timeoutSeconds`.
const LONGEST: Duration = Duration::from_secs(1800);

/// The longest duration of a watch: about a year.
const SECONDS_MAX: u64 = 366 * 24 * 3600;

struct WatchResponse {
    server: ApiServer,
    number: ResourceId,
    namespace: String,
    selector: ObjectSelector,
    form: ResponseFormat,
    /// The version up to which events were sent.
    at: u64,
    /// The version at which the watch began.
    began: u64,
    /// The initial objects.
    first: VecDeque<Arc<StoredObject>>,
    /// The version of the bookmark that ends the initial events.
    mark: Option<u64>,
    moved: watch::Receiver<u64>,
    bookmarks: bool,
    next_bookmark: Instant,
    until: Instant,
    over: bool,
}

impl ApiServer {
    pub(super) fn watch(
        &self,
        request: &HttpRequest,
        on: &ResourcePath,
    ) -> Result<HttpResponse, StatusError> {
        let form = self.form(request, on)?;
        let selector = selector(request, on)?;
        let options = ListOptions::of_watch(request)?;
        let start = self.start(&options, on)?;
        let requested = Some(options.seconds.min(SECONDS_MAX)).filter(|seconds| *seconds > 0);
        let last = requested.map_or(LONGEST, Duration::from_secs);
        let now = Instant::now();
        let watching = WatchResponse {
            server: self.clone(),
            number: on.number,
            namespace: on.namespace.clone(),
            first: start.first,
            mark: start.mark,
            selector,
            form,
            at: start.at,
            began: start.at,
            moved: self.store().moved(on.number),
            bookmarks: options.bookmarks,
            next_bookmark: next_bookmark(now, now + last),
            until: now + last,
            over: false,
        };
        let content_type = match form.encoding() {
            ResponseEncoding::Protobuf => PROTOBUF_STREAM,
            ResponseEncoding::Json => JSON,
        };
        let stream = stream::unfold(watching, |mut watching| async move {
            let bytes = watching.next().await?;
            Some((bytes, watching))
        });
        Ok(HttpResponse::stream(content_type, stream.boxed()))
    }

    fn start(&self, options: &ListOptions, on: &ResourcePath) -> Result<WatchStart, StatusError> {
        let request = match options.version.as_str() {
            "" | "0" => 0,
            version => parse_version(version).map_err(unexpected)?,
        };
        let all = || {
            let namespace = Some(on.namespace.as_str()).filter(|namespace| !namespace.is_empty());
            let range = ListRange { namespace, after: None };
            let listed = self.store().list(on.number, range, None);
            listed.map_or((0, VecDeque::new()), |listed| {
                (listed.version, listed.objects.into_iter().map(|(_, object)| object).collect())
            })
        };
        let (at, first) = match options.initial {
            None | Some(false) if request > 0 => (request, VecDeque::new()),
            Some(false) => (self.store().version(), VecDeque::new()),
            _ => all(),
        };
        // A watch without a version gets the bookmark at the end of the initial events without asking for it.
        let marked = options.initial.unwrap_or(options.version.is_empty());
        Ok(WatchStart { at, first, mark: (marked && options.bookmarks).then_some(at) })
    }
}

/// When to send the next bookmark: from time to time, and before the end, so that a client misses no event and receives
/// none twice.
fn next_bookmark(now: Instant, until: Instant) -> Instant {
    let (soon, last) = (now + BOOKMARK_EVERY, until - BEFORE_THE_END);
    if last > now { soon.min(last) } else { soon }
}

/// Where a watch starts.
struct WatchStart {
    at: u64,
    first: VecDeque<Arc<StoredObject>>,
    mark: Option<u64>,
}

/// The events of one piece. A single event, the usual case, is sent as the bytes that all streams share.
#[derive(Default)]
struct WatchChunk {
    first: Bytes,
    more: BytesMut,
}

impl WatchChunk {
    fn add(&mut self, event: Bytes) {
        if self.first.is_empty() {
            self.first = event;
            return;
        }
        if self.more.is_empty() {
            self.more.extend_from_slice(&self.first);
        }
        self.more.extend_from_slice(&event);
    }

    fn len(&self) -> usize {
        self.first.len().max(self.more.len())
    }

    fn whole(self) -> Bytes {
        if self.more.is_empty() { self.first } else { self.more.freeze() }
    }
}

impl WatchResponse {
    /// The next bytes; `None` at the end.
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if self.over || Instant::now() >= self.until {
                return None;
            }
            let bytes = self.ready();
            if !bytes.is_empty() {
                return Some(bytes);
            }
            let until = match self.bookmarks {
                true => self.until.min(self.next_bookmark),
                false => self.until,
            };
            tokio::select! {
                // Polls in a fixed order, so that the same seed gives the same run.
                biased;
                moved = self.moved.changed() => moved.ok()?,
                () = sleep_until(until) => {
                    if self.bookmarks && Instant::now() >= self.next_bookmark {
                        self.next_bookmark = next_bookmark(Instant::now(), self.until);
                        if self.stands() > self.began {
                            return Some(self.bookmark(false));
                        }
                    }
                }
            }
        }
    }

    /// The events that can be sent now.
    fn ready(&mut self) -> Bytes {
        let mut bytes = WatchChunk::default();
        while bytes.len() < BYTES_AT_ONCE {
            let Some(object) = self.first.pop_front() else { break };
            if self.selector.matches(&object) {
                bytes.add(self.form.event("ADDED", &object));
                self.form.omit_headers();
            }
        }
        if !self.first.is_empty() {
            return bytes.whole();
        }
        if self.mark.take().is_some() {
            bytes.add(self.bookmark(true));
        }
        self.moved.mark_unchanged();
        let Some(events) = self.server.store().changes(self.number, self.at, AT_ONCE) else {
            self.over = true;
            let now = self.server.store().version();
            let failure = StatusError::expired(format!("too old resource version: {} ({now})", self.at));
            let encoding = self.form.encoding();
            bytes.add(self.form.event_of("ERROR", &failure.status(), encoding));
            return bytes.whole();
        };
        let mut more = events.len() == AT_ONCE;
        for event in &events {
            if bytes.len() >= BYTES_AT_ONCE {
                more = true;
                break;
            }
            self.at = event.version;
            if let Some(encoded) = self.encode(event) {
                bytes.add(encoded);
                self.form.omit_headers();
            }
        }
        if more {
            self.moved.mark_changed();
        }
        bytes.whole()
    }

    /// An event as this stream sees it: an object that starts to match is added, one that stops matching is deleted.
    fn encode(&self, event: &StoreEvent) -> Option<Bytes> {
        if !self.namespace.is_empty() {
            event.key.strip_prefix(&*self.namespace)?.strip_prefix('/')?;
        }
        if self.selector.is_all() {
            let what = match event.change {
                ChangeKind::Added => "ADDED",
                ChangeKind::Modified => "MODIFIED",
                ChangeKind::Deleted => "DELETED",
            };
            return Some(self.bytes(what, event));
        }
        let matched = event.before.as_ref().is_some_and(|before| self.selector.matches(before));
        let matches = event.change != ChangeKind::Deleted && self.selector.matches(&event.object);
        match (matched, matches) {
            (false, false) => None,
            (false, true) => Some(self.form.event("ADDED", &event.object)),
            (true, true) => Some(self.form.event("MODIFIED", &event.object)),
            (true, false) => Some(self.left(event)),
        }
    }

    /// The last state in which the object matched, with the present version.
    fn left(&self, event: &StoreEvent) -> Bytes {
        let Some(before) = &event.before else { return Bytes::new() };
        let mut value = before.value();
        value["metadata"]["resourceVersion"] = json!(event.version.to_string());
        let json = store::bytes(&value);
        let object = StoredObject { version: event.version, uid: before.uid.clone(), json };
        self.form.event("DELETED", &object)
    }

    /// The encoded event. Most streams share the same bytes, which are encoded once.
    fn bytes(&self, what: &str, event: &StoreEvent) -> Bytes {
        match self.form.shared() {
            Some(ResponseEncoding::Json) => event.json(|| self.form.event(what, &event.object)),
            Some(ResponseEncoding::Protobuf) => event.protobuf(|| self.form.event(what, &event.object)),
            _ => self.form.event(what, &event.object),
        }
    }

    /// The version up to which there is nothing left to send.
    fn stands(&self) -> u64 {
        self.server.store().version().max(self.at)
    }

    /// A bookmark. As from a real server's watch cache, there is none while the version is the one at which the watch
    /// began: a watch of a cluster where nothing changes stays silent to its end.
    fn bookmark(&self, ends_initial: bool) -> Bytes {
        let version = match ends_initial {
            true => self.at,
            false => self.stands(),
        };
        let mut metadata = json!({"resourceVersion": version.to_string()});
        if ends_initial {
            metadata["annotations"] = json!({"k8s.io/initial-events-end": "true"});
        }
        self.form.bookmark(metadata)
    }
}

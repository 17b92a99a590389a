//! Receives and decodes one page of a list.

use super::body_stream::BodyStream;
use super::stream_health::StreamCounters;
use super::{NextPage, WatchError, WatchPosition};
use crate::decode::list::{ListBody, ListHead, ListPiece};
use crate::decode::{DecodeError, Decoded, Encoding, WatchedObject};
use std::time::Duration;

/// A page that is being received.
pub(super) struct ListPage {
    body: BodyStream,
    encoding: Encoding,
    items: ListBody,
    head: ListHead,
    after: NextPage,
    counters: StreamCounters,
}

/// What follows a page.
pub(super) enum PageOutcome {
    /// The page after this token.
    Next(String, WatchPosition),
    /// The list is complete as of this position.
    Complete(WatchPosition),
}

impl ListPage {
    /// A page whose response has begun; `after` is what it was requested with.
    pub(super) fn new<F: WatchedObject>(body: BodyStream, frame_limit: usize, after: NextPage) -> Self {
        let encoding = body.encoding();
        let items = ListBody::new(encoding, F::RESOURCE.kind, frame_limit);
        Self { body, encoding, items, head: ListHead::default(), after, counters: StreamCounters::default() }
    }

    /// Whether it is the first page of the list.
    pub(super) fn is_first(&self) -> bool {
        self.after.is_none()
    }

    /// Receives the next bytes; false at the clean end.
    pub(super) async fn receive(&mut self) -> Result<bool, WatchError> {
        let Some(chunk) = self.body.chunk().await? else { return Ok(false) };
        self.counters.bytes += chunk.len() as u64;
        self.items.push(&chunk);
        Ok(true)
    }

    /// Returns the next item that has arrived completely.
    pub(super) fn next_item<F: WatchedObject>(&mut self) -> Result<Option<Decoded<F>>, WatchError> {
        while let Some(piece) = self.items.next().map_err(malformed)? {
            match piece {
                ListPiece::Head(head) => self.head = head,
                ListPiece::Item(bytes) => {
                    self.counters.items += 1;
                    return Ok(Some(F::decode(self.encoding, bytes)));
                }
            }
        }
        Ok(None)
    }

    /// Returns what was received since the last call.
    pub(super) fn take_counters(&mut self) -> StreamCounters {
        std::mem::take(&mut self.counters)
    }

    /// A whole item was received: the timeout restarts.
    pub(super) fn restart_timeout(&mut self, silence: Duration) {
        self.body.progress(silence);
    }

    /// The page is complete: the next page follows, or the watch. The watch continues from the version of the *first*
    /// page: should later pages have a later one, nothing between is missed.
    pub(super) fn finish(self) -> Result<PageOutcome, WatchError> {
        self.items.finish().map_err(malformed)?;
        let Self { head, after, .. } = self;
        let since = match after {
            Some((_, since)) => Some(since),
            None => WatchPosition::of(&head.version),
        };
        let since = since.ok_or_else(|| WatchError::Malformed("the list has no version".to_owned()))?;
        Ok(match head.onward.is_empty() {
            true => PageOutcome::Complete(since),
            false => PageOutcome::Next(head.onward, since),
        })
    }
}

fn malformed(error: DecodeError) -> WatchError {
    WatchError::Malformed(format!("a list: {error}"))
}

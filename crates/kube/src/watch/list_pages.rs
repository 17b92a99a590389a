//! Reads one page of a list; a page that fails is requested again, not the list.

use super::attempt::{AttemptEnd, AttemptError, NextRequest, ReceivedCounts, WatchPosition};
use super::body_stream;
use super::stream_health::StreamPhase;
use super::watch_error::WatchError;
use super::watch_loop::WatchLoop;
use super::watch_query;
use crate::decode::list::{ListBody, ListHead, ListPiece};
use crate::decode::{DecodeError, Decoded, Encoding, WatchedObject, decoded};
use http::Request;
use kube::client::Body;

/// The token of a page, and what the list it belongs to stands for; `None` for the first.
pub(super) type NextPage = Option<(String, WatchPosition)>;

/// A page that is being received.
pub(super) struct ListPage {
    encoding: Encoding,
    body: ListBody,
    head: ListHead,
    after: NextPage,
}

/// What follows a page.
pub(super) enum PageOutcome {
    /// The page after this token.
    Onward(String, WatchPosition),
    /// The list is complete as of this position.
    Complete(WatchPosition),
}

impl<F: WatchedObject> WatchLoop<F> {
    /// Receives the first page, or the one after a token.
    pub(super) async fn page(&mut self, after: NextPage) -> Result<AttemptEnd, AttemptError> {
        let request = self.page_request(&after)?;
        let patience = self.patience();
        let mut incoming = body_stream::open(&self.client, request, patience, Self::source("list")).await?;
        self.agreed(StreamPhase::Listing);
        let mut page = self.page_begins(incoming.encoding, after);
        while let Some(chunk) = incoming.chunk().await? {
            let mut tally = ReceivedCounts::default();
            let understood = self.take_in_page(&mut page, &chunk, &mut tally);
            self.received(&tally);
            self.outbox.flush().await?;
            understood?;
            if tally.items > 0 {
                incoming.progress(patience);
            }
        }
        match page.turn()? {
            PageOutcome::Complete(since) => self.end_list(since),
            PageOutcome::Onward(onward, since) => self.next = NextRequest::Page { onward, since },
        }
        self.outbox.flush().await?;
        Ok(AttemptEnd::Onward)
    }

    pub(super) fn page_request(&self, after: &NextPage) -> Result<Request<Body>, WatchError> {
        let limit = (!self.in_one_go).then_some(self.settings.page_limit);
        let onward = after.as_ref().map(|(onward, _)| onward.as_str());
        watch_query::page::<F>(&self.settings.scope, limit, onward)
    }

    /// The server has agreed to a page.
    pub(super) fn page_begins(&mut self, encoding: Encoding, after: NextPage) -> ListPage {
        self.note(|health| health.counters.pages += 1);
        if after.is_none() {
            self.begin_list();
        }
        let body = ListBody::new(encoding, F::KIND, self.settings.frame_limit);
        ListPage { encoding, body, head: ListHead::default(), after }
    }

    /// Takes in every whole item that has arrived.
    pub(super) fn take_in_page(
        &mut self,
        page: &mut ListPage,
        chunk: &[u8],
        tally: &mut ReceivedCounts,
    ) -> Result<(), WatchError> {
        tally.bytes += chunk.len() as u64;
        page.body.push(chunk);
        while let Some(piece) = page.body.next().map_err(nonsense)? {
            match piece {
                ListPiece::Head(found) => page.head = found,
                ListPiece::Item(bytes) => {
                    let decoded = decoded::<F>(page.encoding, bytes);
                    tally.items += 1;
                    tally.unreadable += u64::from(matches!(decoded, Decoded::Undecodable(_)));
                    self.put_decoded(decoded, true);
                }
            }
        }
        Ok(())
    }
}

impl ListPage {
    /// Whether the list begins with it.
    pub(super) fn is_first(&self) -> bool {
        self.after.is_none()
    }

    /// The page is complete: on to the next, or to the watch. The watch goes on from the version of the *first* page:
    /// should later pages stand for a later one, nothing between is missed.
    pub(super) fn turn(self) -> Result<PageOutcome, WatchError> {
        self.body.finish().map_err(nonsense)?;
        let Self { head, after, .. } = self;
        let (token, since) = match after {
            Some((token, since)) => (token, Some(since)),
            None => (String::new(), WatchPosition::of(&head.version)),
        };
        let since = since.ok_or_else(|| WatchError::Malformed("the list has no version".to_owned()))?;
        if head.onward.is_empty() {
            Ok(PageOutcome::Complete(since))
        } else if head.onward == token {
            Err(WatchError::Malformed("the list goes on where it already was".to_owned()))
        } else {
            Ok(PageOutcome::Onward(head.onward, since))
        }
    }
}

fn nonsense(fault: DecodeError) -> WatchError {
    WatchError::Malformed(format!("a list: {fault}"))
}

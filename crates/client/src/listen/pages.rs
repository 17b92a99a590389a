//! # Pages: one page of a list, from request to end
//! Room:     items as they arrive, and the page's head.
//! Comes in: the body of one page.
//! Goes out: things heard; whether to go on with the next page or with the watch.
//! Not here: what to do after trouble (`session.rs`): a page that fails is asked for again, not the list.

use super::health::Phase;
use super::query;
use super::session::Session;
use super::step::{Done, Next, Position, Stop, Tally};
use super::talk;
use super::trouble::Trouble;
use crate::decode::list::{ListBody, ListHead, Piece};
use crate::decode::{Decoded, Encoding, Fact, Fault, decoded};
use http::Request;
use kube::client::Body;

/// The token of a page, and what the list it belongs to stands for; `None` for the first.
pub(super) type After = Option<(String, Position)>;

/// A page that is being received.
pub(super) struct Page {
    encoding: Encoding,
    body: ListBody,
    head: ListHead,
    after: After,
}

/// What follows a page.
pub(super) enum Turn {
    /// The page after this token.
    Onward(String, Position),
    /// The list is complete as of this position.
    Complete(Position),
}

impl<F: Fact> Session<F> {
    /// Receives the first page, or the one after a token.
    pub(super) async fn page(&mut self, after: After) -> Result<Done, Stop> {
        let request = self.page_request(&after)?;
        let patience = self.patience();
        let mut incoming = talk::open(&self.client, request, patience, Self::source("list")).await?;
        self.agreed(Phase::Listing);
        let mut page = self.page_begins(incoming.encoding, after);
        while let Some(chunk) = incoming.chunk().await? {
            let mut tally = Tally::default();
            let understood = self.take_in_page(&mut page, &chunk, &mut tally);
            self.received(&tally);
            self.outbox.flush().await?;
            understood?;
            if tally.items > 0 {
                incoming.progress(patience);
            }
        }
        match page.turn()? {
            Turn::Complete(since) => self.end_list(since),
            Turn::Onward(onward, since) => self.next = Next::Page { onward, since },
        }
        self.outbox.flush().await?;
        Ok(Done::Onward)
    }

    pub(super) fn page_request(&self, after: &After) -> Result<Request<Body>, Trouble> {
        let limit = (!self.in_one_go).then_some(self.settings.page_limit);
        let onward = after.as_ref().map(|(onward, _)| onward.as_str());
        query::page::<F>(&self.settings.scope, limit, onward)
    }

    /// The server has agreed to a page.
    pub(super) fn page_begins(&mut self, encoding: Encoding, after: After) -> Page {
        self.note(|health| health.counters.pages += 1);
        if after.is_none() {
            self.begin_list();
        }
        let body = ListBody::new(encoding, F::KIND, self.settings.frame_limit);
        Page { encoding, body, head: ListHead::default(), after }
    }

    /// Takes in every whole item that has arrived.
    pub(super) fn take_in_page(
        &mut self,
        page: &mut Page,
        chunk: &[u8],
        tally: &mut Tally,
    ) -> Result<(), Trouble> {
        tally.bytes += chunk.len() as u64;
        page.body.push(chunk);
        while let Some(piece) = page.body.next().map_err(nonsense)? {
            match piece {
                Piece::Head(found) => page.head = found,
                Piece::Item(bytes) => {
                    let decoded = decoded::<F>(page.encoding, bytes);
                    tally.items += 1;
                    tally.unreadable += u64::from(matches!(decoded, Decoded::Unreadable(_)));
                    self.put_decoded(decoded, true);
                }
            }
        }
        Ok(())
    }
}

impl Page {
    /// Whether the list begins with it.
    pub(super) fn is_first(&self) -> bool {
        self.after.is_none()
    }

    /// The page is complete: on to the next, or to the watch. The watch goes on from the version of the *first* page:
    /// should later pages stand for a later one, nothing between is missed.
    pub(super) fn turn(self) -> Result<Turn, Trouble> {
        self.body.finish().map_err(nonsense)?;
        let Self { head, after, .. } = self;
        let (token, since) = match after {
            Some((token, since)) => (token, Some(since)),
            None => (String::new(), Position::of(&head.version)),
        };
        let since = since.ok_or_else(|| Trouble::Malformed("the list has no version".to_owned()))?;
        if head.onward.is_empty() {
            Ok(Turn::Complete(since))
        } else if head.onward == token {
            Err(Trouble::Malformed("the list goes on where it already was".to_owned()))
        } else {
            Ok(Turn::Onward(head.onward, since))
        }
    }
}

fn nonsense(fault: Fault) -> Trouble {
    Trouble::Malformed(format!("a list: {fault}"))
}

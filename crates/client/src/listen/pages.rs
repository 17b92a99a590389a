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

impl<F: Fact> Session<F> {
    /// Receives the first page, or the one after a token.
    pub(super) async fn page(&mut self, after: Option<(String, Position)>) -> Result<Done, Stop> {
        let limit = (!self.in_one_go).then_some(self.settings.page_limit);
        let onward = after.as_ref().map(|(onward, _)| onward.as_str());
        let request = query::page::<F>(&self.settings.scope, limit, onward)?;
        let patience = self.patience();
        let mut incoming = talk::open(&self.client, request, patience, Self::source("list")).await?;
        self.agreed(Phase::Listing);
        self.note(|health| health.counters.pages += 1);
        if after.is_none() {
            self.begin_list();
        }
        let mut body = ListBody::new(incoming.encoding, F::KIND, self.settings.frame_limit);
        let mut head = ListHead::default();
        while let Some(chunk) = incoming.chunk().await? {
            body.push(&chunk);
            let mut tally = Tally { bytes: chunk.len() as u64, ..Tally::default() };
            let understood = self.peel(&mut body, incoming.encoding, &mut head, &mut tally);
            self.received(&tally);
            self.outbox.flush().await?;
            understood.map_err(nonsense)?;
            if tally.items > 0 {
                incoming.progress(patience);
            }
        }
        body.finish().map_err(nonsense)?;
        self.turn(head, after)?;
        self.outbox.flush().await?;
        Ok(Done::Onward)
    }

    /// Takes in every whole item that has arrived.
    fn peel(
        &mut self,
        body: &mut ListBody,
        encoding: Encoding,
        head: &mut ListHead,
        tally: &mut Tally,
    ) -> Result<(), Fault> {
        while let Some(piece) = body.next()? {
            match piece {
                Piece::Head(found) => *head = found,
                Piece::Item(bytes) => {
                    let decoded = decoded::<F>(encoding, bytes);
                    tally.items += 1;
                    tally.unreadable += u64::from(matches!(decoded, Decoded::Unreadable(_)));
                    self.put_decoded(decoded, true);
                }
            }
        }
        Ok(())
    }

    /// The page is complete: on to the next, or to the watch. The watch goes on from the version of the *first* page:
    /// should later pages stand for a later one, nothing between is missed.
    fn turn(&mut self, head: ListHead, after: Option<(String, Position)>) -> Result<(), Trouble> {
        let (token, since) = match after {
            Some((token, since)) => (token, Some(since)),
            None => (String::new(), Position::of(&head.version)),
        };
        let since = since.ok_or_else(|| Trouble::Malformed("the list has no version".to_owned()))?;
        if head.onward.is_empty() {
            self.end_list(since);
        } else if head.onward == token {
            return Err(Trouble::Malformed("the list goes on where it already was".to_owned()));
        } else {
            self.next = Next::Page { onward: head.onward, since };
        }
        Ok(())
    }
}

fn nonsense(fault: Fault) -> Trouble {
    Trouble::Malformed(format!("a list: {fault}"))
}

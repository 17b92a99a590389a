//! Limits the time and the memory of unfinished request bodies.

use crate::http::BodyTimeout;
use bytes::Bytes;
use futures::future::BoxFuture;
use http_body::{Body, Frame, SizeHint};
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Sleep, sleep};

/// Bodies up to this size need no permit.
const SMALL: usize = 64 << 10;

type BoxError = Box<dyn Error + Send + Sync>;

/// A body with a deadline.
pub(super) struct TimedBody<B> {
    body: B,
    limit: Duration,
    deadline: Option<Pin<Box<Sleep>>>,
    read: usize,
    room: Arc<Semaphore>,
    wanted: Option<BoxFuture<'static, Option<OwnedSemaphorePermit>>>,
    /// The permit for a large body while it is read.
    large: Option<OwnedSemaphorePermit>,
}

impl<B> TimedBody<B> {
    pub(super) fn new(body: B, limit: Duration, room: &Arc<Semaphore>) -> Self {
        Self { body, limit, deadline: None, read: 0, room: Arc::clone(room), wanted: None, large: None }
    }

    /// Waits until a large body may be read.
    fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.read > SMALL && self.large.is_none() {
            let room = &self.room;
            let wanted = self.wanted.get_or_insert_with(|| {
                let room = Arc::clone(room);
                Box::pin(async move { room.acquire_owned().await.ok() })
            });
            self.large = ready!(wanted.as_mut().poll(cx));
            self.wanted = None;
        }
        Poll::Ready(())
    }
}

impl<B> Body for TimedBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        if this.poll_room(cx).is_ready()
            && let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx)
        {
            if let Some(Ok(frame)) = &frame {
                this.read += frame.data_ref().map_or(0, Bytes::len);
            }
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let limit = this.limit;
        let deadline = this.deadline.get_or_insert_with(|| Box::pin(sleep(limit)));
        ready!(deadline.as_mut().poll(cx));
        Poll::Ready(Some(Err(BodyTimeout(limit).into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

//! Delays reads of a busy stream for a moment, so that many small records are read together.
//!
//! - Invariant: data that arrives after a silence is read immediately, and no delay exceeds the connection's limit.

use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use std::future::Future;
use std::io::{IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep};

/// How long a read waits after the previous one if data may be urgent; and the initial wait if none is.
pub(super) const MOMENT: Duration = Duration::from_millis(3);

/// The maximum wait if nothing is urgent: heartbeats are observed later by this, so that no node counts as silent too
/// early.
pub(super) const LONG_MOMENT: Duration = Duration::from_millis(200);

/// The size of a single read from the system.
const BUFFER_SIZE: usize = 256 << 10;

/// A connection that is read in chunks.
///
/// A streamed list sends every object in a record of its own. A reader that wakes up for each of them spends three
/// quarters of its time on waking up (docs/benchmarks.md). Heartbeats arrive one by one, hundreds a second, and none of
/// them is urgent: for them the delay grows while each read finds more data (docs/benchmarks-lifecycle.md).
pub(super) struct CoalescingStream<T> {
    inner: T,
    buffer: Box<[u8]>,
    /// The part of the buffer that was read from the system and not returned yet.
    unread: std::ops::Range<usize>,
    moment: Pin<Box<Sleep>>,
    /// The current delay, and its maximum.
    length: Duration,
    longest: Duration,
    resting: bool,
    /// The delay is over, and nothing was read since.
    rested: bool,
}

impl<T> CoalescingStream<T> {
    /// Waits for at most `longest`; with zero everything is read immediately.
    pub(super) fn new(inner: T, longest: Duration) -> Self {
        let capacity = if longest.is_zero() { 0 } else { BUFFER_SIZE };
        Self {
            inner,
            buffer: vec![0; capacity].into_boxed_slice(),
            unread: 0..0,
            moment: Box::pin(sleep(Duration::ZERO)),
            length: MOMENT,
            longest,
            resting: false,
            rested: false,
        }
    }
}

impl<T: Read + Unpin> CoalescingStream<T> {
    /// Fills the empty buffer; it stays empty at the end of the stream.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        if self.resting {
            ready!(self.moment.as_mut().poll(cx));
            (self.resting, self.rested) = (false, true);
        }
        let mut read_buf = ReadBuf::new(&mut self.buffer);
        let Poll::Ready(read) = Pin::new(&mut self.inner).poll_read(cx, read_buf.unfilled()) else {
            // There was no data: what arrives next is read immediately, and the delay after it is short.
            (self.length, self.rested) = (MOMENT, false);
            return Poll::Pending;
        };
        read?;
        if std::mem::take(&mut self.rested) {
            self.length = (self.length * 2).min(self.longest);
        }
        self.unread = 0..read_buf.filled().len();
        // A full buffer means that there is more data already.
        if self.unread.end < BUFFER_SIZE {
            self.resting = true;
            self.moment.as_mut().reset(Instant::now() + self.length);
        }
        Poll::Ready(Ok(()))
    }
}

impl<T: Read + Unpin> Read for CoalescingStream<T> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, mut out: ReadBufCursor<'_>) -> Poll<Result<()>> {
        let this = self.get_mut();
        if this.buffer.is_empty() {
            return Pin::new(&mut this.inner).poll_read(cx, out);
        }
        if this.unread.is_empty() {
            ready!(this.poll_fill(cx))?;
        }
        let length = this.unread.len().min(out.remaining());
        out.put_slice(&this.buffer[this.unread.start..this.unread.start + length]);
        this.unread.start += length;
        Poll::Ready(Ok(()))
    }
}

impl<T: Write + Unpin> Write for CoalescingStream<T> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, parts)
    }
}

impl<T: Connection> Connection for CoalescingStream<T> {
    fn connected(&self) -> Connected {
        self.inner.connected()
    }
}

#[cfg(test)]
mod tests;

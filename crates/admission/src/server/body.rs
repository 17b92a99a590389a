//! Reads a request body within limits of time, length and memory, or discards it.
//!
//! - Invariant: memory follows what is kept, not what was received or announced.

use super::memory_budget::{BodyMemoryBudget, BodyReservation, BudgetExceeded};
use crate::metrics::UnreviewedReason;
use crate::review::{FilteredReview, InvalidReview, ReviewFilter};
use crate::settings::ServerLimits;
use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::time::timeout;

/// How much of an unneeded body is read and discarded, so that the client can receive the response.
const UNWANTED_MAX: u64 = 16 << 20;

/// Why there is no review; with the part that arrived, if that is enough to answer.
#[derive(Debug)]
pub(super) enum BodyError {
    TooLarge(Option<FilteredReview>),
    TimedOut(Option<FilteredReview>),
    Crowded(Option<FilteredReview>),
    Broken,
    Malformed(InvalidReview),
}

impl From<BudgetExceeded> for BodyError {
    fn from(_: BudgetExceeded) -> Self {
        Self::Crowded(None)
    }
}

impl From<InvalidReview> for BodyError {
    fn from(malformed: InvalidReview) -> Self {
        Self::Malformed(malformed)
    }
}

impl From<&BodyError> for UnreviewedReason {
    fn from(unread_body_response: &BodyError) -> Self {
        match unread_body_response {
            BodyError::TooLarge(_) => Self::TooLarge,
            BodyError::TimedOut(_) => Self::TimedOut,
            BodyError::Crowded(_) => Self::Crowded,
            BodyError::Broken | BodyError::Malformed(_) => Self::Broken,
        }
    }
}

/// The received review, and the memory it uses.
pub(super) struct ReviewBody {
    pub(super) filtered: FilteredReview,
    share: Option<BodyReservation>,
}

impl ReviewBody {
    /// Waits until its memory is needed for other requests; never for a short body.
    pub(super) async fn is_given_up(&self) {
        match &self.share {
            Some(share) => share.is_given_up().await,
            None => std::future::pending().await,
        }
    }
}

/// Reads a body to its end.
pub(super) async fn read<B>(
    body: &mut B,
    limits: &ServerLimits,
    budget: &Arc<BodyMemoryBudget>,
) -> Result<ReviewBody, BodyError>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut reading = BodyReader { filter: ReviewFilter::default(), read: 0, most: limits.body_bytes };
    // Most bodies are available as soon as their head is.
    if let Poll::Ready(frame) = poll_fn(|cx| Poll::Ready(Pin::new(&mut *body).poll_frame(cx))).await {
        match frame {
            None => return Ok(ReviewBody { filtered: reading.filter.finish()?, share: None }),
            Some(Err(_)) => return Err(BodyError::Broken),
            Some(Ok(frame)) => {
                reading.goes_on(&frame.into_data().unwrap_or_default())?;
                if body.is_end_stream() {
                    return Ok(ReviewBody { filtered: reading.filter.finish()?, share: None });
                }
            }
        }
    }
    let share = budget.begin()?;
    let ended = tokio::select! {
        ended = timeout(limits.body, reading.until_the_end(body, &share)) => ended.unwrap_or(Err(BodyError::TimedOut(None))),
        () = share.is_given_up() => Err(BodyError::Crowded(None)),
    };
    match ended {
        Ok(()) => Ok(ReviewBody { filtered: reading.filter.finish()?, share: Some(share) }),
        Err(BodyError::TimedOut(_)) => Err(BodyError::TimedOut(reading.filter.broken_off())),
        Err(BodyError::Crowded(_)) => Err(BodyError::Crowded(reading.filter.broken_off())),
        Err(other) => Err(other),
    }
}

struct BodyReader {
    filter: ReviewFilter,
    read: usize,
    most: usize,
}

impl BodyReader {
    fn goes_on(&mut self, data: &[u8]) -> Result<(), BodyError> {
        self.read += data.len();
        if self.read > self.most {
            let filter = std::mem::take(&mut self.filter);
            return Err(BodyError::TooLarge(filter.broken_off()));
        }
        Ok(self.filter.push(data)?)
    }

    async fn until_the_end<B>(&mut self, body: &mut B, share: &BodyReservation) -> Result<(), BodyError>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(|_| BodyError::Broken)?.into_data() else { continue };
            self.goes_on(&data)?;
            share.hold(self.filter.memory())?;
        }
        Ok(())
    }
}

/// Reads and discards an unneeded body. A client that gets a response while it still sends may never receive it,
/// because the connection has to be closed.
pub(super) async fn discard_body<B>(body: &mut B, limits: &ServerLimits)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut read = 0;
    let reading = async {
        while read < UNWANTED_MAX
            && let Some(Ok(frame)) = body.frame().await
        {
            read += frame.data_ref().map_or(0, |data| data.len() as u64);
        }
    };
    // Whether it was complete does not matter here.
    let _ = timeout(limits.body, reading).await;
}

//! # Body: what a request brings
//! Room:     reading a body within its time, its length and the room there is; throwing one away.
//! Comes in: a body, piece by piece.
//! Goes out: its bytes, or why they are not to be had.
//! Keeps:    a body that comes in one piece is not copied; memory follows what has come, not what was announced.
//! Not here: what the bytes say (`review`).

use super::room::{GivenUp, Room, Share};
use crate::metrics::Refused;
use crate::settings::Limits;
use bytes::Bytes;
use http_body::Body;
use http_body_util::BodyExt as _;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::time::timeout;

/// The least memory that is asked for at a time.
const STEP: usize = 16 << 10;

/// How much of a body that nobody wants is read and thrown away, so that its sender gets to read the answer.
const UNWANTED_MAX: u64 = 16 << 20;

/// Why there are no bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lacking {
    TooLarge,
    Late,
    Crowded,
    Broken,
}

impl From<GivenUp> for Lacking {
    fn from(_: GivenUp) -> Self {
        Self::Crowded
    }
}

impl From<Lacking> for Refused {
    fn from(lacking: Lacking) -> Self {
        match lacking {
            Lacking::TooLarge => Self::TooLarge,
            Lacking::Late => Self::Late,
            Lacking::Crowded => Self::Crowded,
            Lacking::Broken => Self::Broken,
        }
    }
}

/// Reads a body to its end.
pub(super) async fn read<B>(body: &mut B, limits: &Limits, room: &Arc<Room>) -> Result<Bytes, Lacking>
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut begun = Vec::new();
    // Most bodies are there as soon as their head is.
    if let Poll::Ready(frame) = poll_fn(|cx| Poll::Ready(Pin::new(&mut *body).poll_frame(cx))).await {
        match frame {
            None => return Ok(Bytes::new()),
            Some(Err(_)) => return Err(Lacking::Broken),
            Some(Ok(frame)) => {
                let data = frame.into_data().unwrap_or_default();
                if data.len() > limits.body_bytes {
                    return Err(Lacking::TooLarge);
                }
                if body.is_end_stream() {
                    return Ok(data);
                }
                begun.push(data);
            }
        }
    }
    let share = room.begin()?;
    tokio::select! {
        read = timeout(limits.body, collect(body, begun, limits.body_bytes, &share)) => read.unwrap_or(Err(Lacking::Late)),
        () = share.is_given_up() => Err(Lacking::Crowded),
    }
}

async fn collect<B>(body: &mut B, begun: Vec<Bytes>, most: usize, share: &Share) -> Result<Bytes, Lacking>
where
    B: Body<Data = Bytes> + Unpin,
{
    // What is announced is the most that is ever needed, and nothing to rely on.
    let announced = body.size_hint().exact().and_then(|more| usize::try_from(more).ok());
    let enough = announced.map_or(most, |more| more.saturating_add(begun.iter().map(Bytes::len).sum()));
    let mut whole = Vec::new();
    for data in begun {
        put(&mut whole, &data, enough, share)?;
    }
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.map_err(|_| Lacking::Broken)?.into_data() else { continue };
        if whole.len() + data.len() > most {
            return Err(Lacking::TooLarge);
        }
        put(&mut whole, &data, enough, share)?;
    }
    Ok(whole.into())
}

fn put(whole: &mut Vec<u8>, data: &[u8], enough: usize, share: &Share) -> Result<(), GivenUp> {
    let needed = whole.len() + data.len();
    if needed > whole.capacity() {
        let wanted = needed.max(STEP).max(whole.capacity() * 2).min(enough.max(needed));
        share.grow(wanted - whole.capacity())?;
        whole.reserve_exact(wanted - whole.len());
    }
    whole.extend_from_slice(data);
    Ok(())
}

/// Reads a body that nobody wants and keeps nothing of it. A sender that is answered while it still sends may never see
/// the answer, for the connection has to be cut.
pub(super) async fn throw_away<B>(body: &mut B, limits: &Limits)
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
    // Whether it came to its end is its sender's affair.
    let _ = timeout(limits.body, reading).await;
}

//! Keeps the latest segments of a record in memory.

use std::collections::VecDeque;
use taintward_core::time::{Mono, Span};

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingLimits {
    /// Older segments are dropped, once what is left reaches so far back.
    pub age: Span,
    /// The largest number of bytes; the latest segment is kept in any case.
    pub bytes: usize,
}

impl Default for RingLimits {
    fn default() -> Self {
        Self { age: Span::from_secs(600), bytes: 16 << 20 }
    }
}

/// A segment: packed frames, the first of which is a state.
struct Segment {
    begun: Mono,
    frames: Vec<u8>,
}

/// The segments of one controller, the oldest first.
pub(crate) struct Ring {
    limits: RingLimits,
    segments: VecDeque<Segment>,
}

impl Ring {
    pub(crate) const fn new(limits: RingLimits) -> Self {
        Self { limits, segments: VecDeque::new() }
    }

    /// Begins a segment with a packed state.
    pub(crate) fn begin(&mut self, state: Vec<u8>, now: Mono) {
        self.segments.push_back(Segment { begun: now, frames: state });
        self.drop_oldest(now);
    }

    /// Adds packed calls to the latest segment.
    pub(crate) fn push(&mut self, calls: &[u8], now: Mono) {
        if let Some(segment) = self.segments.back_mut() {
            segment.frames.extend_from_slice(calls);
        }
        self.drop_oldest(now);
    }

    fn drop_oldest(&mut self, now: Mono) {
        while let Some(next) = self.segments.get(1)
            && (now.since(next.begun) >= self.limits.age || self.len() > self.limits.bytes)
        {
            self.segments.pop_front();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.segments.iter().map(|segment| segment.frames.len()).sum()
    }

    /// All frames, the oldest first.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &[u8]> {
        self.segments.iter().map(|segment| &*segment.frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(ring: &Ring) -> Vec<&str> {
        ring.frames().map(|frames| std::str::from_utf8(frames).unwrap()).collect()
    }

    #[test]
    fn a_segment_is_dropped_when_the_next_one_reaches_back_far_enough() {
        let mut ring = Ring::new(RingLimits { age: Span::from_secs(10), bytes: 1000 });
        ring.push(b"x", Mono::from_secs(0));
        assert_eq!(kept(&ring), [""; 0], "calls without a state are of no use");
        for second in 0..3 {
            ring.begin(b"a".to_vec(), Mono::from_secs(second * 5));
            ring.push(b"b", Mono::from_secs(second * 5 + 4));
        }
        assert_eq!(kept(&ring), ["ab", "ab", "ab"]);
        ring.push(b"c", Mono::from_secs(15));
        assert_eq!(kept(&ring), ["ab", "abc"]);
    }

    #[test]
    fn the_oldest_segments_make_room_and_the_latest_stays() {
        let mut ring = Ring::new(RingLimits { age: Span::from_secs(10), bytes: 5 });
        let now = Mono::from_secs(0);
        ring.begin(b"aa".to_vec(), now);
        ring.begin(b"bb".to_vec(), now);
        ring.push(b"b", now);
        assert_eq!(kept(&ring), ["aa", "bbb"]);
        ring.push(b"b", now);
        assert_eq!(kept(&ring), ["bbbb"]);
        ring.push(b"bbbb", now);
        assert_eq!(kept(&ring), ["bbbbbbbb"]);
    }
}

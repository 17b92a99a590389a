//! Keeps the latest segments of a record in memory.

use crate::frame::RecordedController;
use std::collections::{BTreeMap, VecDeque};
use taintward_core::time::{Mono, Span};

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingLimits {
    /// Older segments are dropped, once what is left of a controller's reaches so far back.
    pub age: Span,
    /// The largest number of bytes of all controllers; the latest segment of each is kept in any case.
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

/// The segments of each controller, the oldest first.
pub(crate) struct Ring {
    limits: RingLimits,
    segments: BTreeMap<RecordedController, VecDeque<Segment>>,
}

impl Ring {
    pub(crate) const fn new(limits: RingLimits) -> Self {
        Self { limits, segments: BTreeMap::new() }
    }

    /// Begins a segment with a packed state.
    pub(crate) fn begin(&mut self, controller: RecordedController, state: &[u8], now: Mono) {
        let segment = Segment { begun: now, frames: state.to_vec() };
        self.segments.entry(controller).or_default().push_back(segment);
        self.drop_oldest(now);
    }

    /// Adds packed calls to the latest segment; without one, they are of no use.
    pub(crate) fn push(&mut self, controller: RecordedController, calls: &[u8], now: Mono) {
        let latest = self.segments.get_mut(&controller).and_then(VecDeque::back_mut);
        if let Some(segment) = latest {
            segment.frames.extend_from_slice(calls);
        }
        self.drop_oldest(now);
    }

    fn drop_oldest(&mut self, now: Mono) {
        let age = self.limits.age;
        for segments in self.segments.values_mut() {
            while segments.get(1).is_some_and(|next| now.since(next.begun) >= age) {
                segments.pop_front();
            }
        }
        while self.len() > self.limits.bytes {
            let droppable = self.segments.values_mut().filter(|segments| segments.len() > 1);
            let Some(oldest) = droppable.min_by_key(|segments| segments.front().map(|first| first.begun))
            else {
                return;
            };
            oldest.pop_front();
        }
    }

    fn len(&self) -> usize {
        self.frames().map(<[u8]>::len).sum()
    }

    /// All frames, those of one controller after those of another, the oldest first.
    pub(crate) fn frames(&self) -> impl Iterator<Item = &[u8]> {
        self.segments.values().flatten().map(|segment| &*segment.frames)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVICTION: RecordedController = RecordedController::TaintEviction;

    fn kept(ring: &Ring) -> Vec<&str> {
        ring.frames().map(|frames| std::str::from_utf8(frames).unwrap()).collect()
    }

    #[test]
    fn a_segment_is_dropped_when_the_next_one_reaches_back_far_enough() {
        let mut ring = Ring::new(RingLimits { age: Span::from_secs(10), bytes: 1000 });
        ring.push(EVICTION, b"x", Mono::from_secs(0));
        assert_eq!(kept(&ring), [""; 0], "calls without a state are of no use");
        for second in 0..3 {
            ring.begin(EVICTION, b"a", Mono::from_secs(second * 5));
            ring.push(EVICTION, b"b", Mono::from_secs(second * 5 + 4));
        }
        assert_eq!(kept(&ring), ["ab", "ab", "ab"]);
        ring.push(EVICTION, b"c", Mono::from_secs(15));
        assert_eq!(kept(&ring), ["ab", "abc"]);
    }

    #[test]
    fn the_oldest_segments_make_room_and_the_latest_stay() {
        const NODES: RecordedController = RecordedController::NodeLifecycle;
        let mut ring = Ring::new(RingLimits { age: Span::from_secs(100), bytes: 7 });
        let at = Mono::from_secs;
        ring.begin(NODES, b"nn", at(0));
        ring.begin(EVICTION, b"aa", at(1));
        ring.begin(EVICTION, b"bb", at(2));
        ring.push(EVICTION, b"b", at(3));
        assert_eq!(kept(&ring), ["aa", "bbb", "nn"]);
        ring.push(EVICTION, b"b", at(4));
        assert_eq!(kept(&ring), ["bbbb", "nn"], "the only segment of a controller is its latest");
        ring.begin(NODES, b"mm", at(5));
        assert_eq!(kept(&ring), ["bbbb", "mm"]);
        ring.push(EVICTION, b"bbbb", at(6));
        assert_eq!(kept(&ring), ["bbbbbbbb", "mm"]);
    }
}

//! Orders pods by the time at which their kubelet handles them again.

use jiff::Timestamp;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A waiting pod.
#[derive(Debug)]
struct DelayedItem {
    uid: Box<str>,
    at: Timestamp,
    /// The kubelet has handled it and scheduled this time.
    begun: bool,
    /// It only waits; nothing is in progress.
    idle: bool,
}

/// Pods by the time of their next turn.
#[derive(Debug, Default)]
pub(super) struct DelayQueue {
    by_key: HashMap<Arc<str>, DelayedItem>,
    order: BTreeSet<(Timestamp, Arc<str>)>,
}

impl DelayQueue {
    /// Adds a pod. One that is already waiting keeps its time, unless it is another pod of the same name, or it is idle
    /// and there is something to do now.
    pub(super) fn want(&mut self, key: &Arc<str>, uid: &str, now: Timestamp, to_do: bool) {
        if self.by_key.get(key).is_none_or(|turn| *turn.uid != *uid || turn.idle && to_do) {
            self.set(key, now, DelayedItem { uid: uid.into(), at: now, begun: false, idle: false });
        }
    }

    /// Schedules a pod that has been handled for another time.
    pub(super) fn again(&mut self, key: &Arc<str>, uid: &str, at: Timestamp, idle: bool) {
        self.set(key, at, DelayedItem { uid: uid.into(), at, begun: true, idle });
    }

    fn set(&mut self, key: &Arc<str>, at: Timestamp, turn: DelayedItem) {
        self.forget(key);
        self.order.insert((at, Arc::clone(key)));
        self.by_key.insert(Arc::clone(key), turn);
    }

    /// Removes a pod.
    pub(super) fn forget(&mut self, key: &Arc<str>) {
        if let Some(turn) = self.by_key.remove(key) {
            self.order.remove(&(turn.at, Arc::clone(key)));
        }
    }

    /// Removes and returns the first pod that is due, and whether the kubelet had scheduled that time.
    pub(super) fn next(&mut self, now: Timestamp) -> Option<(Arc<str>, bool)> {
        let (at, _) = self.order.first()?;
        if *at > now {
            return None;
        }
        let (_, key) = self.order.pop_first()?;
        let begun = self.by_key.remove(&key).is_some_and(|turn| turn.begun);
        Some((key, begun))
    }

    /// The time of the next pod.
    pub(super) fn wake_at(&self) -> Option<Timestamp> {
        self.order.first().map(|(at, _)| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::DelayQueue;
    use jiff::Timestamp;
    use std::sync::Arc;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn each_waits_for_its_moment_and_a_change_does_not_hurry_it() {
        let (mut turns, a, b): (_, Arc<str>, Arc<str>) = (DelayQueue::default(), "a".into(), "b".into());
        turns.want(&a, "1", at(10), true);
        assert_eq!(turns.next(at(10)), Some((Arc::clone(&a), false)));
        turns.again(&a, "1", at(20), false);
        turns.want(&b, "2", at(15), true);
        turns.want(&a, "1", at(12), true);
        assert_eq!(turns.wake_at(), Some(at(15)));
        assert_eq!(turns.next(at(14)), None);
        assert_eq!(turns.next(at(30)), Some((b, false)));
        assert_eq!(turns.next(at(30)), Some((a, true)));
        assert_eq!((turns.next(at(30)), turns.wake_at()), (None, None));
    }

    #[test]
    fn another_pod_of_the_same_name_starts_again() {
        let (mut turns, a): (_, Arc<str>) = (DelayQueue::default(), "a".into());
        turns.again(&a, "1", at(20), false);
        turns.want(&a, "2", at(12), true);
        assert_eq!(turns.next(at(12)), Some((Arc::clone(&a), false)));
        turns.again(&a, "2", at(30), false);
        turns.forget(&a);
        assert_eq!(turns.wake_at(), None);
    }

    #[test]
    fn an_idle_pod_is_due_when_there_is_something_to_do() {
        let (mut turns, a): (_, Arc<str>) = (DelayQueue::default(), "a".into());
        turns.again(&a, "1", at(3600), true);
        turns.want(&a, "1", at(10), false);
        assert_eq!(turns.next(at(10)), None);
        turns.want(&a, "1", at(10), true);
        assert_eq!(turns.next(at(10)), Some((Arc::clone(&a), false)));
    }
}

//! Computes held time by the plain rule of NL-48, without code of the core.

/// Every hold: its beginning, and its end if it is over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HoldTimes(Vec<(i64, Option<i64>)>);

impl HoldTimes {
    pub fn set(&mut self, on: bool, now: i64) {
        match self.0.last_mut() {
            Some((_, end @ None)) if !on => *end = Some(now),
            Some((_, Some(_))) | None if on => self.0.push((now, None)),
            _ => {}
        }
    }

    pub fn is_on(&self) -> bool {
        self.0.last().is_some_and(|(_, end)| end.is_none())
    }

    /// Another process knows only the active hold, and that one only from now on.
    pub fn forget(&mut self, now: i64) {
        let is_on = self.is_on();
        self.0.clear();
        self.set(is_on, now);
    }

    /// Returns how much of the time since `from` did not count for a taint; `None`: it is on hold now.
    pub fn spent(&self, key: &str, from: i64) -> Option<i64> {
        let concerned = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"].contains(&key);
        let holds = self.0.iter().filter(|_| concerned);
        holds.map(|(begin, end)| end.as_ref().map(|end| (end - from.max(*begin)).max(0))).sum()
    }
}

//! Searches states breadth first and keeps the path to each.

use std::collections::{HashSet, VecDeque};
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A fair run starts from one in this many states.
const FAIR_RUNS: usize = 32;

/// A state of a search: what the engine knows, and what is true.
pub(super) trait SearchState: Clone + Hash {
    /// What may happen next.
    type Step: Copy + Debug + 'static;

    /// Everything that may happen, possible or not.
    const STEPS: &'static [Self::Step];

    /// Returns the next state; `None` if the step is not possible. Panics if the engine does what it must not.
    fn step(&self, step: Self::Step) -> Option<Self>;

    /// Whether a pod was deleted.
    fn has_deleted(&self) -> bool;

    /// Panics if the state does not end well once nothing goes wrong any more.
    fn run_fairly(self);

    fn fingerprint(&self) -> u128 {
        let mut first = DefaultHasher::new();
        self.hash(&mut first);
        let mut second = DefaultHasher::new();
        0xa5u8.hash(&mut second);
        self.hash(&mut second);
        u128::from(first.finish()) << 64 | u128::from(second.finish())
    }
}

/// How each state was reached: its predecessor and the step.
struct Paths<S>(Vec<(usize, Option<S>)>);

impl<S: Copy> Paths<S> {
    fn to(&self, mut at: usize) -> Vec<S> {
        let mut path = Vec::new();
        while let (before, Some(step)) = self.0[at] {
            path.push(step);
            at = before;
        }
        path.reverse();
        path
    }
}

/// The result of exploring one scope.
#[derive(Debug, Default)]
pub(super) struct SearchResult {
    pub(super) states: usize,
    transitions: usize,
    fair_runs: usize,
    pub(super) deleting: usize,
    is_complete: bool,
}

pub(super) fn explore<S: SearchState>(first: S, states_max: usize) -> SearchResult {
    let mut found = SearchResult { is_complete: true, ..SearchResult::default() };
    let mut paths = Paths(vec![(0, None)]);
    let mut seen = HashSet::from([first.fingerprint()]);
    let mut open = VecDeque::from([(0, first)]);
    while let Some((at, state)) = open.pop_front() {
        for &step in S::STEPS {
            let next = catch_unwind(AssertUnwindSafe(|| state.step(step)));
            let Ok(next) = next else { panic!("after {:?}: {step:?}", paths.to(at)) };
            let Some(next) = next else { continue };
            found.transitions += 1;
            if seen.len() >= states_max {
                found.is_complete = false;
                continue;
            }
            if !seen.insert(next.fingerprint()) {
                continue;
            }
            paths.0.push((at, Some(step)));
            let here = paths.0.len() - 1;
            found.deleting += usize::from(next.has_deleted());
            if here.is_multiple_of(FAIR_RUNS) {
                found.fair_runs += 1;
                let fair = next.clone();
                let ended = catch_unwind(AssertUnwindSafe(|| fair.run_fairly()));
                assert!(ended.is_ok(), "no good end after {:?}", paths.to(here));
            }
            open.push_back((here, next));
        }
    }
    found.states = seen.len();
    found
}

//! Searches states breadth first and keeps the path to each.

use super::{EvictionStep, ExhaustiveState, STEPS};
use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A fair run starts from one in this many states.
const FAIR_RUNS: usize = 32;

/// How each state was reached: its predecessor and the step.
struct Paths(Vec<(usize, Option<EvictionStep>)>);

impl Paths {
    fn to(&self, mut at: usize) -> Vec<EvictionStep> {
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

pub(super) fn explore(first: ExhaustiveState, states_max: usize) -> SearchResult {
    let mut found = SearchResult { is_complete: true, ..SearchResult::default() };
    let mut paths = Paths(vec![(0, None)]);
    let mut seen = HashSet::from([first.fingerprint()]);
    let mut open = VecDeque::from([(0, first)]);
    while let Some((at, state)) = open.pop_front() {
        for step in STEPS {
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
            found.deleting += usize::from(!next.cluster.deleted.is_empty());
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

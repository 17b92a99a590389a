//! Searches states breadth first and keeps the path to each.

use super::{LifecycleState, LifecycleStep, STEPS};
use std::collections::{HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A fair run starts from one in this many states.
const FAIR_RUNS: usize = 16;

/// Returns the number of states, and in how many of them the node was tainted.
pub(super) fn explore(first: LifecycleState, states_max: usize) -> (usize, usize) {
    let mut paths: Vec<(usize, Option<LifecycleStep>)> = vec![(0, None)];
    let mut seen = HashSet::from([first.fingerprint()]);
    let mut open = VecDeque::from([(0, first)]);
    let mut tainted = 0;
    let path = |paths: &[(usize, Option<LifecycleStep>)], mut at: usize| {
        let mut path = Vec::new();
        while let (before, Some(step)) = paths[at] {
            path.push(step);
            at = before;
        }
        path.reverse();
        path
    };
    while let Some((at, state)) = open.pop_front() {
        for step in STEPS {
            let next = catch_unwind(AssertUnwindSafe(|| state.step(step)));
            let Ok(next) = next else { panic!("after {:?}: {step:?}", path(&paths, at)) };
            let Some(next) = next else { continue };
            if seen.len() >= states_max || !seen.insert(next.fingerprint()) {
                continue;
            }
            paths.push((at, Some(step)));
            let here = paths.len() - 1;
            tainted += usize::from(!next.tainted.is_empty());
            if here.is_multiple_of(FAIR_RUNS) {
                let fair = next.clone();
                let alive = here.is_multiple_of(2 * FAIR_RUNS);
                let ended = catch_unwind(AssertUnwindSafe(|| fair.run_fairly(alive)));
                assert!(ended.is_ok(), "no good end (alive: {alive}) after {:?}", path(&paths, here));
            }
            open.push_back((here, next));
        }
    }
    (seen.len(), tainted)
}

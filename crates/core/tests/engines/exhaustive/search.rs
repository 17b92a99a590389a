//! Searches states breadth first and keeps the path to each.
//!
//! - `EXHAUSTIVE_STATES` sets the number of states of each scope.

use std::collections::{HashSet, VecDeque};
use std::fmt::{self, Debug};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

/// A fair run starts from one in this many states.
const FAIR_RUNS: usize = 32;

/// A state of a search: what the engine knows, and what is true.
pub(crate) trait SearchState: Clone + Hash {
    /// What may happen next.
    type Step: Copy + Debug + 'static;

    /// Everything that may happen, possible or not.
    const STEPS: &'static [Self::Step];

    /// Returns the next state; `None` if the step is not possible. Panics if the engine does what it must not.
    fn step(&self, step: Self::Step) -> Option<Self>;

    /// Whether the engine has done what it exists for: a scope in which it never does shows nothing.
    fn has_acted(&self) -> bool;

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

/// What a search has found, in one scope or in several.
#[derive(Clone, Copy, Default)]
pub(crate) struct SearchResult {
    pub(crate) states: usize,
    /// Those in which the engine has acted.
    pub(crate) acted: usize,
    transitions: usize,
    fair_runs: usize,
    /// The steps of the longest path.
    depth: usize,
    /// Scopes, and those of which every state was visited.
    scopes: usize,
    complete: usize,
    took: Duration,
}

impl SearchResult {
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            states: self.states + other.states,
            acted: self.acted + other.acted,
            transitions: self.transitions + other.transitions,
            fair_runs: self.fair_runs + other.fair_runs,
            depth: self.depth.max(other.depth),
            scopes: self.scopes + other.scopes,
            complete: self.complete + other.complete,
            took: self.took + other.took,
        }
    }
}

impl fmt::Display for SearchResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { states, acted, transitions, fair_runs, depth, scopes, complete, took } = self;
        let a_second = *states as f64 / took.as_secs_f64().max(1e-3);
        write!(
            f,
            "{states} states ({acted} after an act), {transitions} transitions, {fair_runs} fair runs, depth {depth}, \
             {complete} of {scopes} scopes complete, {a_second:.0} states/s, {} MiB",
            peak_memory_mib(),
        )
    }
}

/// The peak of this process, which may run other tests too; 0 where the system does not say.
fn peak_memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0) / 1_024
}

/// The number of states of a scope that `EXHAUSTIVE_STATES` sets.
pub(crate) fn states_max(otherwise: usize) -> usize {
    std::env::var("EXHAUSTIVE_STATES").ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

pub(crate) fn explore<S: SearchState>(first: S, states_max: usize) -> SearchResult {
    let began = Instant::now();
    let mut found = SearchResult { scopes: 1, complete: 1, ..SearchResult::default() };
    let mut paths = Paths(vec![(0, None)]);
    let mut seen = HashSet::from([first.fingerprint()]);
    let mut open = VecDeque::from([(0, 0, first)]);
    while let Some((at, depth, state)) = open.pop_front() {
        for &step in S::STEPS {
            let next = catch_unwind(AssertUnwindSafe(|| state.step(step)));
            let Ok(next) = next else { panic!("after {:?}: {step:?}", paths.to(at)) };
            let Some(next) = next else { continue };
            found.transitions += 1;
            if seen.len() >= states_max {
                found.complete = 0;
                continue;
            }
            if !seen.insert(next.fingerprint()) {
                continue;
            }
            paths.0.push((at, Some(step)));
            let here = paths.0.len() - 1;
            found.depth = depth + 1;
            found.acted += usize::from(next.has_acted());
            if here.is_multiple_of(FAIR_RUNS) {
                found.fair_runs += 1;
                let fair = next.clone();
                let ended = catch_unwind(AssertUnwindSafe(|| fair.run_fairly()));
                assert!(ended.is_ok(), "no good end after {:?}", paths.to(here));
            }
            open.push_back((here, depth + 1, next));
        }
    }
    found.states = seen.len();
    found.took = began.elapsed();
    found
}

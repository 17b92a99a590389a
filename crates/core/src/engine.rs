//! Defines what the engines (eviction, node lifecycle, dedicated pools, toleration seconds) have in common.
//!
//! - See [`Engine`] for the contract. The controller crate has the one control loop that runs engines.

use crate::time::{Mono, Now};
use alloc::vec::Vec;

/// A state machine without a clock and without I/O that decides what to request of the API server: inputs and the time
/// go in; effects (requests) come out when they are pulled; notices say what happened.
///
/// ```text
/// watch events ─┐                      ┌─> effects ──> API server
/// responses ────┼─> handle ─> Engine ──┼─> notices ──> log, events, metrics
/// time ─────────┴─> tick               └─> next wakeup
/// ```
///
/// The contract:
/// 1. Feed each input with [`Engine::handle`], at a time that never goes backwards.
/// 2. After inputs, and when [`Engine::next_wakeup`] has come, call [`Engine::tick`]; extra calls change nothing.
/// 3. While there is capacity and the permission to write, pull with [`Engine::next_effect`]. An effect was decided
///    just now, from all inputs so far; send it immediately or not at all. Not pulling is how a follower or an observer
///    waits: nothing is lost, and all due effects are returned at the first pull (P34).
/// 4. Every pulled effect must come back as an input, also if it was never sent
///    ([`ApiFailure::Unavailable`](crate::api_error::ApiFailure::Unavailable)).
/// 5. Take [`Engine::take_notices`] whenever convenient.
pub trait Engine {
    /// Its inputs: watch events, responses to effects, and facts about the process that runs it.
    type Input: Send + 'static;
    /// Its requests. Each effect names the UID of the object it was decided for (D4, S1).
    type Effect;
    /// Its reports for users and metrics.
    type Notice;

    /// Handles one input.
    fn handle(&mut self, input: Self::Input, now: Now);

    /// Advances the time.
    fn tick(&mut self, now: Mono);

    /// Returns the next effect of a lane, decided at this moment; `None` if there is nothing to do yet.
    fn next_effect(&mut self, lane: Lane, now: Now) -> Option<Self::Effect>;

    /// When [`Engine::tick`] or [`Engine::next_effect`] will have more to do than now; `None`: not by the passing of
    /// time alone.
    fn next_wakeup(&self) -> Option<Mono>;

    /// Returns the reports since the last call.
    fn take_notices(&mut self) -> Vec<Self::Notice>;

    /// Whether every list that its decisions depend on was complete once: before that it returns no effects (TE-7).
    fn is_synced(&self) -> bool;
}

/// Which effects a pull may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Lane {
    /// Only first attempts and their follow-up requests.
    Fresh,
    /// Also retries that are due.
    All,
}

/// The result of a live read of one object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LiveRead<F> {
    /// The object.
    Found(F),
    /// There is no object of that name (or, for a pod: none that is bound to a node).
    NotFound,
    /// The object exists and cannot be decoded (D11).
    Undecodable,
}

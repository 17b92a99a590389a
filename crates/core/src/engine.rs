//! Defines what the engines (eviction, node lifecycle, dedicated pools, toleration seconds) have in common.
//!
//! - See [`Engine`] for the contract. The controller crate has the one control loop that runs engines.

use crate::time::{Mono, Now};
use alloc::vec::Vec;

/// A state machine without a clock and without I/O that decides what to ask of the API server: inputs and the time go in;
/// effects (requests) come out when they are pulled; notices say what happened.
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
/// 3. While there is capacity and the permission to write, pull with [`Engine::next_effect`]. What comes out was decided
///    just now, from all that was fed; send it at once or not at all. Not pulling is how a follower or an observer
///    waits: nothing is lost, and all that is due is there at the first pull (P34).
/// 4. Every pulled effect must come back as an input, also if it was never sent
///    ([`ApiFailure::Unavailable`](crate::api_error::ApiFailure::Unavailable)).
/// 5. Take [`Engine::take_notices`] whenever convenient.
pub trait Engine {
    /// What it learns: watch events, responses to effects, and facts about the process that runs it.
    type Input: Send + 'static;
    /// What it asks for. Each effect names the incarnation of the object it was decided for (D4, S1).
    type Effect;
    /// What it reports to people and metrics.
    type Notice;

    /// Takes one input in.
    fn handle(&mut self, input: Self::Input, now: Now);

    /// Lets time pass.
    fn tick(&mut self, now: Mono);

    /// The next effect of a lane, decided at this moment; `None` if there is nothing to do yet.
    fn next_effect(&mut self, lane: Lane, now: Now) -> Option<Self::Effect>;

    /// When [`Engine::tick`] or [`Engine::next_effect`] will have something to do that they have not now; `None`: not by
    /// the passing of time.
    fn next_wakeup(&self) -> Option<Mono>;

    /// What there is to report since the last call.
    fn take_notices(&mut self) -> Vec<Self::Notice>;

    /// Whether every list that its decisions depend on was complete once: before that it asks for nothing (TE-7).
    fn is_synced(&self) -> bool;
}

/// Which effects a pull may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Only first tries and what continues them.
    Fresh,
    /// Retries whose time has come as well.
    All,
}

/// What a live read of one object said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum LiveRead<F> {
    /// It is like this.
    Found(F),
    /// There is none of that name (or, a pod: none that is bound to a node).
    NotFound,
    /// There is one, and it can't be decoded (D11).
    Undecodable,
}

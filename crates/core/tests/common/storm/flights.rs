//! Carries the requests of an engine in flight: delayed, failing, or carried out without a response.
//!
//! - Panics if the engine violates its contract (D5, S12).

use super::{EFFECTS_MAX, REQUEST_MAX, RequestFate, Storm, StormFlight, WINDOW};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane};
use taintward_core::eviction::{EvictionEffect, EvictionInput};
use taintward_core::time::{Mono, Span};

impl Storm {
    /// What a control loop does until there is nothing more to do at this moment.
    pub(super) fn work(&mut self) {
        loop {
            if self.deliver() || self.land() {
                continue;
            }
            self.engine.tick(self.cluster.clock().mono);
            let pulled = match self.flights.len() < self.capacity {
                true => self.pull(),
                false => None,
            };
            match pulled {
                Some(effect) => self.launch(effect),
                None => break,
            }
        }
        self.engine.take_notices();
        let wake = self.engine.next_wakeup();
        let now = self.cluster.clock().mono;
        let idle = self.flights.len() < self.capacity;
        assert!(!idle || wake.is_none_or(|wake| wake > now), "to be woken at {wake:?}, and it is {now:?}");
    }

    fn pull(&mut self) -> Option<EvictionEffect> {
        let now = self.cluster.clock();
        self.engine.next_effect(Lane::Fresh, now).or_else(|| self.engine.next_effect(Lane::All, now))
    }

    fn launch(&mut self, effect: EvictionEffect) {
        self.effects += 1;
        assert!(self.effects < EFFECTS_MAX, "an effect storm: {effect:?}");
        let now = self.cluster.clock().mono;
        if let EvictionEffect::DeletePod { confirmed, .. } = &effect {
            assert!(now.since(*confirmed) <= self.config.confirm_age_limit, "D5: {effect:?} at {now:?}");
        }
        if let EvictionEffect::DeletePod { pod, version: None, .. } = &effect {
            assert!(self.read.remove(pod), "S1, S10: by its UID alone, and not read: {effect:?} at {now:?}");
        }
        let twin = |flight: &&StormFlight| !flight.orphan && same_object(&flight.effect, &effect);
        if let Some(twin) = self.flights.iter().find(twin) {
            panic!("{effect:?} while {:?} is under way", twin.effect);
        }
        let (mut fate, takes, responses) = self.draw();
        let (sent, mut commits) = (self.cluster.now, self.cluster.now + takes);
        if let EvictionEffect::DeletePod { confirmed, .. } = &effect {
            // The request's own time limits end it.
            let limit = confirmed.as_micros() + WINDOW;
            if commits > limit {
                (fate, commits) = (RequestFate::Fails(ApiFailure::Unavailable), limit);
            }
        }
        let responses = commits + responses;
        self.flights.push(StormFlight {
            effect,
            sent,
            commits,
            responses,
            fate,
            response: None,
            orphan: false,
        });
    }

    /// The fate of the next request: an empty tape is a perfect harness.
    fn draw(&mut self) -> (RequestFate, i64, i64) {
        let fate = match self.tape.pop_front().unwrap_or(0) {
            0..=135 => RequestFate::Done,
            // Not from the API server itself: for a read the client would not accept it.
            136..=143 => RequestFate::Fails(ApiFailure::NotFound),
            144..=153 => RequestFate::DoneUnheard,
            154..=159 => RequestFate::Half,
            160..=179 => RequestFate::Fails(ApiFailure::Unavailable),
            180..=204 => RequestFate::Fails(ApiFailure::Conflict),
            205..=219 => RequestFate::Fails(ApiFailure::Rejected),
            220..=234 => RequestFate::Fails(ApiFailure::Forbidden),
            235..=244 => RequestFate::Fails(ApiFailure::Throttled(None)),
            245..=255 => RequestFate::Fails(ApiFailure::Throttled(Some(Span::from_secs(5)))),
        };
        let takes = match self.tape.pop_front().unwrap_or(0) {
            0..=127 => (0, 0),
            128..=169 => (1_000, 0),
            170..=199 => (300_000, 1_000),
            200..=224 => (1_900_000, 0),
            225..=247 => (500_000, 1_500_000),
            248..=251 => (1_000_000, 1_600_000),
            // Too late to count, if it is a read; too late for anything, if it is a DELETE.
            252..=255 => (4_000_000, 600_000),
        };
        (fate, takes.0, takes.1)
    }

    /// Carries out or responds to one request that is due.
    fn land(&mut self) -> bool {
        let now = self.cluster.now;
        if let Some(at) =
            self.flights.iter().position(|flight| flight.response.is_none() && flight.commits <= now)
        {
            let mut flight = self.flights.remove(at);
            assert!(now <= flight.sent + REQUEST_MAX, "a request older than its deadline");
            flight.response = Some(self.carry_out(&flight));
            self.flights.insert(at, flight);
            self.send_changes();
            return true;
        }
        let responded = |flight: &StormFlight| flight.response.is_some() && flight.responses <= now;
        let Some(at) = self.flights.iter().position(responded) else { return false };
        let flight = self.flights.remove(at);
        if let (Some(response), false) = (flight.response, flight.orphan) {
            if let EvictionInput::PodRead { pod, result: Ok(_), .. } = &response {
                self.read.insert(pod.clone());
            }
            self.engine.handle(response, self.cluster.clock());
        }
        true
    }

    fn carry_out(&mut self, flight: &StormFlight) -> EvictionInput {
        let (cluster, fate) = (&mut self.cluster, flight.fate);
        match flight.effect.clone() {
            EvictionEffect::ReadNode { node } => {
                let result = responded(fate, || Ok(cluster.read_node(&node)));
                EvictionInput::NodeConfirmed { node, sent: Mono::from_micros(flight.sent), result }
            }
            EvictionEffect::EvictPod { .. } => unreachable!("there is no policy"),
            EvictionEffect::ReadPod { pod, name } => {
                let result = responded(fate, || Ok(cluster.read_pod(&name)));
                let result = result.map_err(|failure| match failure {
                    ApiFailure::NotFound => ApiFailure::Unavailable,
                    failure => failure,
                });
                EvictionInput::PodRead { pod, result, half_deleted: cluster.is_half_deleted(&name) }
            }
            EvictionEffect::SetDisruptionTarget { pod, name, version, .. } => {
                let result = responded(fate, || cluster.set_mark(&pod, &name, version, true));
                EvictionInput::Marked { pod, result }
            }
            EvictionEffect::ClearDisruptionTarget { pod, name } => {
                let result = responded(fate, || cluster.set_mark(&pod, &name, None, false).map(|_| ()));
                EvictionInput::Unmarked { pod, result }
            }
            EvictionEffect::DeletePod { pod, name, version, .. } if fate == RequestFate::Half => {
                cluster.half_delete(&pod, &name, version);
                EvictionInput::Deleted { pod, result: Err(ApiFailure::Unavailable) }
            }
            EvictionEffect::DeletePod { pod, name, version, .. } => {
                let result = responded(fate, || cluster.delete(&pod, &name, version));
                EvictionInput::Deleted { pod, result }
            }
        }
    }
}

fn responded<T>(
    fate: RequestFate,
    carry_out: impl FnOnce() -> Result<T, ApiFailure>,
) -> Result<T, ApiFailure> {
    match fate {
        RequestFate::Done => carry_out(),
        RequestFate::Fails(failure) => Err(failure),
        RequestFate::DoneUnheard | RequestFate::Half => carry_out().and(Err(ApiFailure::Unavailable)),
    }
}

/// Whether two requests are about the same pod, or both confirm the same node.
fn same_object(one: &EvictionEffect, other: &EvictionEffect) -> bool {
    let pod = |effect: &EvictionEffect| match effect {
        EvictionEffect::ReadNode { .. } => None,
        EvictionEffect::SetDisruptionTarget { pod, .. }
        | EvictionEffect::ClearDisruptionTarget { pod, .. }
        | EvictionEffect::ReadPod { pod, .. }
        | EvictionEffect::EvictPod { pod, .. }
        | EvictionEffect::DeletePod { pod, .. } => Some(pod.clone()),
    };
    match (one, other) {
        (EvictionEffect::ReadNode { node }, EvictionEffect::ReadNode { node: same }) => node == same,
        _ => pod(one).is_some() && pod(one) == pod(other),
    }
}

//! # Act: the writes and single reads of the controller
//! Room:     one method per request; each asks once, within a deadline, with preconditions, and says how it went.
//! Comes in: names, UIDs and versions that a decision was made for.
//! Goes out: facts just read, or a [`Refusal`] in the core's words.
//! Not here: node health (`act/health.rs`); retries, ordering and concurrency (the controller); the decision (the
//!           core); lists and watches.

mod answer;
mod bodies;
mod health;
mod pace;
mod path;
mod pools;
mod refusal;
mod stamp;

pub use pace::Pace;
pub use pools::{Intent, MemberNow};
pub use refusal::Refusal;
pub use stamp::Stamped;

pub(crate) use answer::{Answer, Ask, Heard, ask, hear};
pub(crate) use bodies::{micro_time, second_time};
pub(crate) use path::{Resource, push_encoded, quiet};
pub(crate) use refusal::{Caution, chain, essence, find, seconds_asked};
pub(crate) use stamp::JSON_PATCH;

use crate::clock::Clock;
use crate::decode::{Decoded, Fact, ObjectBody, PodAtEnd, object_from_body};
use crate::event::{EventNote, EventsApi};
use bodies::{ACCEPT_METADATA, ACCEPT_PROTOBUF, STRATEGIC};
use bytes::Bytes;
use http::Method;
use kube::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use taintward_core::api_error::ApiFailure;
use taintward_core::eviction::LiveRead;
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::identity::{NodeName, PodName, ResourceVersion, Uid};
use taintward_core::time::{Mono, Span, Wall};

/// How the API server is told who wrote a field, and the name of the product in messages.
pub const FIELD_MANAGER: &str = "taintward";

/// How long requests may take.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// What the server is told (`?timeout=`): it gives up by itself after this (P44). Whole seconds count.
    pub server: Duration,
    /// When we stop waiting, counted from the call, waiting for a turn included (P21).
    pub client: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { server: Duration::from_secs(2), client: Duration::from_secs(3) }
    }
}

impl Patience {
    /// After this much time nothing that was asked for can be carried out any more: the request reached the server at
    /// the latest when we stopped waiting, and the server gives up by itself. What S2 and S5 reckon with.
    pub fn longest(self) -> Span {
        let micros = (self.server + self.client).as_micros();
        Span::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))
    }

    /// The same, or less, so that nothing is carried out any more after `left`. The server counts in whole seconds and
    /// gets one at least; `None` if there is no time left beside that.
    #[must_use]
    pub fn within(self, left: Span) -> Option<Self> {
        let left = Duration::from_micros(u64::try_from(left.as_micros()).unwrap_or(0));
        let half = Duration::from_secs((left / 2).as_secs().max(1));
        let server = self.server.min(half);
        let client = self.client.min(left.saturating_sub(server));
        (client >= CLIENT_MIN).then_some(Self { server, client })
    }

    /// The same for a request whose like went unanswered: as much of `left` as there is goes to the server (P44).
    ///
    /// An admission webhook or a server that takes 2 to 4 s would otherwise see every try of ours end before its time.
    /// What is added up is not what the others are reckoned with, server and client one after the other, which allows for
    /// a request that arrives as late as we stop waiting: here it is on its way for half a second at most, and nothing is
    /// carried out after `left`, nor after [`Patience::longest`] (S2, S5). One that takes longer to arrive finds that we
    /// have given up at `left`, and with the stream the server gives up, too.
    #[must_use]
    pub fn stretched(self, left: Span) -> Option<Self> {
        let client = Duration::from_micros(left.min(self.longest()).as_micros().unsigned_abs());
        let server = Duration::from_secs(client.saturating_sub(TRANSIT_MAX).as_secs());
        let usual = self.within(left)?;
        Some(if server > usual.server { Self { server, client } } else { usual })
    }
}

/// How long a request that the server is to spend long on may be on its way: connections stand, and requests are small.
const TRANSIT_MAX: Duration = Duration::from_millis(500);

/// Less than this to wait for an answer is not worth asking.
const CLIENT_MIN: Duration = Duration::from_millis(200);

/// Carries out single requests. Cheap to clone; clones share the pace and what was learnt about the events API.
#[derive(Clone)]
pub struct Actor {
    client: Client,
    patience: Patience,
    pace: Option<Pace>,
    instance: Arc<str>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// The server has no events.k8s.io/v1, or lets us write only core events.
    core_events: AtomicBool,
    /// Makes names of events distinct that are written in the same microsecond.
    events_posted: AtomicU64,
}

impl Actor {
    /// An actor that sends at once. `instance` names this process in events (`reportingInstance`).
    pub fn new(client: Client, instance: &str) -> Self {
        let instance = if instance.is_empty() { FIELD_MANAGER } else { instance };
        let patience = Patience::default();
        Self { client, patience, pace: None, instance: instance.into(), shared: Arc::default() }
    }

    /// The same with other time limits.
    #[must_use]
    pub const fn with_patience(mut self, patience: Patience) -> Self {
        self.patience = patience;
        self
    }

    /// The same, sending no faster than `pace` (`--kube-api-qps`, `--kube-api-burst`).
    #[must_use]
    pub fn with_pace(mut self, pace: Pace) -> Self {
        self.pace = Some(pace);
        self
    }

    /// The same in a hurry, for what was decided by something that is true for `left`; see [`Patience::within`].
    #[must_use]
    pub fn within(&self, left: Span) -> Option<Self> {
        Some(self.clone().with_patience(self.patience.within(left)?))
    }

    /// The same with as much patience as there is within `left`; see [`Patience::stretched`].
    #[must_use]
    pub fn stretched(&self, left: Span) -> Option<Self> {
        Some(self.clone().with_patience(self.patience.stretched(left)?))
    }

    /// See [`Patience::longest`].
    pub fn longest_request(&self) -> Span {
        self.patience.longest()
    }

    /// Reads a node as it is now: a quorum read, never from a cache of the server (D5, S2).
    ///
    /// # Errors
    /// A [`Refusal`]; [`ApiFailure::NotFound`] if there is no node of that name.
    pub async fn read_node(&self, name: &NodeName) -> Result<LiveRead<NodeFact>, Refusal> {
        Ok(reading(self.read(&Resource::node(name, "")?, whole()).await?))
    }

    /// The same, and when it was sent: what waiting for a turn takes does not make the answer older.
    ///
    /// # Errors
    /// As [`Actor::read_node`].
    pub async fn confirm_node(
        &self,
        name: &NodeName,
        clock: &Clock,
    ) -> (Mono, Result<LiveRead<NodeFact>, Refusal>) {
        let turn = async { self.in_turn(&Method::GET, &Resource::node(name, "")?).await };
        match turn.await {
            Ok(actor) => (clock.now().mono, actor.read_node(name).await),
            Err(refusal) => (clock.now().mono, Err(refusal)),
        }
    }

    /// Reads a pod as it is now; one that is bound to no node counts as absent. With it, whether its deletion has begun
    /// and waits for nothing.
    ///
    /// # Errors
    /// A [`Refusal`]; [`ApiFailure::NotFound`] if there is no pod of that name.
    pub async fn look_at_pod(&self, name: &PodName) -> Result<(LiveRead<PodFact>, bool), Refusal> {
        Ok(match self.read::<PodAtEnd>(&Resource::pod(name, "")?, whole()).await? {
            Decoded::Fact(PodAtEnd { pod, half_deleted }) => (LiveRead::Found(pod), half_deleted),
            other => (reading(other.map(|seen| seen.pod)), false),
        })
    }

    /// Puts the condition `DisruptionTarget` on a pod (TE-31), for this incarnation only (S1, D4).
    ///
    /// Demands the version, if one is given: what the answer's version stands for is then what was judged, and a DELETE
    /// can demand exactly that state. `generation` 0 is left out; the condition's transition time is `now`.
    ///
    /// # Errors
    /// A [`Refusal`]; [`ApiFailure::Conflict`] if the pod is another one, or another version, by now.
    pub async fn mark(
        &self,
        pod: &PodName,
        uid: &Uid,
        version: Option<ResourceVersion>,
        generation: u32,
        now: Wall,
    ) -> Result<Option<ResourceVersion>, Refusal> {
        let resource = Resource::pod(pod, "status")?;
        let body = bodies::mark(uid, version, generation, now);
        let (content, caution) = (STRATEGIC, Caution::Absence);
        let ask = Ask { content, accept: ACCEPT_METADATA, body, caution, ..Ask::default() };
        let answer = self.send(Method::PATCH, &resource, MANAGED, ask).await?;
        Ok(bodies::version_of(&answer.body))
    }

    /// Takes our condition away again (S9): only from this incarnation, only if it is ours, and not from a pod that is
    /// on its way out. Nothing to take away is success.
    ///
    /// # Errors
    /// A [`Refusal`]; [`ApiFailure::Conflict`] if the pod is another one by now or keeps changing.
    pub async fn unmark(&self, pod: &PodName, uid: &Uid) -> Result<(), Refusal> {
        let read = Resource::pod(pod, "")?;
        let write = Resource::pod(pod, "status")?;
        self.as_one(&write, async {
            let mut tries = 3;
            loop {
                let answer = self.send(Method::GET, &read, "", Ask::default()).await?;
                let seen = bodies::marking(&answer.body).map_err(|why| Refusal::unreadable(&read, &why))?;
                if Uid::new(&seen.uid) != *uid {
                    let message =
                        format!("{read} is another pod by now (UID {}, not {uid})", quiet(&seen.uid));
                    return Err(Refusal::ours(ApiFailure::Conflict, message));
                }
                if !seen.ours {
                    return Ok(());
                }
                let body = bodies::unmark(uid, &seen.version);
                let ask = Ask { content: STRATEGIC, accept: ACCEPT_METADATA, body, ..Ask::default() };
                tries -= 1;
                match self.send(Method::PATCH, &write, MANAGED, ask).await {
                    Err(Refusal { failure: ApiFailure::Conflict, .. }) if tries > 0 => {}
                    other => return other.map(|_| ()),
                }
            }
        })
        .await
    }

    /// Deletes a pod: this incarnation (S1, D4, TE-32), in this version if one is given, with the pod's own grace
    /// period (S10).
    ///
    /// # Errors
    /// A [`Refusal`]; [`ApiFailure::Conflict`] if the pod is another one, or another version, by now.
    pub async fn delete(
        &self,
        pod: &PodName,
        uid: &Uid,
        version: Option<ResourceVersion>,
    ) -> Result<(), Refusal> {
        let resource = Resource::pod(pod, "")?;
        let (body, caution) = (bodies::delete(uid, version), Caution::Absence);
        let ask = Ask { accept: ACCEPT_METADATA, body, caution, ..Ask::default() };
        self.send(Method::DELETE, &resource, "", ask).await.map(|_| ())
    }

    /// Writes an event (TE-34, D8): to events.k8s.io/v1, or to core/v1 where the server has only that or permits only
    /// that.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub async fn post_event(&self, note: &EventNote) -> Result<(), Refusal> {
        let serial = self.shared.events_posted.fetch_add(1, Ordering::Relaxed);
        if self.shared.core_events.load(Ordering::Relaxed) {
            return self.post_event_to(EventsApi::Core, note, serial).await;
        }
        let Err(refusal) = self.post_event_to(EventsApi::Events, note, serial).await else { return Ok(()) };
        if !matches!(refusal.failure, ApiFailure::NotFound | ApiFailure::Forbidden) {
            return Err(refusal);
        }
        // A missing namespace and one that is being deleted are refused in both places, and nothing is learnt.
        match self.post_event_to(EventsApi::Core, note, serial).await {
            Ok(()) => self.shared.core_events.store(true, Ordering::Relaxed),
            Err(again) if again.failure == refusal.failure => return Err(refusal),
            Err(other) => return Err(other),
        }
        Ok(())
    }

    async fn post_event_to(&self, api: EventsApi, note: &EventNote, serial: u64) -> Result<(), Refusal> {
        let resource = Resource::events(api, note.namespace())?;
        let body = Bytes::from(note.body(api, &self.instance, serial));
        let ask = Ask { accept: ACCEPT_METADATA, body, ..Ask::default() };
        self.send(Method::POST, &resource, MANAGED, ask).await.map(|_| ())
    }

    /// Adds `timeAdded` to the taint at `index` of the node's list (D1, `--stamp-taints`).
    ///
    /// The patch's tests demand that the node is this one and that the taint at that place is exactly the one seen,
    /// without `timeAdded`; the server applies patch and tests to one version. So no concurrent edit is ever lost.
    ///
    /// # Errors
    /// A [`Refusal`]; [`ApiFailure::Conflict`] if the node or the taint is another by now.
    pub async fn stamp(&self, node: &NodeFact, index: usize, when: Wall) -> Result<Stamped, Refusal> {
        let Some(body) = stamp::patch(node, index, when) else { return Ok(Stamped::NotNeeded) };
        let resource = Resource::node(&node.name, "")?;
        let ask = Ask {
            content: JSON_PATCH,
            accept: ACCEPT_METADATA,
            body,
            caution: Caution::Tests,
            ..Ask::default()
        };
        let answer = self.send(Method::PATCH, &resource, MANAGED, ask).await?;
        Ok(Stamped::Done(bodies::version_of(&answer.body)))
    }

    async fn read<F: Fact>(&self, on: &Resource<'_>, ask: Ask) -> Result<Decoded<F>, Refusal> {
        let answer = self.send(Method::GET, on, "", ask).await?;
        match object_from_body(&answer.content_type, &answer.body) {
            ObjectBody::Object(object) => Ok(object),
            ObjectBody::Status(status) => Err(Refusal::unreadable(on, &status.message)),
            ObjectBody::Foreign(why) => Err(Refusal::unreadable(on, &why)),
        }
    }

    /// Several requests that belong together have the time of one between them, so that [`Actor::longest_request`] holds
    /// for all of them (S5).
    async fn as_one<T>(
        &self,
        on: &Resource<'_>,
        requests: impl Future<Output = Result<T, Refusal>>,
    ) -> Result<T, Refusal> {
        let limit = self.patience.client;
        let answered = tokio::time::timeout(limit, requests).await;
        answered.unwrap_or_else(|_| Err(Refusal::silence(&Method::PATCH, on, limit)))
    }

    async fn send(
        &self,
        method: Method,
        on: &Resource<'_>,
        query: &str,
        what: Ask,
    ) -> Result<Answer, Refusal> {
        let limit = self.patience.client;
        let turn_and_request = async {
            self.take_turn(&method, on).await?;
            let uri = format!("{}?timeout={}s{query}", on.path(), self.patience.server.as_secs().max(1));
            ask(&self.client, &method, on, uri, what).await
        };
        match tokio::time::timeout(limit, turn_and_request).await {
            Ok(answered) => answered,
            Err(_) => Err(Refusal::silence(&method, on, limit)),
        }
    }

    /// Waits until one more request may be sent (`--kube-api-qps`), as long as there is patience.
    async fn take_turn(&self, method: &Method, on: &Resource<'_>) -> Result<(), Refusal> {
        let Some(pace) = &self.pace else { return Ok(()) };
        let wait_max = i64::try_from(self.patience.client.as_micros()).unwrap_or(i64::MAX);
        let turn = pace.turn(Span::from_micros(wait_max)).await;
        turn.map_err(|wait| Refusal::paced(method, on, wait))
    }

    /// The same, which has its turn already.
    async fn in_turn(&self, method: &Method, on: &Resource<'_>) -> Result<Self, Refusal> {
        self.take_turn(method, on).await?;
        Ok(Self { pace: None, ..self.clone() })
    }
}

/// An object is wanted whole, and small; that there is none is only the API server's word.
fn whole() -> Ask {
    Ask { accept: ACCEPT_PROTOBUF, caution: Caution::Absence, ..Ask::default() }
}

fn reading<F>(decoded: Decoded<F>) -> LiveRead<F> {
    match decoded {
        Decoded::Fact(fact) => LiveRead::Found(fact),
        Decoded::Unbound(_) => LiveRead::NotFound,
        Decoded::Unreadable(_) => LiveRead::Undecodable,
    }
}

/// Query of a write that leaves traces in `managedFields`.
const MANAGED: &str = "&fieldManager=taintward";

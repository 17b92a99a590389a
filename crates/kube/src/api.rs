//! Sends the controller's single reads and writes, each once, with a deadline and preconditions.
//!
//! - Takes names, UIDs and versions of the decision; returns live facts or a [`RequestError`].
//! - See `api/node_lifecycle.rs` for nodes, `api/dedicated_pools.rs` for pools, `watch.rs` for lists and watches.
//!   Retries are the engines'.

mod bodies;
mod dedicated_pools;
mod eviction_policies;
mod node_lifecycle;
pub mod paged_list;
mod path;
mod permissions;
mod rate_limiter;
mod request_budget;
mod request_error;
mod request_timeouts;
mod response;
mod time_added;
mod toleration_seconds;

pub use crate::decode::FIELD_MANAGER;
pub use dedicated_pools::PatchedNode;
pub use permissions::{MissingPermission, Permission, check_access};
pub use rate_limiter::RateLimiter;
pub use request_budget::RequestBudget;
pub use request_error::{BudgetRejection, RequestError};
pub use request_timeouts::RequestTimeouts;
pub use time_added::TimeAddedResult;

pub(crate) use bodies::MERGE_PATCH;
pub(crate) use path::{InvalidPath, ResourcePath, push_encoded};
pub(crate) use request_error::{ErrorHints, retry_after_seconds};
pub(crate) use response::{RawResponse, RequestSpec, Response, exchange, send_request};
pub(crate) use time_added::JSON_PATCH;

use crate::clock::Clock;
use crate::decode::{Decoded, DecodedPod, ObjectBody, TerminatingPod, WatchedObject, object_from_body};
use crate::error_text::sanitized;
use crate::events::{Event, EventsApiGroup};
use bodies::{ACCEPT_METADATA, ACCEPT_PROTOBUF, STRATEGIC};
use bytes::Bytes;
use http::Method;
use kube::Client;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::LiveRead;
use taintward_core::fact::NodeFact;
use taintward_core::identity::{NodeName, PodName, ResourceVersion, Uid};
use taintward_core::time::{Mono, Span, Wall};

/// Sends single requests. Cheap to clone; clones share the rate limit and the knowledge about the events API.
#[derive(Clone)]
pub struct ApiClient {
    client: Client,
    timeouts: RequestTimeouts,
    rate_limiter: Option<RateLimiter>,
    instance: Arc<str>,
    shared: Arc<ApiClientShared>,
}

#[derive(Default)]
struct ApiClientShared {
    /// The server has no events.k8s.io/v1, or permits only core events.
    core_events: AtomicBool,
    /// Makes names of events distinct that are written in the same microsecond.
    events_posted: AtomicU64,
}

impl ApiClient {
    /// Makes a client without a rate limit. `instance` names this process in events (`reportingInstance`).
    pub fn new(client: Client, instance: &str) -> Self {
        let instance = if instance.is_empty() { FIELD_MANAGER } else { instance };
        let timeouts = RequestTimeouts::default();
        Self { client, timeouts, rate_limiter: None, instance: instance.into(), shared: Arc::default() }
    }

    /// The same with other timeouts.
    #[must_use]
    pub const fn with_timeouts(mut self, timeouts: RequestTimeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// The same, sending no faster than `rate_limiter` (`--kube-api-qps`, `--kube-api-burst`).
    #[must_use]
    pub fn with_rate_limiter(mut self, rate_limiter: RateLimiter) -> Self {
        self.rate_limiter = Some(rate_limiter);
        self
    }

    /// The same with shorter timeouts, for a decision whose reason holds only for `left`; see
    /// [`RequestTimeouts::within`].
    #[must_use]
    pub fn within(&self, left: Span) -> Option<Self> {
        Some(self.clone().with_timeouts(self.timeouts.within(left)?))
    }

    /// The same for a deletion, with the longest timeouts possible within `left`; see [`RequestTimeouts::stretched`].
    #[must_use]
    pub fn stretched(&self, left: Span) -> Option<Self> {
        Some(self.clone().with_timeouts(self.timeouts.stretched(left)?))
    }

    /// See [`RequestTimeouts::longest`].
    pub fn longest_request(&self) -> Span {
        self.timeouts.longest()
    }

    /// Reads the current state of a node: a quorum read, never from a cache of the server (D5, S2).
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::NotFound`] if there is no node of that name.
    pub async fn read_node(&self, name: &NodeName) -> Result<LiveRead<NodeFact>, RequestError> {
        Ok(reading(self.read(&ResourcePath::node(name, "")?, whole()).await?))
    }

    /// The same, and when it was sent: the wait for the rate limit does not make the response older.
    ///
    /// # Errors
    /// As [`ApiClient::read_node`].
    pub async fn confirm_node(
        &self,
        name: &NodeName,
        clock: &Clock,
    ) -> (Mono, Result<LiveRead<NodeFact>, RequestError>) {
        let turn = async { self.in_turn(&Method::GET, &ResourcePath::node(name, "")?).await };
        match turn.await {
            Ok(actor) => (clock.now().mono, actor.read_node(name).await),
            Err(error) => (clock.now().mono, Err(error)),
        }
    }

    /// Reads the current state of a pod; one that is not bound to a node counts as absent. The second value says
    /// whether its deletion has started and waits for nothing.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::NotFound`] if there is no pod of that name.
    pub async fn read_pod(&self, name: &PodName) -> Result<(LiveRead<DecodedPod>, bool), RequestError> {
        Ok(match self.read::<TerminatingPod>(&ResourcePath::pod(name, "")?, whole()).await? {
            Decoded::Object(TerminatingPod { pod, half_deleted }) => (LiveRead::Found(pod), half_deleted),
            other => (reading(other.map(|seen| seen.pod)), false),
        })
    }

    /// Sets the condition `DisruptionTarget` on a pod (TE-31), with its UID as precondition (S1, D4).
    ///
    /// A version, if given, is a precondition, too: the version in the response then stands for the state that was
    /// judged, and a DELETE can demand exactly that state. `generation` 0 is left out; the condition's transition time
    /// is `now`.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if the pod has another UID or version now.
    pub async fn set_disruption_target(
        &self,
        pod: &PodName,
        uid: &Uid,
        version: Option<ResourceVersion>,
        generation: u32,
        now: Wall,
    ) -> Result<Option<ResourceVersion>, RequestError> {
        let resource = ResourcePath::pod(pod, "status")?;
        let body = bodies::set_disruption_target(uid, version, generation, now);
        let spec = RequestSpec { hints: ErrorHints::Absence, ..RequestSpec::patch(STRATEGIC, body) };
        let response = self.send(Method::PATCH, &resource, MANAGED, spec).await?;
        Ok(bodies::version_of(&response.body))
    }

    /// Removes Taintward's condition (S9): only from the pod with this UID, only if Taintward set it, and not from a
    /// terminating pod. If there is nothing to remove, that is a success.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if the pod has another UID now or keeps changing.
    pub async fn clear_disruption_target(&self, pod: &PodName, uid: &Uid) -> Result<(), RequestError> {
        let read = ResourcePath::pod(pod, "")?;
        let write = ResourcePath::pod(pod, "status")?;
        self.with_deadline(&write, async {
            let mut tries = 3;
            loop {
                let response = self.send(Method::GET, &read, "", RequestSpec::default()).await?;
                let seen =
                    bodies::marking(&response.body).map_err(|why| RequestError::unreadable(&read, why))?;
                if Uid::new(&seen.uid) != *uid {
                    let message =
                        format!("{read} was replaced: its UID is {}, not {uid}", sanitized(&seen.uid));
                    return Err(RequestError::ours(ApiFailure::Conflict, message));
                }
                if !seen.ours {
                    return Ok(());
                }
                let body = bodies::clear_disruption_target(uid, &seen.version);
                let spec = RequestSpec::patch(STRATEGIC, body);
                tries -= 1;
                match self.send(Method::PATCH, &write, MANAGED, spec).await {
                    Err(RequestError { failure: ApiFailure::Conflict, .. }) if tries > 0 => {}
                    other => return other.map(|_| ()),
                }
            }
        })
        .await
    }

    /// Deletes the pod with this UID (S1, D4, TE-32), in this version if one is given, with the pod's own grace period
    /// (S10) unless another one is given.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if the pod has another UID or version now.
    pub async fn delete(
        &self,
        pod: &PodName,
        uid: &Uid,
        version: Option<ResourceVersion>,
        grace_seconds: Option<u32>,
    ) -> Result<(), RequestError> {
        let resource = ResourcePath::pod(pod, "")?;
        let (body, hints) = (bodies::delete(uid, version, grace_seconds), ErrorHints::Absence);
        let spec = RequestSpec { accept: ACCEPT_METADATA, body, hints, ..RequestSpec::default() };
        self.send(Method::DELETE, &resource, "", spec).await.map(|_| ())
    }

    /// Evicts the pod with this UID, in this version if one is given, as far as disruption budgets allow, with the
    /// pod's own grace period unless another one is given.
    ///
    /// # Errors
    /// A [`RequestError`], whose [`budget`](RequestError::budget) says whether a budget is the reason;
    /// [`ApiFailure::Conflict`] if the pod has another UID or version now.
    pub async fn evict(
        &self,
        pod: &PodName,
        uid: &Uid,
        version: Option<ResourceVersion>,
        grace_seconds: Option<u32>,
    ) -> Result<(), RequestError> {
        let resource = ResourcePath::pod(pod, "eviction")?;
        let (body, hints) = (bodies::evict(pod, uid, version, grace_seconds), ErrorHints::Absence);
        let spec = RequestSpec { body, hints, ..RequestSpec::default() };
        self.send(Method::POST, &resource, "", spec).await.map(|_| ())
    }

    /// Writes an event (TE-34, D8): to events.k8s.io/v1, or to core/v1 if the server has only that or permits only
    /// that.
    ///
    /// # Errors
    /// A [`RequestError`].
    pub async fn post_event(&self, note: &Event) -> Result<(), RequestError> {
        let serial = self.shared.events_posted.fetch_add(1, Ordering::Relaxed);
        if self.shared.core_events.load(Ordering::Relaxed) {
            return self.post_event_to(EventsApiGroup::Core, note, serial).await;
        }
        let Err(error) = self.post_event_to(EventsApiGroup::Events, note, serial).await else {
            return Ok(());
        };
        if !matches!(error.failure, ApiFailure::NotFound | ApiFailure::Forbidden) {
            return Err(error);
        }
        // A missing or terminating namespace is rejected by both APIs, which proves nothing.
        match self.post_event_to(EventsApiGroup::Core, note, serial).await {
            Ok(()) => self.shared.core_events.store(true, Ordering::Relaxed),
            Err(second) if second.failure == error.failure => return Err(error),
            Err(other) => return Err(other),
        }
        Ok(())
    }

    async fn post_event_to(
        &self,
        api: EventsApiGroup,
        note: &Event,
        serial: u64,
    ) -> Result<(), RequestError> {
        let resource = ResourcePath::events(api, note.namespace())?;
        let body = Bytes::from(note.body(api, &self.instance, serial));
        let spec = RequestSpec { accept: ACCEPT_METADATA, body, ..RequestSpec::default() };
        self.send(Method::POST, &resource, MANAGED, spec).await.map(|_| ())
    }

    /// Adds `timeAdded` to the taint at `index` of the node's list (D1, `--stamp-taints`).
    ///
    /// The patch tests that the node has this UID and that the taint at that position is exactly the observed one,
    /// without `timeAdded`; the server applies patch and tests to one version. So no concurrent edit is ever lost.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if the node or the taint has changed.
    pub async fn add_time_added(
        &self,
        node: &NodeFact,
        index: usize,
        when: Wall,
    ) -> Result<TimeAddedResult, RequestError> {
        let Some(body) = time_added::patch(node, index, when) else { return Ok(TimeAddedResult::NotNeeded) };
        let resource = ResourcePath::node(&node.name, "")?;
        let spec = RequestSpec { hints: ErrorHints::Tests, ..RequestSpec::patch(JSON_PATCH, body) };
        let response = self.send(Method::PATCH, &resource, MANAGED, spec).await?;
        Ok(TimeAddedResult::Done(bodies::version_of(&response.body)))
    }

    async fn read<F: WatchedObject>(
        &self,
        resource: &ResourcePath<'_>,
        spec: RequestSpec,
    ) -> Result<Decoded<F>, RequestError> {
        let response = self.send(Method::GET, resource, "", spec).await?;
        match object_from_body(&response.content_type, &response.body) {
            ObjectBody::Object(object) => Ok(object),
            ObjectBody::Status(status) => Err(RequestError::unreadable(resource, &status.message)),
            ObjectBody::Foreign(why) => Err(RequestError::unreadable(resource, &why)),
        }
    }

    /// Several requests that belong together share the timeout of one, so that [`ApiClient::longest_request`] holds for
    /// all of them (S5).
    async fn with_deadline<T>(
        &self,
        resource: &ResourcePath<'_>,
        requests: impl Future<Output = Result<T, RequestError>>,
    ) -> Result<T, RequestError> {
        let limit = self.timeouts.client;
        let result = tokio::time::timeout(limit, requests).await;
        result.unwrap_or_else(|_| Err(RequestError::silence(&Method::PATCH, resource, limit)))
    }

    async fn send(
        &self,
        method: Method,
        resource: &ResourcePath<'_>,
        query: &str,
        spec: RequestSpec,
    ) -> Result<Response, RequestError> {
        let limit = self.timeouts.client;
        let turn_and_request = async {
            self.take_turn(&method, resource).await?;
            let uri = format!("{}?timeout={}{query}", resource.path(), self.timeouts.server_query());
            send_request(&self.client, &method, resource, uri, spec).await
        };
        match tokio::time::timeout(limit, turn_and_request).await {
            Ok(result) => result,
            Err(_) => Err(RequestError::silence(&method, resource, limit)),
        }
    }

    /// Waits until the rate limit permits another request (`--kube-api-qps`), within the timeout.
    async fn take_turn(&self, method: &Method, resource: &ResourcePath<'_>) -> Result<(), RequestError> {
        let Some(rate_limiter) = &self.rate_limiter else { return Ok(()) };
        let wait_max = i64::try_from(self.timeouts.client.as_micros()).unwrap_or(i64::MAX);
        let turn = rate_limiter.turn(Span::from_micros(wait_max)).await;
        turn.map_err(|wait| RequestError::paced(method, resource, wait))
    }

    /// The same request, after the wait for the rate limit.
    async fn in_turn(&self, method: &Method, resource: &ResourcePath<'_>) -> Result<Self, RequestError> {
        self.take_turn(method, resource).await?;
        Ok(Self { rate_limiter: None, ..self.clone() })
    }
}

/// Requests a whole object, in a compact encoding; only the API server's own 404 counts.
fn whole() -> RequestSpec {
    RequestSpec { accept: ACCEPT_PROTOBUF, hints: ErrorHints::Absence, ..RequestSpec::default() }
}

fn reading<F>(decoded: Decoded<F>) -> LiveRead<F> {
    match decoded {
        Decoded::Object(fact) => LiveRead::Found(fact),
        Decoded::Unbound(_) => LiveRead::NotFound,
        Decoded::Undecodable(_) => LiveRead::Undecodable,
    }
}

/// Query of a write that is recorded in `managedFields`.
const MANAGED: &str = "&fieldManager=taintward";

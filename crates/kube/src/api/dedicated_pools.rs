//! Sends the requests of dedicated pools: finalizer, label, status, node patches, evictions, guard.
//!
//! - Invariant: a node is written only if its pool is unchanged since the write was decided; so a deleted pool leaves
//!   nothing behind.
//! - See `pools.rs` for the bodies.

use super::paged_list::{ListRequest, pages};
use super::{
    ApiClient, ErrorHints, JSON_PATCH, MANAGED, RequestError, RequestSpec, ResourcePath, Response, bodies,
};
use crate::decode::{DecodeError, Decoded, DecodedPod, NamespaceObject, WatchedObject, object_from_body};
use crate::pools::{POOL_GUARD, PoolGuardBody, PoolNodeBody, finalizer_patch, guard_label_patch};
use crate::wire::member_at;
use bytes::Bytes;
use http::Method;
use std::collections::BTreeSet;
use std::time::Duration;
use taintward_core::admission::pool::{PoolNode, UnauthorizedPod};
use taintward_core::api_error::ApiFailure;
use taintward_core::dedicated_pools::{
    GUARD_LABEL, GUARD_MAX, NodePatch, PoolFact, PoolGuard, PoolGuardWrite, PoolNodeFact,
};
use taintward_core::fact::PodLifePhase;
use taintward_core::identity::{NodeName, ResourceVersion, Uid};

/// The timeout of one page of the list of nodes.
const PAGE_TIMEOUT: Duration = Duration::from_secs(10);

/// The result of patching a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchedNode {
    /// The current node.
    pub seen: PoolNodeFact,
    /// Whether anything was written; otherwise there was nothing to do.
    pub written: bool,
}

impl ApiClient {
    /// Reads the current node, computes its edits, and writes them: one JSON Patch that applies to the state that was
    /// read. Returns the node afterwards; if there is nothing to do, nothing is written.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if node or pool have changed, [`ApiFailure::NotFound`] if there is
    /// no such node.
    pub async fn write_member(
        &self,
        node: &NodeName,
        intent: impl FnOnce(&PoolNodeFact) -> NodePatch,
    ) -> Result<PatchedNode, RequestError> {
        let resource = ResourcePath::node(node, "")?;
        self.with_deadline(&resource, async {
            let spec = RequestSpec { hints: ErrorHints::Absence, ..RequestSpec::default() };
            let response = self.send(Method::GET, &resource, "", spec).await?;
            let object =
                PoolNodeBody::read(&response.body).map_err(|why| RequestError::unreadable(&resource, why))?;
            let NodePatch { edits, pool } = intent(object.seen());
            let misfit = |why: String| RequestError::ours(ApiFailure::Conflict, why);
            let Some(body) = object.patch(&edits).map_err(|why| misfit(why.to_string()))? else {
                return Ok(PatchedNode { seen: object.seen().clone(), written: false });
            };
            if let Some(pool) = &pool {
                self.demand_pool(pool).await?;
            }
            let spec =
                RequestSpec { content: JSON_PATCH, body, hints: ErrorHints::Tests, ..RequestSpec::default() };
            let response = self.send(Method::PATCH, &resource, MANAGED, spec).await?;
            Ok(PatchedNode { seen: read(&resource, &response)?, written: true })
        })
        .await
    }

    /// Checks that the pool is unchanged, as far as nodes depend on it.
    async fn demand_pool(&self, seen: &PoolFact) -> Result<(), RequestError> {
        let resource = ResourcePath::pool(&seen.pool.name, "")?;
        let found = self
            .found(&resource)
            .await?
            .map(|response| read::<PoolFact>(&resource, &response))
            .transpose()?;
        let same = found.is_some_and(|now| {
            now.uid == seen.uid
                && now.generation == seen.generation
                && now.finalizers == seen.finalizers
                && now.pool.leaving == seen.pool.leaving
                && now.pool.applied_marks == seen.pool.applied_marks
        });
        match same {
            true => Ok(()),
            false => {
                let message = format!("{resource} has changed since the decision");
                Err(RequestError::ours(ApiFailure::Conflict, message))
            }
        }
    }

    /// Adds the finalizer to a pool, or removes it. Returns the pool afterwards; `None` if it was the last finalizer of
    /// a pool that is being deleted.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if the pool has another UID or version now.
    pub async fn hold_pool(&self, seen: &PoolFact, hold: bool) -> Result<Option<PoolFact>, RequestError> {
        let resource = ResourcePath::pool(&seen.pool.name, "")?;
        let Some(body) = finalizer_patch(seen, hold) else { return Ok(Some(seen.clone())) };
        let response = self.send(Method::PATCH, &resource, MANAGED, merge(body)).await?;
        let now: PoolFact = read(&resource, &response)?;
        Ok(Some(now).filter(|now| !now.pool.leaving || !now.finalizers.is_empty()))
    }

    /// Writes a pool's status, with a body from [`crate::pools::status_patch`].
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if the pool has another UID or version now.
    pub async fn write_pool_status(&self, name: &str, body: Bytes) -> Result<PoolFact, RequestError> {
        let resource = ResourcePath::pool(name, "status")?;
        let response = self.send(Method::PATCH, &resource, MANAGED, merge(body)).await?;
        read(&resource, &response)
    }

    /// Adds the guard's label to a pool, if the guard contains the pool at this moment, or removes it. Returns the pool
    /// afterwards.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if the pool has another version now, or the guard does not
    /// contain it.
    pub async fn label_pool(&self, seen: &PoolFact, has_label: bool) -> Result<PoolFact, RequestError> {
        let resource = ResourcePath::pool(&seen.pool.name, "")?;
        self.with_deadline(&resource, async {
            if has_label && self.pool_guard().await?.is_none_or(|guard| !guard.contains(&seen.uid)) {
                let message = format!("the PoolGuard {POOL_GUARD} does not contain {resource}");
                return Err(RequestError::ours(ApiFailure::Conflict, message));
            }
            let body = guard_label_patch(seen, has_label);
            read(&resource, &self.send(Method::PATCH, &resource, MANAGED, merge(body)).await?)
        })
        .await
    }

    /// Updates the guard, if there is one: `taintward install` creates it, with the policy that reads it. A pool that
    /// should be removed from it stays as long as the pool exists, because its label may rely on the guard, unless the
    /// pool is released and has no label. Returns what was written; `None` if there is no guard.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if another client writes it at the same moment,
    /// [`ApiFailure::Rejected`] if it would have more than [`GUARD_MAX`] bytes: then nothing is sent.
    pub async fn write_pool_guard(&self, guard: &PoolGuard) -> Result<Option<PoolGuardWrite>, RequestError> {
        let resource = ResourcePath::pool_guard()?;
        self.with_deadline(&resource, async {
            let Some(found) = self.pool_guard().await? else { return Ok(None) };
            let mut kept = BTreeSet::new();
            for (name, uid) in found.others(guard) {
                let live = self.guarded_pool(name).await?.filter(|live| live.uid == uid);
                if live.is_some_and(|live| live.has_label || !guard.released.contains(&Uid::new(uid))) {
                    kept.insert(uid);
                }
            }
            let size = found.size_with(guard, &kept);
            if size > GUARD_MAX {
                let message = format!(
                    "nothing was sent: {resource} would have {size} bytes, and at most {GUARD_MAX} fit"
                );
                return Err(RequestError::ours(ApiFailure::Rejected, message));
            }
            let mut version = found.version();
            if let Some(body) = found.patch(guard, &kept) {
                let spec = RequestSpec::patch(bodies::MERGE_PATCH, body);
                match self.send(Method::PATCH, &resource, MANAGED, spec).await {
                    Ok(response) => version = version_in(&response.body),
                    Err(RequestError { failure: ApiFailure::NotFound, .. }) => return Ok(None),
                    Err(error) => return Err(error),
                }
            }
            Ok(Some(PoolGuardWrite { added: found.missing(guard), version }))
        })
        .await
    }

    /// Returns the version of the guard from the API server's cache; `None` if there is no guard.
    ///
    /// # Errors
    /// A [`RequestError`].
    pub async fn pool_guard_version(&self) -> Result<Option<ResourceVersion>, RequestError> {
        let resource = ResourcePath::pool_guard()?;
        let spec = RequestSpec { accept: bodies::ACCEPT_METADATA, ..RequestSpec::default() };
        let Some(response) = existing(self.send(Method::GET, &resource, "&resourceVersion=0", spec).await)?
        else {
            return Ok(None);
        };
        version_in(&response.body)
            .map(Some)
            .ok_or_else(|| RequestError::unreadable(&resource, "it has no version"))
    }

    /// Reads the current guard. Without its definition there is none: then a 404 has no Status.
    async fn pool_guard(&self) -> Result<Option<PoolGuardBody>, RequestError> {
        let resource = ResourcePath::pool_guard()?;
        let response = existing(self.send(Method::GET, &resource, "", RequestSpec::default()).await)?;
        let Some(response) = response else { return Ok(None) };
        PoolGuardBody::read(&response.body).map(Some).map_err(|why| RequestError::unreadable(&resource, why))
    }

    /// Returns UID and label of the pool that has this name now, whether or not the pool can be decoded.
    async fn guarded_pool(&self, name: &str) -> Result<Option<LivePool>, RequestError> {
        let resource = ResourcePath::pool(name, "")?;
        let Some(response) = self.found(&resource).await? else { return Ok(None) };
        let uid = member_at(&response.body, &["metadata", "uid"]);
        let uid = uid.and_then(|raw| serde_json::from_str(raw.get()).ok());
        let has_label = member_at(&response.body, &["metadata", "labels", GUARD_LABEL]).is_some();
        let pool = uid.map(|uid| LivePool { uid, has_label });
        pool.map(Some).ok_or_else(|| RequestError::unreadable(&resource, "it has no UID"))
    }

    /// Reads an object, if it exists.
    async fn found(&self, resource: &ResourcePath<'_>) -> Result<Option<Response>, RequestError> {
        let spec = RequestSpec { hints: ErrorHints::Absence, ..RequestSpec::default() };
        existing(self.send(Method::GET, resource, "", spec).await)
    }

    /// Evicts a pod that is on a node of this pool and does not belong to it, if that is true at this moment: pool,
    /// node, namespace and pod are read and passed to `is_still`. The API server respects disruption budgets.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if any of them has changed, [`ApiFailure::NotFound`] if one is
    /// gone, [`ApiFailure::Throttled`] if a budget blocks the eviction.
    pub async fn evict_unauthorized_pod(
        &self,
        unauthorized: &UnauthorizedPod,
        pool: &PoolFact,
        is_still: impl FnOnce(&PoolNodeFact, &NamespaceObject, &DecodedPod) -> bool,
    ) -> Result<(), RequestError> {
        let UnauthorizedPod { uid, pod, node } = unauthorized;
        let (of_node, of_pod) = (ResourcePath::node(node, "")?, ResourcePath::pod(pod, "")?);
        let of_namespace = ResourcePath::named("", "namespaces", "", pod.namespace())?;
        let eviction = ResourcePath::pod(pod, "eviction")?;
        self.with_deadline(&eviction, async {
            self.demand_pool(pool).await?;
            let member: PoolNodeFact = self.as_it_is(&of_node).await?;
            let namespace: NamespaceObject = self.as_it_is(&of_namespace).await?;
            let seen: DecodedPod = self.as_it_is(&of_pod).await?;
            let same = *seen.pod.id.uid() == *uid && seen.pod.node == *node && !seen.over;
            if !same || seen.pod.life_phase != PodLifePhase::Live || !is_still(&member, &namespace, &seen) {
                let message =
                    format!("{of_pod}, its namespace or its node has changed since the decision to evict it");
                return Err(RequestError::ours(ApiFailure::Conflict, message));
            }
            self.evict(pod, uid, seen.pod.version, None).await
        })
        .await
    }

    /// Reads the current state of an object.
    async fn as_it_is<F: WatchedObject>(&self, resource: &ResourcePath<'_>) -> Result<F, RequestError> {
        let spec = RequestSpec { hints: ErrorHints::Absence, ..RequestSpec::default() };
        read(resource, &self.send(Method::GET, resource, "", spec).await?)
    }

    /// Lists the current nodes, page by page, past all caches of the server.
    ///
    /// # Errors
    /// A [`RequestError`], also if one of them cannot be decoded: then its marks are unknown.
    pub async fn list_members(&self) -> Result<Vec<PoolNode>, RequestError> {
        let nodes = ListRequest { group: "", plural: "nodes", namespace: "", selector: "", fields: "" };
        let mut all = Vec::new();
        pages(&self.client, nodes, PAGE_TIMEOUT, &mut |body| match PoolNodeFact::from_json(body) {
            Decoded::Object(seen) => {
                all.push(seen.node);
                Ok(())
            }
            Decoded::Undecodable(unreadable) => Err(DecodeError::new(unreadable.why)),
            Decoded::Unbound(_) => Err(DecodeError::new("a node without a name")),
        })
        .await?;
        Ok(all)
    }
}

/// What a pool is in the guard for.
struct LivePool {
    uid: String,
    has_label: bool,
}

/// The response, if there is such an object.
fn existing(recorded: Result<Response, RequestError>) -> Result<Option<Response>, RequestError> {
    match recorded {
        Ok(response) => Ok(Some(response)),
        Err(RequestError { failure: ApiFailure::NotFound, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn version_in(object: &[u8]) -> Option<ResourceVersion> {
    let raw = member_at(object, &["metadata", "resourceVersion"])?;
    serde_json::from_str::<String>(raw.get()).ok()?.parse().ok().map(ResourceVersion)
}

fn merge(body: Bytes) -> RequestSpec {
    RequestSpec { content: bodies::MERGE_PATCH, body, ..RequestSpec::default() }
}

fn read<F: WatchedObject>(resource: &ResourcePath<'_>, response: &Response) -> Result<F, RequestError> {
    let fact = object_from_body(&response.content_type, &response.body).fact();
    fact.map_err(|why| RequestError::unreadable(resource, &why))
}

//! # Pools: the reads and writes of dedicated pools
//! Room:     finalizer and status of a pool; the one write of a node; the eviction of pods of others; all nodes as they
//!           are now, and the names of those that are known.
//! Comes in: pools as they were seen; a way to find out what a node is to be, asked with the node as it is now.
//! Goes out: what was written, as the server answered; a [`Refusal`].
//! Keeps:    nothing is put on a node for a pool that is not, at that moment, just as it was when that was decided: who
//!           deletes a pool finds nothing of it afterwards.
//! Not here: what a node is to be (the core); the bodies (`pools/`).

use super::{Actor, Answer, Ask, Caution, JSON_PATCH, MANAGED, Refusal, Resource, bodies, quiet};
use crate::decode::{
    Decoded, Fact, ObjectBody, SeenMember, SeenNamespace, SeenPod, SeenPool, object_from_body,
};
use crate::pages::{Listing, pages};
use crate::pools::{KNOWN_NODES, KnownNodes, MemberObject, finalizer_patch};
use bytes::Bytes;
use http::Method;
use std::time::Duration;
use taintward_core::admission::pool::{NodeEdits, PoolNode, UnauthorizedPod};
use taintward_core::api_error::ApiFailure;
use taintward_core::fact::PodLifePhase;
use taintward_core::identity::NodeName;

const MERGE: &str = "application/merge-patch+json";

/// How long one page of all nodes may take.
const PAGE_PATIENCE: Duration = Duration::from_secs(10);

/// What is to become of a node.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    /// The edits of the node.
    pub edits: NodeEdits,
    /// The pool for which something is put there; it must be as it was seen.
    pub pool: Option<SeenPool>,
}

/// A node after it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberNow {
    /// As it is.
    pub seen: SeenMember,
    /// Something was written; otherwise nothing was to do.
    pub written: bool,
}

impl Actor {
    /// Reads a node as it is now, asks what it is to be, and writes that: one JSON Patch that applies to what was read.
    /// The answer is the node afterwards; where nothing is to do nothing is written.
    ///
    /// # Errors
    /// A [`Refusal`]; [`ApiFailure::Conflict`] if node or pool are others by now, [`ApiFailure::NotFound`] if there is no such
    /// node.
    pub async fn write_member(
        &self,
        node: &NodeName,
        intent: impl FnOnce(&SeenMember) -> Intent,
    ) -> Result<MemberNow, Refusal> {
        let on = Resource::node(node, "")?;
        self.as_one(&on, async {
            let ask = Ask { caution: Caution::Absence, ..Ask::default() };
            let answer = self.send(Method::GET, &on, "", ask).await?;
            let object = MemberObject::read(&answer.body).map_err(|why| Refusal::unreadable(&on, &why))?;
            let Intent { edits, pool } = intent(object.seen());
            let misfit = |why: String| Refusal::ours(ApiFailure::Conflict, why);
            let Some(body) = object.patch(&edits).map_err(|why| misfit(why.to_string()))? else {
                return Ok(MemberNow { seen: object.seen().clone(), written: false });
            };
            if let Some(pool) = &pool {
                self.demand_pool(pool).await?;
            }
            let ask = Ask { content: JSON_PATCH, body, caution: Caution::Tests, ..Ask::default() };
            let answer = self.send(Method::PATCH, &on, MANAGED, ask).await?;
            Ok(MemberNow { seen: read(&on, &answer)?, written: true })
        })
        .await
    }

    /// The pool is what it was, as far as nodes depend on it.
    async fn demand_pool(&self, seen: &SeenPool) -> Result<(), Refusal> {
        let on = Resource::pool(&seen.pool.name, "")?;
        let ask = Ask { caution: Caution::Absence, ..Ask::default() };
        let found = match self.send(Method::GET, &on, "", ask).await {
            Ok(answer) => Some(read::<SeenPool>(&on, &answer)?),
            Err(Refusal { failure: ApiFailure::NotFound, .. }) => None,
            Err(refusal) => return Err(refusal),
        };
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
                let message = format!("{on} is not any more what was decided by");
                Err(Refusal::ours(ApiFailure::Conflict, message))
            }
        }
    }

    /// Puts our finalizer on a pool, or takes it off. The answer is the pool afterwards; `None` if that was the last
    /// thing that kept it.
    ///
    /// # Errors
    /// A [`Refusal`]; [`ApiFailure::Conflict`] if the pool is another one, or another version, by now.
    pub async fn hold_pool(&self, seen: &SeenPool, hold: bool) -> Result<Option<SeenPool>, Refusal> {
        let on = Resource::pool(&seen.pool.name, "")?;
        let Some(body) = finalizer_patch(seen, hold) else { return Ok(Some(seen.clone())) };
        let answer = self.send(Method::PATCH, &on, MANAGED, merge(body)).await?;
        let now: SeenPool = read(&on, &answer)?;
        Ok(Some(now).filter(|now| !now.pool.leaving || !now.finalizers.is_empty()))
    }

    /// Writes a pool's status, as [`crate::pools::status_patch`] has it.
    ///
    /// # Errors
    /// A [`Refusal`]; [`ApiFailure::Conflict`] if the pool is another one, or another version, by now.
    pub async fn write_pool_status(&self, name: &str, body: Bytes) -> Result<SeenPool, Refusal> {
        let on = Resource::pool(name, "status")?;
        let answer = self.send(Method::PATCH, &on, MANAGED, merge(body)).await?;
        read(&on, &answer)
    }

    /// Brings the ConfigMap of known nodes in step, if there is one: `taintward install` makes it, with the policy that
    /// reads it. Whether it is there.
    ///
    /// # Errors
    /// A [`Refusal`]; [`ApiFailure::Conflict`] if somebody else writes it at the same moment.
    pub async fn write_known_nodes(&self, namespace: &str, known: &KnownNodes) -> Result<bool, Refusal> {
        let on = Resource::config_map(namespace, KNOWN_NODES)?;
        self.as_one(&on, async {
            let ask = Ask { caution: Caution::Absence, ..Ask::default() };
            let answer = match self.send(Method::GET, &on, "", ask).await {
                Ok(answer) => answer,
                Err(Refusal { failure: ApiFailure::NotFound, .. }) => return Ok(false),
                Err(refusal) => return Err(refusal),
            };
            let body = known.patch(&answer.body).map_err(|why| Refusal::unreadable(&on, &why))?;
            if let Some(body) = body {
                self.send(Method::PATCH, &on, MANAGED, merge(body)).await?;
            }
            Ok(true)
        })
        .await
    }

    /// Evicts a pod that is on a node of this pool and is not one of its own, if that is so at this moment: pool, node,
    /// namespace and pod are read, and `is_still` is asked with what they say. The API server heeds disruption budgets.
    ///
    /// # Errors
    /// A [`Refusal`]; [`ApiFailure::Conflict`] if any of them is another by now, [`ApiFailure::NotFound`] if one is gone,
    /// [`ApiFailure::Throttled`] if a budget stands in the way.
    pub async fn evict_trespasser(
        &self,
        trespasser: &UnauthorizedPod,
        pool: &SeenPool,
        is_still: impl FnOnce(&SeenMember, &SeenNamespace, &SeenPod) -> bool,
    ) -> Result<(), Refusal> {
        let UnauthorizedPod { uid, pod, node } = trespasser;
        let (of_node, of_pod) = (Resource::node(node, "")?, Resource::pod(pod, "")?);
        let of_namespace = Resource::named("", "namespaces", "", pod.namespace())?;
        let eviction = Resource::pod(pod, "eviction")?;
        self.as_one(&eviction, async {
            self.demand_pool(pool).await?;
            let member: SeenMember = self.as_it_is(&of_node).await?;
            let namespace: SeenNamespace = self.as_it_is(&of_namespace).await?;
            let seen: SeenPod = self.as_it_is(&of_pod).await?;
            let same = seen.pod.uid == *uid && seen.pod.node == *node && !seen.over;
            if !same || seen.pod.standing != PodLifePhase::Live || !is_still(&member, &namespace, &seen) {
                let message = format!("{of_pod} is not any more what was decided by");
                return Err(Refusal::ours(ApiFailure::Conflict, message));
            }
            let body = bodies::evict(pod, uid, seen.pod.version);
            let ask = Ask { body, caution: Caution::Absence, ..Ask::default() };
            self.send(Method::POST, &eviction, "", ask).await.map(|_| ())
        })
        .await
    }

    /// Reads an object as it is now.
    async fn as_it_is<F: Fact>(&self, on: &Resource<'_>) -> Result<F, Refusal> {
        let ask = Ask { caution: Caution::Absence, ..Ask::default() };
        read(on, &self.send(Method::GET, on, "", ask).await?)
    }

    /// All nodes as they are now, page by page, past all caches of the server.
    ///
    /// # Errors
    /// A [`Refusal`], also if one of them cannot be read: then nobody knows what is on it.
    pub async fn list_members(&self) -> Result<Vec<PoolNode>, Refusal> {
        let nodes = Listing { group: "", plural: "nodes", namespace: "", selector: "", fields: "" };
        let mut all = Vec::new();
        pages(&self.client, nodes, PAGE_PATIENCE, &mut |body| match SeenMember::from_json(body) {
            Decoded::Fact(seen) => {
                all.push(seen.node);
                Ok(())
            }
            Decoded::Unreadable(unreadable) => Err(unreadable.why),
            Decoded::Unbound(_) => Err("a node without a name".to_owned()),
        })
        .await?;
        Ok(all)
    }
}

fn merge(body: Bytes) -> Ask {
    Ask { content: MERGE, body, ..Ask::default() }
}

fn read<F: Fact>(on: &Resource<'_>, answer: &Answer) -> Result<F, Refusal> {
    match object_from_body(&answer.content_type, &answer.body) {
        ObjectBody::Object(Decoded::Fact(fact)) => Ok(fact),
        ObjectBody::Object(Decoded::Unreadable(odd)) => Err(Refusal::unreadable(on, &odd.why)),
        ObjectBody::Object(Decoded::Unbound(_)) => Err(Refusal::unreadable(on, "it has no name")),
        ObjectBody::Status(status) => Err(Refusal::unreadable(on, &quiet(&status.message))),
        ObjectBody::Foreign(why) => Err(Refusal::unreadable(on, &why)),
    }
}

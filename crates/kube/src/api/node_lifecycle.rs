//! Sends the requests of node lifecycle: live reads of nodes and leases, taints, conditions, labels, pod readiness.
//!
//! - Invariant: a decision about one state is never written onto another: that is an [`ApiFailure::Conflict`].

use super::bodies::{ACCEPT_METADATA, MERGE_PATCH, STRATEGIC, version_of};
use super::request_error::ErrorHints;
use super::time_added::JSON_PATCH;
use super::{ApiClient, MANAGED, RequestError, RequestSpec, ResourcePath, reading, whole};
use crate::decode::{DecodedNode, Encoding, NODE_LEASES, WatchedObject, foreign_type};
use http::Method;
use node_bodies::NodeBody;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::LiveRead;
use taintward_core::identity::{NodeName, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{
    ConditionExpiry, ConditionKind, LiveNodeAndLease, ManagedTaints, NodeRef,
};
use taintward_core::time::Wall;

mod node_bodies;

/// How often a pod that changes meanwhile is read again.
const TRIES: usize = 3;

impl ApiClient {
    /// Reads the current node and its lease, both at the same time, past all caches of the server (S7, P16). If the API
    /// server itself responds that one does not exist, that is [`LiveRead::NotFound`]; a 404 from elsewhere is an
    /// error.
    ///
    /// # Errors
    /// A [`RequestError`]; then neither is known.
    pub async fn read_health(&self, node: &NodeName) -> Result<LiveNodeAndLease, RequestError> {
        // The node's path first: with an empty name the lease's path would mean all leases.
        let (node, lease) = (ResourcePath::node(node, "")?, ResourcePath::lease(NODE_LEASES, node.as_str())?);
        let (node, lease) = futures::try_join!(
            self.find(&node, |seen: DecodedNode| seen.health),
            self.find(&lease, |lease| lease)
        )?;
        Ok(LiveNodeAndLease { node, lease })
    }

    /// Adds and removes managed taints, in one write (NL-20, NL-45), and keeps all others (S8).
    ///
    /// Two requests: a live read, and a JSON Patch whose tests demand exactly the state that was read. An existing
    /// taint is kept, whatever its value (NL-6), also if both sets name it; added ones get `at` as `timeAdded`. If
    /// there is nothing to do, nothing is written. Returns the node's version.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if the node has another UID or version now.
    pub async fn write_taints(
        &self,
        node: &NodeRef,
        version: Option<ResourceVersion>,
        add: ManagedTaints,
        remove: ManagedTaints,
        at: Wall,
    ) -> Result<Option<ResourceVersion>, RequestError> {
        let resource = ResourcePath::node(&node.name, "")?;
        self.with_deadline(&resource, async {
            let seen = self.read_same(&resource, RequestSpec::default(), &node.uid, version).await?;
            let Some(body) = seen.taint_patch(add, remove, at) else { return Ok(seen.version()) };
            let spec = RequestSpec { hints: ErrorHints::Tests, ..RequestSpec::patch(JSON_PATCH, body) };
            self.write(&resource, spec).await
        })
        .await
    }

    /// Sets conditions of a silent node to Unknown (NL-12) and changes nothing else of its status.
    ///
    /// A condition that was never posted gets the node's creation as its heartbeat, which is read before; so is the
    /// version, if none is given: it is a precondition in any case.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if the node has another UID or version now.
    pub async fn declare(
        &self,
        node: &NodeRef,
        version: Option<ResourceVersion>,
        conditions: &[(ConditionKind, ConditionExpiry)],
        at: Wall,
    ) -> Result<Option<ResourceVersion>, RequestError> {
        if conditions.is_empty() {
            return Ok(version);
        }
        let status = ResourcePath::node(&node.name, "status")?;
        let needs_creation = conditions.iter().any(|(_, expiry)| *expiry == ConditionExpiry::NeverPosted);
        self.with_deadline(&status, async {
            let (demanded, created) = match version {
                Some(version) if !needs_creation => (version.0.to_string(), None),
                _ => {
                    let spec = RequestSpec { accept: ACCEPT_METADATA, ..RequestSpec::default() };
                    let seen = self
                        .read_same(&ResourcePath::node(&node.name, "")?, spec, &node.uid, version)
                        .await?;
                    seen.into_version_and_creation()
                }
            };
            let body = node_bodies::declare(&node.uid, &demanded, conditions, created.as_deref(), at);
            self.write(&status, RequestSpec::patch(STRATEGIC, body)).await
        })
        .await
    }

    /// Writes the given deprecated labels (NL-8).
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if the node has another UID or version now.
    pub async fn label(
        &self,
        node: &NodeRef,
        version: Option<ResourceVersion>,
        os: Option<&str>,
        arch: Option<&str>,
    ) -> Result<Option<ResourceVersion>, RequestError> {
        let resource = ResourcePath::node(&node.name, "")?;
        let Some(body) = node_bodies::label(&node.uid, version, os, arch) else { return Ok(version) };
        self.write(&resource, RequestSpec::patch(MERGE_PATCH, body)).await
    }

    /// Sets the condition `Ready` of this pod to False, keeping its reason and message (NL-17). `Ok(false)`: it has no
    /// such condition, or the condition is False already.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`] if the pod has another UID now or keeps changing.
    pub async fn unready(&self, pod: &PodName, uid: &Uid, at: Wall) -> Result<bool, RequestError> {
        let (read, write) = (ResourcePath::pod(pod, "")?, ResourcePath::pod(pod, "status")?);
        self.with_deadline(&write, async {
            let mut tries = TRIES;
            loop {
                let response = self.send(Method::GET, &read, "", RequestSpec::default()).await?;
                let patched = node_bodies::not_ready_patch(&response.body, &read, uid, at)?;
                let Some(body) = patched else { return Ok(false) };
                tries -= 1;
                match self.write(&write, RequestSpec::patch(STRATEGIC, body)).await {
                    Err(RequestError { failure: ApiFailure::Conflict, .. }) if tries > 0 => {}
                    other => return other.map(|_| true),
                }
            }
        })
        .await
    }

    /// Reads the nodes' leases, for a process that has no lease of its own to renew: a success proves that the API
    /// server responds (S7). A consistent read, of one lease at most; its content does not matter.
    ///
    /// # Errors
    /// A [`RequestError`].
    pub async fn check_server(&self) -> Result<(), RequestError> {
        let leases = ResourcePath::lease(NODE_LEASES, "")?;
        let response = self.send(Method::GET, &leases, "&limit=1", whole()).await?;
        match Encoding::of(&response.content_type) {
            Some(_) => Ok(()),
            None => Err(RequestError::unreadable(&leases, foreign_type(&response.content_type))),
        }
    }

    /// Reads a part of an object that may not exist.
    async fn find<F: WatchedObject, P>(
        &self,
        resource: &ResourcePath<'_>,
        part: impl FnOnce(F) -> P,
    ) -> Result<LiveRead<P>, RequestError> {
        let spec = whole();
        match self.read(resource, spec).await {
            Err(RequestError { failure: ApiFailure::NotFound, .. }) => Ok(LiveRead::NotFound),
            read => read.map(|object| reading(object.map(part))),
        }
    }

    /// Reads a node that has to be changed.
    async fn read_same(
        &self,
        resource: &ResourcePath<'_>,
        spec: RequestSpec,
        uid: &Uid,
        version: Option<ResourceVersion>,
    ) -> Result<NodeBody, RequestError> {
        let response = self.send(Method::GET, resource, "", spec).await?;
        NodeBody::read(&response.body, resource, uid, version)
    }

    async fn write(
        &self,
        resource: &ResourcePath<'_>,
        spec: RequestSpec,
    ) -> Result<Option<ResourceVersion>, RequestError> {
        let response = self.send(Method::PATCH, resource, MANAGED, spec).await?;
        Ok(version_of(&response.body))
    }
}

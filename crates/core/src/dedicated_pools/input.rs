//! Defines the inputs and the configuration of the engine of dedicated pools.

use super::effect::{PoolEffect, PoolEffectFailure, PoolResponse};
use super::fact::{PoolFact, PoolNamespaceFact, PoolNodeFact};
use crate::admission::pool::{PodOnNodeFact, PoolExemptions};
use crate::object_event::ObjectEvent;
use crate::time::Span;
use alloc::boxed::Box;
use alloc::sync::Arc;

/// The engine's configuration.
#[derive(Clone, Debug, Default)]
pub struct DedicatedPoolConfig {
    /// The pods to which no pool applies.
    pub exemptions: Arc<PoolExemptions>,
    /// For this long the API server may still carry out a request whose response was lost.
    pub longest_request: Span,
}

/// The inputs of the engine.
#[derive(Clone, Debug)]
pub enum DedicatedPoolInput {
    /// Whether the API server lacks the definition of pools.
    DefinitionAbsent(bool),
    /// An event of the pool watch.
    Pools(Box<ObjectEvent<PoolFact>>),
    /// An event of the node watch.
    Nodes(ObjectEvent<PoolNodeFact>),
    /// An event of the namespace watch.
    Namespaces(ObjectEvent<PoolNamespaceFact>),
    /// An event of the pod watch; pods without a node, or that have terminated, are gone.
    Pods(ObjectEvent<PodOnNodeFact>),
    /// How long the last [`Engine::tick`](crate::engine::Engine::tick) took.
    TickTook(Span),
    /// The result of an effect.
    EffectDone {
        /// The effect.
        effect: PoolEffect,
        /// The response.
        result: Result<PoolResponse, PoolEffectFailure>,
    },
}

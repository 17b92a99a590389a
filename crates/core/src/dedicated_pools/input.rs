//! Defines the inputs and the configuration of the engine of dedicated pools.

use super::effect::{PoolEffect, PoolEffectFailure, PoolResponse};
use super::fact::{PoolFact, PoolNamespaceFact, PoolNodeFact};
use crate::admission::pool::{PodOnNodeFact, PoolExemptions};
use crate::object_event::ObjectEvent;
use crate::time::Span;
use alloc::boxed::Box;
use alloc::sync::Arc;

/// What an engine is told once.
#[derive(Clone, Debug, Default)]
pub struct DedicatedPoolConfig {
    /// Which pods no pool has a say in.
    pub exemptions: Arc<PoolExemptions>,
    /// So long a request whose response was lost may still be carried out.
    pub longest_request: Span,
}

/// Everything the engine can be told.
#[derive(Clone, Debug)]
pub enum DedicatedPoolInput {
    /// Whether the API server lacks the definition of pools.
    DefinitionAbsent(bool),
    /// What the watch of pools says.
    Pools(Box<ObjectEvent<PoolFact>>),
    /// What the watch of nodes says.
    Nodes(ObjectEvent<PoolNodeFact>),
    /// What the watch of namespaces says.
    Namespaces(ObjectEvent<PoolNamespaceFact>),
    /// What the watch of pods says; those without a node, or that are over, are gone.
    Pods(ObjectEvent<PodOnNodeFact>),
    /// How long the last [`Engine::tick`](crate::engine::Engine::tick) took.
    TickTook(Span),
    /// What came of an effect.
    EffectDone {
        /// The effect.
        effect: PoolEffect,
        /// How it went.
        result: Result<PoolResponse, PoolEffectFailure>,
    },
}

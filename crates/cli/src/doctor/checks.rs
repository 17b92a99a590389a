//! Runs every check on the facts, in the order in which they are printed.
//!
//! - Invariant: a failed read makes a check unknown, never passed.

mod api_server;
mod control_plane;
mod eviction_policies;
mod evictions;
mod install_command;
mod taintward;
mod workloads;

use super::LintCounts;
use super::check::DoctorCheck;
use super::controllers_flag::UpstreamController;
use super::distribution::RecognizedDistribution;
use super::facts::ClusterFacts;
use crate::args::controllers;
use crate::controller_deployment::DeploymentFacts;

/// The input of the checks besides the facts.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DoctorScope<'a> {
    pub(crate) facts: &'a ClusterFacts,
    pub(crate) recognized: &'a RecognizedDistribution,
    /// Taintward is not installed yet.
    pub(crate) pre: bool,
    /// The present or future namespace of Taintward.
    pub(crate) namespace: &'a str,
    /// The findings of `taintward lint` in this cluster.
    pub(crate) lint: &'a LintCounts,
}

impl DoctorScope<'_> {
    /// The controllers of kube-controller-manager that Taintward replaces here; without a known installation, taint
    /// eviction.
    fn replaced(&self) -> Vec<UpstreamController> {
        let installed: Vec<_> = self.facts.deployments.iter().filter(|one| one.is_controller()).collect();
        let carries_out = |controller| installed.iter().any(|one| one.carries_out(controller));
        let evicts = installed.is_empty() || carries_out(controllers::TAINT_EVICTION);
        let eviction = evicts.then_some(UpstreamController::TaintEviction);
        let lifecycle = carries_out(controllers::NODE_LIFECYCLE).then_some(UpstreamController::NodeLifecycle);
        eviction.into_iter().chain(lifecycle).collect()
    }

    /// Whether Taintward evicts the pods of guarded namespaces, alongside kube-controller-manager.
    fn guards(&self) -> bool {
        self.facts.deployments.iter().any(|one| one.carries_out(controllers::TOLERATION_GUARD))
    }

    /// Whether Taintward should be installed, and is known not to be.
    pub(crate) fn lacks_installation(&self) -> bool {
        let is_known = self.facts.unread("deployments").is_none();
        !self.pre && is_known && !self.facts.deployments.iter().any(DeploymentFacts::is_controller)
    }
}

/// All checks.
pub(crate) fn run(scope: &DoctorScope<'_>) -> Vec<DoctorCheck> {
    let parts: [fn(&DoctorScope<'_>) -> Vec<DoctorCheck>; 5] =
        [api_server::checks, control_plane::checks, taintward::checks, evictions::checks, workloads::checks];
    parts.into_iter().flat_map(|part| part(scope)).collect()
}

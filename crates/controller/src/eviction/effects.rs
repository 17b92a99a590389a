//! Creates the requests of eviction effects.
//!
//! - Invariant: no DELETE is carried out when the confirmation that justifies it is older than W (S2).

use crate::controller_context::ControllerContext;
use crate::effect_executor::{EffectRequest, EffectResponse, RequestLabel, split_error};
use crate::metrics::Effect as Kind;
use crate::settings::EvictionScope;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::LiveRead;
use taintward_core::eviction::{CONFIRM_AGE_LIMIT, EvictionEffect, EvictionInput};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::identity::{NodeName, PodName};
use taintward_core::time::Span;
use taintward_core::toleration_guard::guarded_node;
use taintward_kube::api::{ApiClient, RequestError, RequestTimeouts};
use taintward_kube::clock::Clock;
use taintward_kube::decode::DecodedPod;

/// W of S2: the maximum age of a node's confirmation when the API server carries out the DELETE that it justifies.
const JUSTIFIED_FOR: Span = Span::from_secs(5);

/// The request of an effect.
pub(super) fn request(
    effect: EvictionEffect,
    scope: EvictionScope,
    context: &ControllerContext,
) -> EffectRequest<EvictionInput> {
    let (api, clock) = (context.api.clone(), context.clock.clone());
    EffectRequest {
        label: label(&effect),
        response: Box::pin(async move { execute(&api, &clock, scope, effect).await }),
    }
}

fn label(effect: &EvictionEffect) -> RequestLabel {
    let (kind, object, pod) = match effect {
        EvictionEffect::ReadNode { node } => (Some(Kind::Confirm), node.to_string(), None),
        EvictionEffect::SetDisruptionTarget { pod, name, .. } => {
            (Some(Kind::Mark), name.to_string(), Some(pod))
        }
        EvictionEffect::DeletePod { pod, name, .. } => (Some(Kind::Delete), name.to_string(), Some(pod)),
        EvictionEffect::EvictPod { pod, name, .. } => (Some(Kind::Evict), name.to_string(), Some(pod)),
        EvictionEffect::ReadPod { pod, name } => (None, name.to_string(), Some(pod)),
        EvictionEffect::ClearDisruptionTarget { pod, name } => {
            (Some(Kind::ClearMark), name.to_string(), Some(pod))
        }
    };
    RequestLabel { kind, object, pod: pod.cloned() }
}

async fn execute(
    api: &ApiClient,
    clock: &Clock,
    scope: EvictionScope,
    effect: EvictionEffect,
) -> EffectResponse<EvictionInput> {
    match effect {
        EvictionEffect::ReadNode { node } => {
            let reader = api.clone().with_timeouts(RequestTimeouts::CONFIRMING);
            let (sent, read) = reader.confirm_node(&node, clock).await;
            let took = clock.now().mono.since(sent);
            let (result, error) = split_error(read.map(|read| in_scope_node(read, scope)));
            let error = error.or_else(|| (took > CONFIRM_AGE_LIMIT).then(|| too_late(&node, took)));
            (EvictionInput::NodeConfirmed { node, sent, result }, error)
        }
        EvictionEffect::SetDisruptionTarget { pod, name, version, generation, slow } => {
            // A mark may be any age, but the permission to write limits its request (S5).
            let patient = slow.then(|| api.stretched(api.longest_request())).flatten();
            let api = patient.as_ref().unwrap_or(api);
            let marked =
                api.set_disruption_target(&name, &pod.uid, version, generation, clock.now().wall).await;
            let (result, error) = split_error(marked);
            (EvictionInput::Marked { pod, result }, error)
        }
        EvictionEffect::DeletePod { pod, name, version, confirmed, grace_seconds, .. } => {
            let left = confirmed.plus(JUSTIFIED_FOR).since(clock.now().mono);
            let deleted = match api.stretched(left) {
                Some(api) => api.delete(&name, &pod.uid, version, grace_seconds).await,
                None => Err(too_old(&name)),
            };
            let (result, error) = split_error(deleted);
            (EvictionInput::Deleted { pod, result }, error)
        }
        EvictionEffect::EvictPod { pod, name, confirmed, grace_seconds } => {
            let left = confirmed.plus(JUSTIFIED_FOR).since(clock.now().mono);
            let evicted = match api.stretched(left) {
                Some(api) => api.evict(&name, &pod.uid, None, grace_seconds).await,
                None => Err(too_old(&name)),
            };
            let (result, error) = split_error(evicted.map_err(named_by_budget));
            (EvictionInput::Evicted { pod, result }, error)
        }
        EvictionEffect::ReadPod { pod, name } => {
            let read = api.clone().with_timeouts(RequestTimeouts::CONFIRMING).read_pod(&name).await;
            let half_deleted = read.as_ref().is_ok_and(|(_, half_deleted)| *half_deleted);
            let (result, error) = split_error(read.map(|(reading, _)| in_scope_pod(reading, scope)));
            (EvictionInput::PodRead { pod, result, half_deleted }, error)
        }
        EvictionEffect::ClearDisruptionTarget { pod, name } => {
            let (result, error) = split_error(api.clear_disruption_target(&name, &pod.uid).await);
            (EvictionInput::Unmarked { pod, result }, error)
        }
    }
}

/// A refusal because of a disruption budget is one, whatever its status.
fn named_by_budget(error: RequestError) -> RequestError {
    match error.budget {
        Some(_) => RequestError { failure: ApiFailure::Budget, ..error },
        None => error,
    }
}

/// Reduces a node that was read to the part that the watch delivers.
fn in_scope_node(read: LiveRead<NodeFact>, scope: EvictionScope) -> LiveRead<NodeFact> {
    match (read, scope) {
        (LiveRead::Found(node), EvictionScope::GuardedPods) => LiveRead::Found(guarded_node(node)),
        (read, _) => read,
    }
}

/// Reduces a pod that was read to the part that the watch delivers: in the guard's scope, an unguarded pod does not
/// exist.
fn in_scope_pod(read: LiveRead<DecodedPod>, scope: EvictionScope) -> LiveRead<PodFact> {
    match read {
        LiveRead::Found(pod) => match scope {
            EvictionScope::AllPods => LiveRead::Found(pod.pod),
            EvictionScope::GuardedPods => pod.for_guard().map_or(LiveRead::NotFound, LiveRead::Found),
        },
        LiveRead::NotFound => LiveRead::NotFound,
        LiveRead::Undecodable => LiveRead::Undecodable,
    }
}

/// The error for a read whose answer comes when it confirms nothing any more.
fn too_late(node: &NodeName, took: Span) -> RequestError {
    let message = format!(
        "get nodes/{node}: the answer came after {:.1} s: too late, because a deletion relies on a read that is at most \
         {:.1} s old; find out why reads take so long",
        took.as_secs_f64(),
        CONFIRM_AGE_LIMIT.as_secs_f64()
    );
    RequestError::ours(ApiFailure::Unavailable, message)
}

/// The error for a process that slept between the decision and the request.
fn too_old(pod: &PodName) -> RequestError {
    let message = format!("the decision to delete {pod} is too old to be sent");
    RequestError::ours(ApiFailure::Unavailable, message)
}

#[cfg(test)]
mod tests;

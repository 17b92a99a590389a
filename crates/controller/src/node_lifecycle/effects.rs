//! Creates the requests of node lifecycle effects.

use crate::controller_context::ControllerContext;
use crate::effect_executor::{EffectRequest, EffectResponse, RequestLabel, split_error};
use crate::metrics::Effect as Kind;
use taintward_core::node_lifecycle::{NodeLifecycleEffect, NodeLifecycleInput};
use taintward_core::time::Mono;
use taintward_kube::api::ApiClient;
use taintward_kube::clock::Clock;

/// The request of an effect.
pub(super) fn request(
    effect: NodeLifecycleEffect,
    context: &ControllerContext,
) -> EffectRequest<NodeLifecycleInput> {
    let (api, clock) = (context.api.clone(), context.clock.clone());
    let (kind, object) = kind_and_object(&effect);
    let sent = clock.now().mono;
    EffectRequest {
        label: RequestLabel { kind: Some(kind), object, pod: None },
        response: Box::pin(async move { execute(&api, &clock, effect, sent).await }),
    }
}

fn kind_and_object(effect: &NodeLifecycleEffect) -> (Kind, String) {
    match effect {
        NodeLifecycleEffect::ReadNode { node } => (Kind::ConfirmHealth, node.to_string()),
        NodeLifecycleEffect::PatchTaints { node, .. } => (Kind::Taint, node.name.to_string()),
        NodeLifecycleEffect::SetConditionsUnknown { node, .. } => (Kind::Declare, node.name.to_string()),
        NodeLifecycleEffect::PatchLabels { node, .. } => (Kind::Label, node.name.to_string()),
        NodeLifecycleEffect::SetPodNotReady { name, .. } => (Kind::Unready, name.to_string()),
    }
}

async fn execute(
    api: &ApiClient,
    clock: &Clock,
    effect: NodeLifecycleEffect,
    sent: Mono,
) -> EffectResponse<NodeLifecycleInput> {
    match effect {
        NodeLifecycleEffect::ReadNode { node } => {
            let (result, error) = split_error(api.read_health(&node).await);
            (NodeLifecycleInput::Confirmed { node, sent, result }, error)
        }
        NodeLifecycleEffect::PatchTaints { node, version, add, remove, at, .. } => {
            let (result, error) = split_error(api.write_taints(&node, version, add, remove, at).await);
            (NodeLifecycleInput::Written { node: node.name, result }, error)
        }
        NodeLifecycleEffect::SetConditionsUnknown { node, version, conditions, at } => {
            let (result, error) = split_error(api.declare(&node, version, &conditions, at).await);
            (NodeLifecycleInput::Written { node: node.name, result }, error)
        }
        NodeLifecycleEffect::PatchLabels { node, version, os, arch } => {
            let labelled = api.label(&node, version, os.as_deref(), arch.as_deref()).await;
            let (result, error) = split_error(labelled);
            (NodeLifecycleInput::Written { node: node.name, result }, error)
        }
        NodeLifecycleEffect::SetPodNotReady { pod, name } => {
            let (result, error) = split_error(api.unready(&name, &pod.uid, clock.now().wall).await);
            (NodeLifecycleInput::PodMarked { pod, result }, error)
        }
    }
}

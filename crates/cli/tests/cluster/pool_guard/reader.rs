//! Converts requests to the core's types, with a parser that shares nothing with the product.

use super::cases::{Creation, GuardChange, GuardStep};
use serde_json::Value;
use taintward_core::admission::pool::MADE_FOR;
use taintward_core::admission::request::{
    AdmittedPod, Operation, PodIdentity, PodRequest, PreviousPod, Requester,
};
use taintward_core::fact::PodOwnerKind;
use taintward_core::scheduling::{NodeOperator, NodeRequirement, NodeTerm};
use taintward_core::taint::TaintEffect;
use taintward_core::toleration::{Toleration, TolerationOperator};

pub(crate) fn creation(case: &Creation) -> PodRequest {
    let pod = read_pod(&case.pod, case.namespace);
    PodRequest { operation: Operation::Create, requester: Some(requester(case.by)), pod, old: None }
}

pub(crate) fn change(case: &GuardChange) -> PodRequest {
    let old = read_pod(&case.old.pod, case.old.namespace);
    let mut new = old.clone();
    new.leaving = case.old.leaving;
    match &case.step {
        GuardStep::Tolerations(added) => new.tolerations.extend(added.iter().map(read_toleration)),
        GuardStep::Ungate => new.gated = false,
        GuardStep::Claim(contains) => new.identity.made_for = contains.as_str().into(),
        GuardStep::Label | GuardStep::Ephemeral => {}
    }
    let made_for = old.identity.made_for;
    let old = Some(PreviousPod { tolerations: old.tolerations, gated: old.gated, made_for });
    PodRequest { operation: Operation::Update, requester: Some(requester(case.by)), pod: new, old }
}

fn requester((user, groups): (&str, &[&str])) -> Requester {
    let all = groups.iter().chain(&["system:authenticated"]);
    Requester { user: user.into(), groups: all.map(|&group| group.into()).collect() }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn read_pod(pod: &Value, namespace: &str) -> AdmittedPod {
    let (metadata, spec) = (&pod["metadata"], &pod["spec"]);
    let daemon = list(&metadata["ownerReferences"]).any(|owner| owner["kind"] == "DaemonSet");
    let required = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    AdmittedPod {
        identity: PodIdentity {
            namespace: namespace.into(),
            service_account: text(&spec["serviceAccountName"]).into(),
            priority_class: text(&spec["priorityClassName"]).into(),
            owner: if daemon { PodOwnerKind::DaemonSet } else { PodOwnerKind::Other },
            mirror: metadata["annotations"].get("kubernetes.io/config.mirror").is_some(),
            made_for: text(&metadata["annotations"][MADE_FOR]).into(),
        },
        tolerations: list(&spec["tolerations"]).map(read_toleration).collect(),
        required: required.is_object().then(|| list(&required["nodeSelectorTerms"]).map(term).collect()),
        node: spec["nodeName"].as_str().map(Into::into),
        gated: list(&spec["schedulingGates"]).next().is_some(),
        ..AdmittedPod::default()
    }
}

fn read_toleration(one: &Value) -> Toleration {
    Toleration {
        key: text(&one["key"]).into(),
        operator: TolerationOperator::new(text(&one["operator"])),
        value: text(&one["value"]).into(),
        effect: one["effect"].as_str().map(TaintEffect::new),
        seconds: one["tolerationSeconds"].as_i64(),
    }
}

fn term(one: &Value) -> NodeTerm {
    let all = |value: &Value| {
        let one = |one: &Value| NodeRequirement {
            key: text(&one["key"]).into(),
            operator: NodeOperator::new(text(&one["operator"])),
            values: list(&one["values"]).map(|value| text(value).into()).collect(),
        };
        list(value).map(one).collect()
    };
    NodeTerm { expressions: all(&one["matchExpressions"]), fields: all(&one["matchFields"]) }
}

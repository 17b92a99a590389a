//! Builds the MutatingWebhookConfiguration, and the ValidatingWebhookConfiguration if a validating rule is on.
//!
//! - Invariant: a failed webhook blocks no cluster: our namespace, kube-system, kubelets and updates without spec
//!   changes are excluded, the timeout is two seconds, and changes of nodes always pass.

use super::super::template::{Template, TemplateEntry, TemplateItem, field, item, list, map, maps, texts};
use super::super::values::{Condition, InstallValue};
use super::{InstalledObject, NAME, WEBHOOK, everywhere, object};

const API: &str = "admissionregistration.k8s.io/v1";
const FILE: &str = "webhook.yaml";

/// Kubelets write status and mirror pods; both come to them from elsewhere.
const NO_KUBELET: &str = "!('system:nodes' in request.userInfo.groups)";

/// Labels, finalizers and owners of a pod say nothing about where it may run.
const SPEC: &str = "request.operation == 'CREATE' || object.spec != oldObject.spec";

/// Where pools are the only rule that refuses, nothing is to be said of a pod that names no node and tolerates nothing but
/// what Kubernetes says of nodes: no pool has such a taint. Most pods are like that, and so cost one question, not two.
const LETS_ITSELF_IN: &str = "has(object.spec.nodeName) || (has(object.spec.tolerations) && \
    object.spec.tolerations.exists(t, !has(t.key) || !t.key.startsWith('node.kubernetes.io/')))";

/// Only taints count.
const TAINTS: &str = "request.operation == 'CREATE' ? has(object.spec.taints) : has(object.spec.taints) && \
    (!has(oldObject.spec.taints) || object.spec.taints != oldObject.spec.taints)";

pub(super) fn configurations() -> [InstalledObject; 2] {
    let again = field("reinvocationPolicy", "IfNeeded");
    let mutating = pods("pods.mutate.taintward.io", "/mutate", None, Some(again));
    let lets_itself_in =
        condition("lets-itself-in", LETS_ITSELF_IN).when(Condition::Not(&Condition::EveryPod));
    let validating = pods("pods.validate.taintward.io", "/validate", Some(lets_itself_in), None);
    let judges = Condition::All(&[Condition::Webhook, Condition::Judges]);
    [
        configuration("MutatingWebhookConfiguration", Condition::Webhook, [item(mutating)].into()),
        configuration("ValidatingWebhookConfiguration", judges, vec![item(validating), nodes()]),
    ]
}

fn configuration(kind: &'static str, when: Condition, webhooks: Vec<TemplateItem>) -> InstalledObject {
    let beginning = everywhere(API, kind, NAME, "webhook");
    let sheet = object(beginning, [field("webhooks", Template::List(webhooks))]);
    InstalledObject { file: FILE, note: "", when, sheet }
}

fn pods(
    name: &'static str,
    path: &'static str,
    further: Option<TemplateItem>,
    more: Option<TemplateEntry>,
) -> Template {
    let skipped = map([
        field("key", "kubernetes.io/metadata.name"),
        field("operator", "NotIn"),
        field("values", list([item("kube-system"), item(InstallValue::Namespace)])),
    ]);
    let selector = map([field("matchExpressions", list([item(skipped)]))]);
    let own = [
        field("failurePolicy", InstallValue::FailurePolicy),
        field("namespaceSelector", selector),
        field("rules", rules("pods", "Namespaced")),
        conditions([("not-a-kubelet", NO_KUBELET), ("spec-is-new", SPEC)], further),
    ];
    let fields = common(name, path).into_iter().chain(own).chain(more);
    map(fields)
}

fn nodes() -> TemplateItem {
    let own = [
        field("failurePolicy", "Ignore"),
        field("rules", rules("nodes", "Cluster")),
        conditions([("not-a-kubelet", NO_KUBELET), ("taints-are-new", TAINTS)], None),
    ];
    let fields = common("nodes.validate.taintward.io", "/validate").into_iter().chain(own);
    item(map(fields)).when(Condition::NodeRules)
}

fn common(name: &'static str, path: &'static str) -> [TemplateEntry; 6] {
    const GIVEN: Condition = Condition::Not(&Condition::SelfSigned);
    let service = map([
        field("name", WEBHOOK),
        field("namespace", InstallValue::Namespace),
        field("path", path),
        field("port", 443),
    ]);
    // Of a certificate of its own the webhook fills in the authority itself.
    let client = map([field("service", service), field("caBundle", InstallValue::CaBundle).when(GIVEN)]);
    [
        field("name", name),
        field("clientConfig", client),
        field("admissionReviewVersions", texts(["v1"])),
        field("sideEffects", "None"),
        field("timeoutSeconds", 2),
        field("matchPolicy", "Equivalent"),
    ]
}

fn rules(resource: &'static str, scope: &'static str) -> Template {
    maps([[
        field("apiGroups", texts([""])),
        field("apiVersions", texts(["v1"])),
        field("operations", texts(["CREATE", "UPDATE"])),
        field("resources", texts([resource])),
        field("scope", scope),
    ]])
}

fn conditions(all: [(&'static str, &'static str); 2], further: Option<TemplateItem>) -> TemplateEntry {
    let always = all.map(|(name, expression)| condition(name, expression));
    field("matchConditions", list(always.into_iter().chain(further)))
}

fn condition(name: &'static str, expression: &'static str) -> TemplateItem {
    item(map([field("name", name), field("expression", expression)]))
}

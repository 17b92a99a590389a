//! Builds the policies for pods, pools, webhook configurations and the Secret of the webhook.
//!
//! - Invariant: an account can change exactly the fields that its component writes.

use super::super::super::values::Condition;
use super::super::CERTIFICATE;
use super::{ALL, AccountPolicy, InstallValue, METADATA, Template, TextPart, chosen, requests, variable};

const HEALTH: Condition = Condition::All(&[Condition::NodeHealth, Condition::Enforces]);

/// The mark of an eviction (TE-33) comes and goes; node health takes a pod's readiness (NL-17).
const POD_CONDITIONS: &str = "variables.conditions.all(c, c in variables.oldConditions\n\
     || variables.evicts && c.type == 'DisruptionTarget'\n\
     || variables.health && c.type == 'Ready' && c.status == 'False')\n\
     && variables.oldConditions.all(o, variables.evicts && o.type == 'DisruptionTarget'\n\
     || variables.conditions.exists(c, c.type == o.type))";

/// A webhook is the same but for `caBundle`, in the same place. Names are unique in a configuration.
const WEBHOOKS: &str = concat!(
    "variables.webhooks.map(w, w.name) == variables.oldWebhooks.map(w, w.name)\n\
     && variables.webhooks.all(w, variables.oldWebhooks.exists(o, o.name == w.name\n&& ",
    same!("w", "o", "['clientConfig']"),
    "\n&& ",
    same!("w.clientConfig", "o.clientConfig", "['caBundle']"),
    "))"
);

/// Blocks, with what is said otherwise.
fn demands<const N: usize>(all: [(&'static str, &'static str); N]) -> Vec<(Template, &'static str)> {
    all.map(|(expression, message)| (Template::Block(expression), message)).into()
}

/// Deletions and evictions are not looked at: an account that evicts may delete any pod.
pub(super) fn pods() -> AccountPolicy {
    let note = "Of pods the controllers write two conditions; besides they delete and evict them, which this does not look at.";
    let rules = requests("", "v1", ["pods", "pods/*"], ["CREATE", "UPDATE", "CONNECT"]);
    let evicts = chosen("evicts", Condition::Evicts, Condition::Not(&Condition::Evicts));
    let health = chosen("health", HEALTH, Condition::Not(&HEALTH));
    let variables = [
        variable("status", "variables.is.?status.orValue({})"),
        variable("oldStatus", "variables.was.?status.orValue({})"),
        variable("conditions", "variables.status.?conditions.orValue([])"),
        variable("oldConditions", "variables.oldStatus.?conditions.orValue([])"),
    ];
    AccountPolicy {
        variables: evicts.into_iter().chain(health).chain(variables).collect(),
        demands: demands([
            (
                "request.operation == 'UPDATE' && has(request.subResource) && request.subResource == 'status'",
                "of pods it writes the status only, and deletes them",
            ),
            (METADATA, "of pods it writes no metadata"),
            (
                same!("variables.is", "variables.was", "['metadata', 'status']"),
                "of pods it writes the status only",
            ),
            (
                same!("variables.status", "variables.oldStatus", "['conditions']"),
                "of the status of pods it writes conditions only",
            ),
            (
                POD_CONDITIONS,
                "of conditions of pods it writes DisruptionTarget, and for node health that they are not ready",
            ),
        ]),
        only: Some(("no-eviction", "!has(request.subResource) || request.subResource != 'eviction'")),
        ..AccountPolicy::of_controller("taintward-controller-pods", note, rules)
    }
}

pub(super) fn pools() -> AccountPolicy {
    let note = "Of pools the controllers write the status, and one finalizer.";
    let rules = requests("taintward.io", "v1alpha1", ["dedicatedpools", "dedicatedpools/*"], ALL);
    let variables = [
        variable("finalizers", "variables.is.metadata.?finalizers.orValue([])"),
        variable("oldFinalizers", "variables.was.metadata.?finalizers.orValue([])"),
    ];
    AccountPolicy {
        variables: variables.into(),
        demands: demands([
            ("request.operation == 'UPDATE'", "it makes no pools and deletes none"),
            (
                same!(
                    "variables.is.metadata",
                    "variables.was.metadata",
                    "['managedFields', 'resourceVersion', 'generation', 'finalizers']"
                ),
                "of the metadata of pools it writes one finalizer only",
            ),
            (
                "variables.finalizers.filter(f, f != 'taintward.io/pool')\n\
                 == variables.oldFinalizers.filter(f, f != 'taintward.io/pool')",
                "of pools it writes no finalizer but taintward.io/pool",
            ),
            (
                same!("variables.is", "variables.was", "['metadata', 'status']"),
                "what a pool is to be is not for it to say",
            ),
        ]),
        ..AccountPolicy::of_controller("taintward-controller-pools", note, rules)
    }
}

pub(super) fn configurations() -> AccountPolicy {
    let note =
        "Of its own two configurations the webhook writes whom API servers are to believe, and nothing else.";
    let kinds = ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"];
    let rules = requests("admissionregistration.k8s.io", "v1", kinds, ALL);
    let variables = [
        variable("webhooks", "variables.is.?webhooks.orValue([])"),
        variable("oldWebhooks", "variables.was.?webhooks.orValue([])"),
    ];
    AccountPolicy {
        variables: variables.into(),
        demands: demands([
            (
                "request.operation == 'UPDATE' && request.name == 'taintward'",
                "it changes its own two webhook configurations only",
            ),
            (METADATA, "of webhook configurations it writes no metadata"),
            (
                same!("variables.is", "variables.was", "['metadata', 'webhooks']"),
                "of webhook configurations it writes webhooks[].clientConfig.caBundle only",
            ),
            (WEBHOOKS, "of webhook configurations it writes webhooks[].clientConfig.caBundle only"),
        ]),
        ..AccountPolicy::of_webhook("taintward-webhook-configurations", note, rules)
    }
}

pub(super) fn secrets() -> AccountPolicy {
    let note = "Of Secrets the webhook writes the data of one: its own certificate.";
    let own = Template::Line(vec![
        TextPart::Text("request.operation == 'UPDATE' && request.namespace == '"),
        TextPart::Knob(InstallValue::Namespace),
        TextPart::Text("' && request.name == '"),
        TextPart::Text(CERTIFICATE),
        TextPart::Text("'"),
    ]);
    let data = demands([
        (METADATA, "of its Secret it writes no metadata"),
        (
            same!("variables.is", "variables.was", "['metadata', 'data']"),
            "of its Secret it writes the data only",
        ),
    ]);
    let own = (own, "it writes its own Secret only, and makes none");
    AccountPolicy {
        demands: [own].into_iter().chain(data).collect(),
        ..AccountPolicy::of_webhook(
            "taintward-webhook-secrets",
            note,
            requests("", "v1", ["secrets", "secrets/*"], ALL),
        )
    }
}

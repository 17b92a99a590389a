//! Builds the Service of the webhook and a NetworkPolicy for each component.
//!
//! - Invariant: the webhook port is open to API servers only, as far as their addresses are known.

use super::super::template::{Template, field, item, list, map, maps, texts};
use super::super::values::{Condition, InstallValue, Repeat};
use super::{InstalledObject, NAME, WEBHOOK, labels, object, within};

/// Namespaces with this label may read metrics.
const METRICS: &str = "taintward.io/metrics";

pub(super) fn service() -> InstalledObject {
    let port =
        [field("name", "https"), field("port", 443), field("targetPort", "https"), field("protocol", "TCP")];
    let spec = map([field("selector", labels("webhook")), field("ports", maps([port]))]);
    let sheet = object(within("v1", "Service", WEBHOOK, "webhook"), [field("spec", spec)]);
    InstalledObject { file: "service.yaml", note: "", when: Condition::Webhook, sheet }
}

pub(super) fn policies() -> [InstalledObject; 2] {
    let readers = map([field("matchLabels", map([field(METRICS, "allowed")]))]);
    let readers = maps([[field("namespaceSelector", readers)]]);
    [
        policy(
            NAME,
            "controller",
            "Metrics, for pods of namespaces with the label taintward.io/metrics=allowed; out to the API server.",
            Condition::Controller,
            vec![("metrics", readers.clone())],
        ),
        policy(
            WEBHOOK,
            "webhook",
            "Reviews, for API servers; metrics as above; out to the API server.",
            Condition::Webhook,
            vec![("https", api_servers(Repeat::Askers)), ("metrics", readers)],
        ),
    ]
}

fn api_servers(networks: Repeat) -> Template {
    let block = map([field("cidr", InstallValue::This)]);
    list([item(map([field("ipBlock", block)])).each(networks)])
}

fn policy(
    name: &'static str,
    component: &'static str,
    note: &'static str,
    when: Condition,
    open: Vec<(&'static str, Template)>,
) -> InstalledObject {
    let ingress = open.into_iter().map(|(port, from)| {
        let ports = maps([[field("protocol", "TCP"), field("port", port)]]);
        item(map([field("from", from), field("ports", ports)]))
    });
    let egress =
        [field("to", api_servers(Repeat::ApiServers)), field("ports", maps([[field("protocol", "TCP")]]))];
    let spec = map([
        field("podSelector", map([field("matchLabels", labels(component))])),
        field("policyTypes", texts(["Ingress", "Egress"])),
        field("ingress", list(ingress)),
        field("egress", maps([egress])),
    ]);
    let beginning = within("networking.k8s.io/v1", "NetworkPolicy", name, component);
    InstalledObject {
        file: "networkpolicy.yaml",
        note,
        when,
        sheet: object(beginning, [field("spec", spec)]),
    }
}

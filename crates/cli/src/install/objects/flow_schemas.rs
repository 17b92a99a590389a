//! Builds the FlowSchemas for the lease and for all other requests of our accounts.
//!
//! - Invariant: only priority levels that every API server has are used; without them a flood of other pods' requests
//!   could cost the lease.

use super::super::template::{Template, TemplateEntry, field, map, maps, texts};
use super::super::values::{Condition, InstallValue};
use super::{InstalledObject, NAME, WEBHOOK, everywhere, object};

const API: &str = "flowcontrol.apiserver.k8s.io/v1";

pub(super) fn schemas() -> [InstalledObject; 3] {
    const LEADS: Condition = Condition::All(&[Condition::Controller, Condition::Enforces]);
    let lease = maps([[
        field("verbs", texts(["get", "create", "update"])),
        field("apiGroups", texts(["coordination.k8s.io"])),
        field("resources", texts(["leases"])),
        field("namespaces", Template::List(vec![super::super::template::item(InstallValue::Namespace)])),
    ]]);
    let lease = [field("subjects", subjects(NAME)), field("resourceRules", lease)];
    // The API server's own schemas for elections have 100 and 200; the one for all accounts has 9000.
    [
        schema("taintward-leader-election", "controller", "leader-election", 150, lease.into(), LEADS),
        schema(NAME, "controller", "workload-high", 850, all_of(NAME), Condition::Controller),
        schema(WEBHOOK, "webhook", "workload-high", 851, all_of(WEBHOOK), Condition::Webhook),
    ]
}

fn schema(
    name: &'static str,
    component: &'static str,
    level: &'static str,
    precedence: i64,
    rule: Vec<TemplateEntry>,
    when: Condition,
) -> InstalledObject {
    let spec = map([
        field("priorityLevelConfiguration", map([field("name", level)])),
        field("matchingPrecedence", precedence),
        field("distinguisherMethod", map([field("type", "ByUser")])),
        field("rules", Template::List(vec![super::super::template::item(Template::Map(rule))])),
    ]);
    let sheet = object(everywhere(API, "FlowSchema", name, component), [field("spec", spec)]);
    InstalledObject { file: "flowschema.yaml", note: "", when, sheet }
}

fn subjects(account: &'static str) -> Template {
    let account = map([field("name", account), field("namespace", InstallValue::Namespace)]);
    maps([[field("kind", "ServiceAccount"), field("serviceAccount", account)]])
}

/// Whatever the account asks; what it may ask is for its roles to say.
fn all_of(account: &'static str) -> Vec<TemplateEntry> {
    let resources = maps([[
        field("verbs", texts(["*"])),
        field("apiGroups", texts(["*"])),
        field("resources", texts(["*"])),
        field("clusterScope", true),
        field("namespaces", texts(["*"])),
    ]]);
    let others = maps([[field("verbs", texts(["*"])), field("nonResourceURLs", texts(["*"]))]]);
    vec![
        field("subjects", subjects(account)),
        field("resourceRules", resources),
        field("nonResourceRules", others),
    ]
}

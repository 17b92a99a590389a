//! Builds ValidatingAdmissionPolicies that limit which fields our own accounts may change.
//!
//! - Invariant: fields that no component writes are refused even if a role grants them; other users are not affected;
//!   failing expressions refuse. Deletion and eviction of pods are not limited.
//! - See `rbac.rs` for the granted verbs.

/// That two maps are the same but for some keys; which keys there may be need not be known.
macro_rules! same {
    ($is:literal, $was:literal, $but:literal) => {
        concat!(
            "(",
            $is,
            ".map(k, k) + ",
            $was,
            ".map(k, k)).all(k,\nk in ",
            $but,
            " || ",
            $is,
            "[?k] == ",
            $was,
            "[?k])"
        )
    };
}

mod nodes;
mod others;

use super::super::template::{Template, TemplateItem, TextPart, field, item, list, map, maps, texts};
use super::super::values::{Condition, InstallValue};
use super::{InstalledObject, NAME, WEBHOOK, everywhere, object};

const API: &str = "admissionregistration.k8s.io/v1";
const FILE: &str = "bounds.yaml";

/// Of metadata, what an API server writes by itself may differ.
const METADATA: &str = same!(
    "variables.is.metadata",
    "variables.was.metadata",
    "['managedFields', 'resourceVersion', 'generation']"
);

/// Whose requests are looked at, and which.
struct AccountPolicy {
    name: &'static str,
    /// The account has the name of its part's Deployment.
    account: &'static str,
    component: &'static str,
    when: Condition,
    note: &'static str,
    rules: Template,
    /// Requests that are looked at only if this is true: a name, and an expression.
    only: Option<(&'static str, &'static str)>,
    variables: Vec<TemplateItem>,
    /// An expression that must be true, and what is said otherwise.
    demands: Vec<(Template, &'static str)>,
}

pub(super) fn bounds() -> Vec<InstalledObject> {
    let all = [nodes::nodes(), others::pods(), others::pools(), others::configurations(), others::secrets()];
    all.into_iter().flat_map(AccountPolicy::planned).collect()
}

impl AccountPolicy {
    fn of_controller(name: &'static str, note: &'static str, rules: Template) -> Self {
        let (account, component, when) = (NAME, "controller", Condition::Controller);
        Self {
            name,
            account,
            component,
            when,
            note,
            rules,
            only: None,
            variables: Vec::new(),
            demands: Vec::new(),
        }
    }

    fn of_webhook(name: &'static str, note: &'static str, rules: Template) -> Self {
        let (account, component, when) = (WEBHOOK, "webhook", Condition::Webhook);
        Self { account, component, when, ..Self::of_controller(name, note, rules) }
    }

    /// The policy, and that it holds.
    fn planned(self) -> [InstalledObject; 2] {
        let Self { name, component, when, .. } = self;
        let user = Template::Line(vec![
            TextPart::Text("request.userInfo.username == 'system:serviceaccount:"),
            TextPart::Knob(InstallValue::Namespace),
            TextPart::Text(":"),
            TextPart::Text(self.account),
            TextPart::Text("'"),
        ]);
        let account = [field("name", "account"), field("expression", user)];
        let only = self.only.map(|(name, expression)| [field("name", name), field("expression", expression)]);
        let conditions = [account].into_iter().chain(only);
        let either = [variable("is", "dyn(object)"), variable("was", "dyn(oldObject)")];
        let validations = self.demands.into_iter().map(|(expression, message)| {
            item(map([
                field("expression", expression),
                field("message", message),
                // The default, Invalid, would be taken for a conflict and tried again.
                field("reason", "Forbidden"),
            ]))
        });
        let spec = map([
            field("failurePolicy", "Fail"),
            field("matchConstraints", map([field("resourceRules", self.rules)])),
            field("matchConditions", maps(conditions)),
            field("variables", list(either.into_iter().chain(self.variables))),
            field("validations", list(validations)),
        ]);
        let policy = everywhere(API, "ValidatingAdmissionPolicy", name, component);
        let binding = everywhere(API, "ValidatingAdmissionPolicyBinding", name, component);
        let bound = map([field("policyName", name), field("validationActions", texts(["Deny"]))]);
        let sheets = [
            (self.note, object(policy, [field("spec", spec)])),
            ("", object(binding, [field("spec", bound)])),
        ];
        sheets.map(|(note, sheet)| InstalledObject { file: FILE, note, when, sheet })
    }
}

fn variable(name: &'static str, expression: &'static str) -> TemplateItem {
    item(map([field("name", name), field("expression", Template::Block(expression))]))
}

/// A variable that says whether something was chosen.
fn chosen(name: &'static str, when: Condition, otherwise: Condition) -> [TemplateItem; 2] {
    [(when, "true"), (otherwise, "false")].map(|(when, truth)| variable(name, truth).when(when))
}

/// Which requests are looked at: all that write these resources, and nothing that reads.
fn requests<const N: usize, const M: usize>(
    group: &'static str,
    version: &'static str,
    resources: [&'static str; N],
    operations: [&'static str; M],
) -> Template {
    maps([[
        field("apiGroups", texts([group])),
        field("apiVersions", texts([version])),
        field("operations", texts(operations)),
        field("resources", texts(resources)),
    ]])
}

const ALL: [&str; 4] = ["CREATE", "UPDATE", "DELETE", "CONNECT"];

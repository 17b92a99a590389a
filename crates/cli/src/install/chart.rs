//! Holds the Helm chart in `deploy/chart`, writes it into a folder and renders its objects.
//!
//! - Invariant: every choice of `taintward install` is a value of the chart, with the same default. Pod Security
//!   *restricted*; the pods' tolerations of nodes that are gone expire (P43); an account has the rights that its component
//!   needs, without wildcards, and creates neither Secrets nor pods.

use super::helm_template::{HelmTemplateError, HelmTemplates};
use super::install_args::{InstallPart, InstallValues};
use super::{RenderedObject, quoted};
use serde_json::{Map, Value, json};
use std::io;
use std::path::{Path, PathBuf};

macro_rules! files {
    ($($name:literal),+ $(,)?) => {
        [$(($name, include_str!(concat!("../../../../deploy/chart/", $name)))),+]
    };
}

/// The templates of objects, in the order of creation.
const TEMPLATES: [(&str, &str); 11] = files![
    "templates/bounds.yaml",
    "templates/rbac.yaml",
    "templates/flowschema.yaml",
    "templates/service.yaml",
    "templates/deployment.yaml",
    "templates/poddisruptionbudget.yaml",
    "templates/networkpolicy.yaml",
    "templates/poolguard.yaml",
    "templates/monitoring.yaml",
    "templates/prometheusrule.yaml",
    "templates/webhook.yaml",
];

/// The custom resources' definitions.
const DEFINITIONS: [(&str, &str); 4] = [
    ("crds/dedicatedpools.yaml", include_str!("../../../../deploy/crds/dedicatedpools.yaml")),
    ("crds/evictionpolicies.yaml", include_str!("../../../../deploy/crds/evictionpolicies.yaml")),
    ("crds/poolguards.yaml", include_str!("../../../../deploy/crds/poolguards.yaml")),
    ("crds/tolerationpolicies.yaml", include_str!("../../../../deploy/crds/tolerationpolicies.yaml")),
];

/// The dashboards, each in one line; templates insert them unchanged, including Grafana's own templates.
const DASHBOARDS: [(&str, &str); 4] = files![
    "dashboards/taintward-evictions.json",
    "dashboards/taintward-node-lifecycle.json",
    "dashboards/taintward-overview.json",
    "dashboards/taintward-webhook.json",
];

const OTHERS: [(&str, &str); 6] = files![
    "Chart.yaml",
    "README.md",
    "values.schema.json",
    "values.yaml",
    "templates/NOTES.txt",
    "templates/_helpers.tpl",
];

const HELPERS: &str = include_str!("../../../../deploy/chart/templates/_helpers.tpl");

/// Namespaces that exist without Taintward, and stay.
const FOREIGN: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// All networks.
const EVERYWHERE: [&str; 2] = ["0.0.0.0/0", "::/0"];

/// Folders that have no other files.
const OWN: [&str; 3] = ["crds", "dashboards", "templates"];

/// Why the chart could not be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the chart to {}: {why}; name a folder that you can write to", folder.display())]
pub(crate) struct ChartError {
    folder: PathBuf,
    why: io::Error,
}

/// Each file by its path in the chart.
fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    OTHERS.into_iter().chain(DEFINITIONS).chain(DASHBOARDS).chain(TEMPLATES)
}

/// Writes the chart; returns the message for the user.
pub(super) fn write(folder: &Path) -> Result<String, ChartError> {
    let written = || -> io::Result<()> {
        for name in OWN {
            std::fs::create_dir_all(folder.join(name))?;
            for entry in std::fs::read_dir(folder.join(name))? {
                let entry = entry?.file_name();
                let is_ours = |file: &str| files().any(|(ours, _)| ours == format!("{name}/{file}"));
                if !entry.to_str().is_some_and(is_ours) {
                    std::fs::remove_file(folder.join(name).join(entry))?;
                }
            }
        }
        files().try_for_each(|(name, text)| std::fs::write(folder.join(name), text))
    };
    written().map_err(|why| ChartError { folder: folder.to_owned(), why })?;
    Ok(format!("the chart: {}\n", folder.display()))
}

/// The objects of an installation, in the order of creation.
pub(super) fn objects(values: &InstallValues) -> Vec<RenderedObject> {
    let own_namespace =
        (!FOREIGN.contains(&values.common.namespace.as_str())).then(|| namespace(&values.common.namespace));
    let definitions = DEFINITIONS.iter().map(|(_, text)| (*text).to_owned());
    let documents = documents(values).expect("the chart's templates are rendered by tests");
    own_namespace.into_iter().chain(definitions).chain(documents).map(RenderedObject::new).collect()
}

/// The namespace, which the chart omits because Helm creates it. Its pods run under the strictest level of Pod Security.
fn namespace(name: &str) -> String {
    include_str!("namespace.yaml").replace("NAMESPACE", &quoted(name))
}

/// The objects of an installation as documents of YAML, in the order of creation, without definitions.
fn documents(values: &InstallValues) -> Result<Vec<String>, HelmTemplateError> {
    let helm = HelmTemplates::new(HELPERS, &[("taintward.image", values.image())])?;
    let root = chart_values(values);
    let mut all = Vec::new();
    for (_, template) in TEMPLATES {
        let text = helm.render(template, &root)?;
        all.extend(text.split("---\n").map(|text| text.trim_matches('\n').to_owned() + "\n"));
    }
    all.retain(|document| document != "\n");
    Ok(all)
}

/// The values of the chart, and the other data that its templates use. Without the image, which is one text here.
fn chart_values(values: &InstallValues) -> Value {
    let InstallValues { common, controller, webhook, monitoring, found } = values;
    let api_servers = match &common.api_server_cidr[..] {
        [] => EVERYWHERE.map(str::to_owned).to_vec(),
        named => named.to_vec(),
    };
    // The networks that the command found limit which clients reach the webhook, not what Taintward's pods may reach:
    // they change with the control plane, and a controller without a connection to it cannot evict.
    let sources = if common.api_server_cidr.is_empty() { &found[..] } else { &[] };
    let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
    let label = |(key, value): &(String, String)| (key.clone(), value.as_str().into());
    json!({
        "Release": {"Namespace": common.namespace},
        "Files": DASHBOARDS.into_iter().map(|(name, text)| (name.to_owned(), text.into())).collect::<Map<_, _>>(),
        "Values": {
            "image": {"pullSecrets": common.image_pull_secret},
            "replicas": common.replicas,
            "priorityClassName": common.priority_class,
            "apiServerCidrs": api_servers,
            "exemptNamespaces": common.exempt_namespaces,
            "parts": {
                "controller": values.has(InstallPart::Controller),
                "webhook": values.has(InstallPart::Webhook),
                "viewer": values.has(InstallPart::Viewer),
            },
            "controller": {
                "controllers": controller.controllers,
                "mode": controller.mode,
                "stampTaints": controller.stamp_taints,
                "evictionPolicies": controller.eviction_policies,
                "brakeLimit": controller.brake_limit,
                "recordOnDisk": controller.record_on_disk,
                "extraArgs": controller.controller_arg,
            },
            "webhook": {
                "rules": webhook.rules,
                "restrictionConfig": or_empty(&webhook.restriction_config),
                "failurePolicy": webhook.failure_policy,
                "certificate": {"secret": or_empty(&webhook.cert_secret), "caBundle": or_empty(&webhook.ca_bundle)},
                "clients": {
                    "configMap": or_empty(&webhook.client_ca_config_map),
                    "secret": or_empty(&webhook.client_ca_secret),
                    "allowedNames": webhook.client_allowed_names,
                },
                "sourceCidrs": sources,
                "extraArgs": webhook.webhook_arg,
            },
            "monitoring": {
                "enabled": monitoring.with_monitoring,
                "labels": monitoring.monitoring_label.iter().map(label).collect::<Map<_, _>>(),
                "interval": monitoring.scrape_interval,
                "prometheusNamespace": or_empty(&monitoring.prometheus_namespace),
                "authentication": monitoring.metrics_authentication,
                "runbookBaseUrl": monitoring.runbook_base_url,
                "dashboards": !monitoring.no_dashboards,
            },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::NAME;
    use taintward_core::admission::request::MAKERS;
    use taintward_core::dedicated_pools::GUARD_LABEL;
    use taintward_kube::pools::POOL_GUARD;

    /// A row for each documented value (`# --`).
    fn table() -> String {
        let values = files().find(|(name, _)| *name == "values.yaml").unwrap().1;
        let mut rows = String::new();
        let (mut path, mut meaning): (Vec<(usize, &str)>, _) = (Vec::new(), None);
        for line in values.lines() {
            let indent = line.len() - line.trim_start().len();
            if let Some(text) = line.trim().strip_prefix("# -- ") {
                meaning = Some(text);
            } else if let Some((key, value)) =
                line.trim().split_once(':').filter(|(key, _)| !key.starts_with('#'))
            {
                path.retain(|(outer, _)| *outer < indent);
                path.push((indent, key));
                if let Some(meaning) = meaning.take() {
                    let name = path.iter().map(|(_, key)| *key).collect::<Vec<_>>().join(".");
                    rows += &format!("| `{name}` | `{}` | {meaning} |\n", value.trim());
                }
            }
        }
        rows
    }

    #[test]
    fn the_readme_has_a_row_for_each_value() {
        let readme = files().find(|(name, _)| *name == "README.md").unwrap().1;
        assert!(readme.ends_with(&table()), "expected the table:\n{}", table());
    }

    #[test]
    fn the_chart_has_the_programs_version() {
        let chart = files().find(|(name, _)| *name == "Chart.yaml").unwrap().1;
        for key in ["version", "appVersion"] {
            let line = chart.lines().find(|line| line.starts_with(&format!("{key}:"))).unwrap();
            assert!(line.contains(env!("CARGO_PKG_VERSION")), "{line}");
        }
    }

    fn named<'o>(objects: &'o [RenderedObject], kind: &str, name: &str) -> &'o RenderedObject {
        let is_it = |object: &&RenderedObject| {
            object.value["kind"] == kind && object.value["metadata"]["name"] == name
        };
        objects.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} {name}"))
    }

    /// The chart cannot take names from the code.
    #[test]
    fn names_in_the_chart_equal_those_in_the_code() {
        let objects = objects(&InstallValues::default());
        let quoted =
            |names: &[&str]| names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
        for policy in ["taintward-dedicated-pools", "taintward-new-pools"] {
            let text = named(&objects, "ValidatingAdmissionPolicy", policy).value.to_string();
            assert!(
                text.contains(&format!("!(request.userInfo.username in [{}])", quoted(&MAKERS))),
                "{text}"
            );
            let daemons = format!("request.userInfo.username in [{}] && ", quoted(&MAKERS[..2]));
            assert!(text.contains(&daemons), "{text}");
        }
        let binding =
            |name| &named(&objects, "ValidatingAdmissionPolicyBinding", name).value["spec"]["paramRef"];
        assert_eq!(binding("taintward-dedicated-pools")["name"], POOL_GUARD);
        let new = json!([{"key": GUARD_LABEL, "operator": "DoesNotExist"}]);
        assert_eq!(binding("taintward-new-pools")["selector"], json!({"matchExpressions": new}));
        let roles = named(&objects, "ClusterRole", "taintward-controller-dedicated-pools").value.to_string();
        assert!(roles.contains(&format!("[\"{POOL_GUARD}\"]")), "{roles}");
        named(&objects, "PoolGuard", POOL_GUARD);
        named(&objects, "Deployment", NAME);
    }

    #[test]
    fn flags_contain_the_names_of_the_other_objects() {
        let objects = objects(&InstallValues::default());
        let webhook = named(&objects, "Deployment", "taintward-webhook");
        let flags = webhook.value["spec"]["template"]["spec"]["containers"][0]["args"].as_array().unwrap();
        let of = |flag: &str| {
            let value = flags.iter().find_map(|given| given.as_str()?.strip_prefix(flag)?.strip_prefix('='));
            value.unwrap_or_else(|| panic!("no {flag}"))
        };
        named(&objects, "Service", of("--service"));
        named(&objects, "Secret", of("--secret"));
        named(&objects, "MutatingWebhookConfiguration", of("--webhook-configuration"));
        named(&objects, "ValidatingWebhookConfiguration", of("--webhook-configuration"));
        assert_eq!(of("--namespace"), "taintward-system");
    }
}

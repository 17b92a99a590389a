//! Writes the chart's copies of alerts, dashboards and definitions, and deploy/install.yaml and deploy/bounds.yaml with
//! `taintward install`; tests compare them.

use crate::sources;
use anyhow::{Context as _, Result};
use std::fs;
use std::path::Path;
use std::process::Command;
use xtask::observability::{ALERTS, dashboards};

/// The chart's copy of the alerts.
const ALERTS_TEMPLATE: &str = "deploy/chart/templates/prometheusrule.yaml";

pub(crate) fn run() -> Result<()> {
    copy_monitoring(sources::root())?;
    let program = sources::build_taintward(false)?;
    let deploy = sources::root().join("deploy");
    sources::run(Command::new(&program).args(["install", "--chart"]).arg(deploy.join("chart")))?;
    let installed = printed(&program, &[])?;
    let bounds = printed(&program, &BOUNDS)?;
    for (name, text) in [("install.yaml", installed), ("bounds.yaml", by_hand(&bounds))] {
        let file = deploy.join(name);
        fs::write(&file, text)?;
        println!("the manifests: {}", file.display());
    }
    Ok(())
}

/// Copies alerts and dashboards into the chart, which the program contains.
fn copy_monitoring(root: &Path) -> Result<()> {
    for (name, dashboard) in dashboards(root)? {
        // In one line, which a template inserts at any depth.
        fs::write(root.join(format!("deploy/chart/dashboards/{name}.json")), format!("{dashboard}\n"))?;
    }
    let template = fs::read_to_string(root.join(ALERTS_TEMPLATE))?;
    let alerts = alerts_template(&template, &fs::read_to_string(root.join(ALERTS))?)?;
    Ok(fs::write(root.join(ALERTS_TEMPLATE), alerts)?)
}

/// The template with these alerts: it escapes Prometheus' own templates, and has an alert about the absence of a part only with that
/// part.
fn alerts_template(template: &str, alerts: &str) -> Result<String> {
    const FIRST: &str = "        - alert: ";
    const LIST: &str = "      rules:\n";
    let (head, _) = template.split_once(LIST).context("the template has no rules")?;
    let mut text = format!("{head}{LIST}");
    for rule in alerts.split(FIRST).skip(1) {
        let name = rule.lines().next().unwrap_or_default();
        let (rest, url) =
            rule.split_once("runbook_url: ").with_context(|| format!("{name} has no runbook"))?;
        let page = url.trim().strip_prefix("docs/runbooks/").context("a runbook is in docs/runbooks")?;
        let rest = rest.replace("{{", "{{ \"{{\" }}");
        let url = format!("{{{{ printf \"%s/{page}\" $.Values.monitoring.runbookBaseUrl | quote }}}}");
        let rule = format!("{FIRST}{rest}runbook_url: {url}\n");
        text += &match rule.split_once("expr: 'absent(").map(|(_, expr)| expr.contains("mode=\"webhook\"")) {
            None => rule,
            Some(is_webhook) => {
                let part = if is_webhook { "webhook" } else { "controller" };
                format!("        {{{{- if $.Values.parts.{part} }}}}\n{rule}        {{{{- end }}}}\n")
            }
        };
    }
    Ok(text + "{{- end }}\n")
}

/// The policies that restrict the account, named as the roles of deploy/rbac*.yaml are, so that they are separate from those of an
/// installation. With labels, they would be a part of it.
fn by_hand(manifests: &str) -> String {
    let bounds = |one: &&str| {
        one.contains("kind: ValidatingAdmissionPolicy") && one.contains("  name: taintward-controller-")
    };
    let policies = manifests.split("---\n").filter(bounds);
    let is_label = |line: &str| line == "  labels:" || line.starts_with("    app.kubernetes.io/");
    let lines = |one: &str| -> String {
        one.lines().filter(|line| !is_label(line)).map(|line| format!("{line}\n")).collect()
    };
    let all: Vec<String> = policies.map(lines).collect();
    all.join("---\n").replace("taintward-controller-", "taintward-")
}

/// The flags for the restrictions of the account of deploy/rbac*.yaml, whichever of these files are applied.
const BOUNDS: [&str; 4] = [
    "--namespace=kube-system",
    "--parts=controller",
    "--controllers=*,node-lifecycle-controller,dedicated-pool-controller",
    "--stamp-taints",
];

fn printed(program: &Path, flags: &[&str]) -> Result<String> {
    sources::output(Command::new(program).arg("install").args(flags))
}

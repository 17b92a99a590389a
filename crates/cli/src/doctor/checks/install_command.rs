//! Writes the command that applies the present installation again: its image, parts, mode and controllers.

use super::DoctorScope;
use crate::args::flag_values::flag_values;
use crate::controller_deployment::DeploymentFacts;

/// The flags of `taintward run` that `taintward install` sets itself.
const OWN_FLAGS: [&str; 8] = [
    "bind-address",
    "controllers",
    "exempt-namespaces",
    "leader-elect-resource-namespace",
    "metrics-authentication",
    "metrics-port",
    "mode",
    "secure-port",
];

/// `taintward install --image=IMAGE --mode=observe --apply`.
pub(super) fn install_command(scope: &DoctorScope<'_>) -> String {
    install_command_with(scope, "")
}

/// The same with another flag of `taintward install`.
pub(super) fn install_command_with(scope: &DoctorScope<'_>, flag: &str) -> String {
    let mut flags = Vec::new();
    let deployments = &scope.facts.deployments;
    if let Some(controller) = deployments.iter().find(|one| one.is_controller()) {
        let webhook =
            deployments.iter().find(|one| one.arguments.first().is_some_and(|verb| verb == "webhook"));
        of_controller(controller, &mut flags);
        match webhook {
            Some(webhook) => changed(webhook, "rules", "*", &mut flags),
            None => flags.push("--parts=controller,viewer".to_owned()),
        }
    }
    if scope.namespace != "taintward-system" {
        flags.push(format!("--namespace={}", scope.namespace));
    }
    flags.extend(Some(flag.to_owned()).filter(|flag| !flag.is_empty()));
    let flags: String = flags.iter().map(|flag| format!(" {flag}")).collect();
    let images = deployments.iter().filter(|one| one.is_controller()).map(|one| one.image.as_str());
    let image = images.clone().find(|image| !image.is_empty()).unwrap_or("IMAGE");
    format!("taintward install --image={image}{flags} --apply")
}

fn of_controller(controller: &DeploymentFacts, flags: &mut Vec<String>) {
    changed(controller, "mode", "enforce", flags);
    changed(controller, "controllers", "*,dedicated-pool-controller", flags);
    changed(controller, "exempt-namespaces", "", flags);
    if controller.replicas != 2 {
        flags.push(format!("--replicas={}", controller.replicas));
    }
    for argument in controller.arguments.iter().skip(1) {
        let name = argument.trim_start_matches('-').split('=').next().unwrap_or_default();
        match name {
            "eviction-policies" if controller.applies_policies() => {
                flags.push("--eviction-policies".to_owned());
            }
            "stamp-taints" => flags.push("--stamp-taints".to_owned()),
            name if OWN_FLAGS.contains(&name) => {}
            _ => flags.push(format!("--controller-arg={argument}")),
        }
    }
}

/// Adds a flag whose value is not the default.
fn changed(deployment: &DeploymentFacts, flag: &str, default: &str, flags: &mut Vec<String>) {
    let value = flag_values(&deployment.arguments, flag).join(",");
    if !value.is_empty() && value != default {
        flags.push(format!("--{flag}={}", if value.contains('*') { format!("'{value}'") } else { value }));
    }
}

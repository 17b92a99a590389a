//! # Containers: what runs in a pod
//! Room:     containers: names, images, ports, environment, mounts, resources, security.
//! Comes in: `containers` and `initContainers` of a pod or a template.
//! Goes out: faults.
//! Not here: probes and handlers (`probes.rs`), volumes (`pod.rs`).

use super::found::Faults;
use super::{probes, words};
use crate::parts::{entries, has, list, number, text};
use crate::quantity::{self, Quantity};
use serde_json::{Value, json};
use std::collections::HashSet;

const STANDARD: [&str; 20] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

/// What a container must fit to.
pub(super) struct Around<'a> {
    /// The names of the pod's volumes that are right.
    pub(super) volumes: HashSet<&'a str>,
    /// `spec` of the pod or template.
    pub(super) spec: &'a Value,
}

/// `spec.containers`.
pub(super) fn containers(faults: &mut Faults, around: &Around<'_>, path: &str) {
    let containers = list(around.spec, "containers");
    if containers.is_empty() {
        return faults.required(path, "");
    }
    let mut names = HashSet::new();
    for (index, container) in containers.iter().enumerate() {
        let path = format!("{path}[{index}]");
        container_itself(faults, container, around, &path);
        if !names.insert(text(container, "name")) {
            faults.duplicate(format!("{path}.name"), text(container, "name"), "");
        }
        probes::all(faults, container, &path);
    }
    host_ports(faults, containers, path);
}

/// `spec.initContainers`.
pub(super) fn init_containers(faults: &mut Faults, around: &Around<'_>, path: &str) {
    let mut names: HashSet<&str> =
        list(around.spec, "containers").iter().map(|one| text(one, "name")).collect();
    for (index, container) in list(around.spec, "initContainers").iter().enumerate() {
        let path_here = format!("{path}[{index}]");
        container_itself(faults, container, around, &path_here);
        let name = text(container, "name");
        if !names.insert(name) {
            faults.duplicate(format!("{path_here}.name"), name, "");
        }
        host_ports(faults, std::slice::from_ref(container), path);
        if text(container, "restartPolicy") == "Always" {
            probes::all(faults, container, &path_here);
            continue;
        }
        for name in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if has(container, name) {
                let detail = "may not be set for init containers without restartPolicy=Always";
                faults.forbidden(format!("{path_here}.{name}"), detail);
            }
        }
    }
}

fn container_itself(faults: &mut Faults, container: &Value, around: &Around<'_>, path: &str) {
    match text(container, "name") {
        "" => faults.required(format!("{path}.name"), ""),
        name => faults.each(&format!("{path}.name"), name, words::dns_label(name)),
    }
    if text(container, "image").is_empty() {
        faults.required(format!("{path}.image"), "");
    }
    let policies = ["File", "FallbackToLogsOnError"];
    one_of(faults, container, "terminationMessagePolicy", &policies, path);
    ports(faults, container, &format!("{path}.ports"));
    environment(faults, container, &format!("{path}.env"));
    mounts(faults, container, around, &format!("{path}.volumeMounts"));
    one_of(faults, container, "imagePullPolicy", &["Always", "IfNotPresent", "Never"], path);
    resources(faults, &container["resources"], &format!("{path}.resources"));
    security(faults, &container["securityContext"], &format!("{path}.securityContext"));
}

/// A field that has one of a few words.
pub(super) fn one_of(faults: &mut Faults, of: &Value, name: &str, known: &[&str], path: &str) {
    match text(of, name) {
        "" => faults.required(format!("{path}.{name}"), ""),
        word if known.contains(&word) => {}
        word => faults.unsupported(format!("{path}.{name}"), word, known),
    }
}

fn ports(faults: &mut Faults, container: &Value, path: &str) {
    let mut names = HashSet::new();
    for (index, port) in list(container, "ports").iter().enumerate() {
        let path = format!("{path}[{index}]");
        let name = text(port, "name");
        let wrong = words::port_name(name);
        if !name.is_empty() && !wrong.is_empty() {
            faults.each(&format!("{path}.name"), name, wrong);
        } else if !name.is_empty() && !names.insert(name) {
            faults.duplicate(format!("{path}.name"), name, "");
        }
        match number(port, "containerPort").unwrap_or_default() {
            0 => faults.required(format!("{path}.containerPort"), ""),
            number => port_in_range(faults, number, &format!("{path}.containerPort")),
        }
        if let Some(number) = number(port, "hostPort").filter(|number| *number != 0) {
            port_in_range(faults, number, &format!("{path}.hostPort"));
        }
        one_of(faults, port, "protocol", &["SCTP", "TCP", "UDP"], &path);
    }
}

/// A port's number.
pub(super) fn port_in_range(faults: &mut Faults, number: i64, path: &str) {
    for message in words::port_number(number) {
        faults.invalid(path, number, &message);
    }
}

fn host_ports(faults: &mut Faults, containers: &[Value], path: &str) {
    let mut taken = HashSet::new();
    for (at, container) in containers.iter().enumerate() {
        for (index, port) in list(container, "ports").iter().enumerate() {
            let Some(number) = number(port, "hostPort").filter(|number| *number != 0) else { continue };
            let place = format!("{}/{}/{number}", text(port, "protocol"), text(port, "hostIP"));
            if !taken.insert(place.clone()) {
                faults.duplicate(format!("{path}[{at}].ports[{index}].hostPort"), place.as_str(), "");
            }
        }
    }
}

fn environment(faults: &mut Faults, container: &Value, path: &str) {
    for (index, variable) in list(container, "env").iter().enumerate() {
        let path = format!("{path}[{index}]");
        match text(variable, "name") {
            "" => faults.required(format!("{path}.name"), ""),
            name => faults.each(&format!("{path}.name"), name, words::env_name(name)),
        }
        if !has(variable, "valueFrom") {
            continue;
        }
        let path = format!("{path}.valueFrom");
        let from = &variable["valueFrom"];
        for name in ["configMapKeyRef", "secretKeyRef"].into_iter().filter(|name| has(from, name)) {
            let (path, object, key) =
                (format!("{path}.{name}"), text(&from[name], "name"), text(&from[name], "key"));
            faults.each(&format!("{path}.name"), object, words::dns_subdomain(object));
            match key {
                "" => faults.required(format!("{path}.key"), ""),
                key => faults.each(&format!("{path}.key"), key, words::config_key(key)),
            }
        }
        let sources = ["fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef", "fileKeyRef"];
        match sources.iter().filter(|name| has(from, name)).count() {
            0 => {
                let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or \
                              `fileKeyRef`";
                faults.invalid(path, "", detail);
            }
            _ if !text(variable, "value").is_empty() => {
                faults.invalid(path, "", "may not be specified when `value` is not empty");
            }
            1 => {}
            _ => faults.invalid(path, "", "may not have more than one field specified at a time"),
        }
    }
}

fn mounts(faults: &mut Faults, container: &Value, around: &Around<'_>, path: &str) {
    let mut places = HashSet::new();
    for (index, mount) in list(container, "volumeMounts").iter().enumerate() {
        let path = format!("{path}[{index}]");
        let (name, place) = (text(mount, "name"), text(mount, "mountPath"));
        if name.is_empty() {
            faults.required(format!("{path}.name"), "");
        }
        if !around.volumes.contains(name) {
            faults.not_found(format!("{path}.name"), name);
        }
        if place.is_empty() {
            faults.required(format!("{path}.mountPath"), "");
        }
        if !places.insert(place) {
            faults.invalid(format!("{path}.mountPath"), place, "must be unique");
        }
    }
}

/// `resources` of a container.
fn resources(faults: &mut Faults, resources: &Value, path: &str) {
    for (list_name, list) in [("limits", &resources["limits"]), ("requests", &resources["requests"])] {
        for (name, value) in list.as_object().into_iter().flatten() {
            let at = format!("{path}.{list_name}[{name}]");
            resource_name(faults, name, &at);
            let Some(quantity) = quantity::read(value) else { continue };
            amount(faults, name, quantity, &at);
            if list_name == "requests" {
                within_limit(faults, name, quantity, &resources["limits"], path);
            }
        }
    }
    let all: Vec<&str> =
        entries(resources, "limits").chain(entries(resources, "requests")).map(|(name, _)| name).collect();
    let huge = all.iter().any(|name| name.starts_with("hugepages-"));
    if huge && !all.contains(&"cpu") && !all.contains(&"memory") {
        faults.forbidden(path, "HugePages require cpu or memory");
    }
}

/// An amount of a resource: not below zero, and whole where halves make no sense.
pub(super) fn amount(faults: &mut Faults, name: &str, quantity: Quantity, path: &str) {
    let shown = quantity.to_string();
    if quantity.is_negative() {
        faults.invalid(path, shown.as_str(), "must be greater than or equal to 0");
    }
    let counted = !name.contains('.') && STANDARD[9..16].contains(&name) || name.starts_with("services.");
    if (counted || is_extended(name)) && !quantity.in_milli().is_whole() {
        faults.invalid(path, shown.as_str(), "must be an integer");
    }
}

fn within_limit(faults: &mut Faults, name: &str, request: Quantity, limits: &Value, path: &str) {
    let overcommit = is_native(name) && !name.starts_with("hugepages-");
    let shown = request.to_string();
    match quantity::read(&limits[name]) {
        Some(limit) if request != limit && !overcommit => {
            let detail = format!("must be equal to {name} limit of {limit}");
            faults.invalid(format!("{path}.requests"), shown.as_str(), &detail);
        }
        Some(limit) if request > limit => {
            let detail = format!("must be less than or equal to {name} limit of {limit}");
            faults.invalid(format!("{path}.requests"), shown.as_str(), &detail);
        }
        None if !overcommit => {
            faults.required(format!("{path}.limits"), "Limit must be set for non overcommitable resources");
        }
        _ => {}
    }
}

fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

fn is_extended(name: &str) -> bool {
    !is_native(name)
        && !name.starts_with("requests.")
        && words::qualified_name(&format!("requests.{name}")).is_empty()
}

fn resource_name(faults: &mut Faults, name: &str, path: &str) {
    let wrong = words::qualified_name(name);
    let qualified = wrong.is_empty();
    faults.each(path, name, wrong);
    let huge = name.starts_with("hugepages-");
    if !name.contains('/') {
        if qualified && !huge && !STANDARD.contains(&name) {
            faults.invalid(path, name, "must be a standard resource type or fully qualified");
        }
        if !huge && !STANDARD[..3].contains(&name) {
            faults.invalid(path, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        faults.invalid(path, name, "doesn't follow extended resource name standard");
    }
}

fn security(faults: &mut Faults, security: &Value, path: &str) {
    for name in ["runAsUser", "runAsGroup"] {
        if let Some(id) = number(security, name).filter(|id| !(0..=i64::from(i32::MAX)).contains(id)) {
            faults.invalid(format!("{path}.{name}"), id, &words::between(0, i64::from(i32::MAX)));
        }
    }
    if security["allowPrivilegeEscalation"] == json!(false) && security["privileged"] == json!(true) {
        faults.invalid(
            path,
            security.clone(),
            "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
        );
    }
}

//! # Probes: how a container is asked how it is
//! Room:     probes and lifecycle hooks: that there is one handler, and that it can be called.
//! Comes in: containers.
//! Goes out: faults.
//! Not here: the rest of a container (`containers.rs`).

use super::containers::port_in_range;
use super::found::Faults;
use super::words;
use crate::parts::{has, list, number, text};
use serde_json::Value;

/// All probes and hooks of a container.
pub(super) fn all(faults: &mut Faults, container: &Value, path: &str) {
    for name in ["postStart", "preStop"] {
        if has(&container["lifecycle"], name) {
            handler(faults, &container["lifecycle"][name], &format!("{path}.lifecycle.{name}"));
        }
    }
    for name in ["livenessProbe", "readinessProbe", "startupProbe"] {
        if has(container, name) {
            probe(faults, &container[name], name, &format!("{path}.{name}"));
        }
    }
}

fn probe(faults: &mut Faults, probe: &Value, name: &str, path: &str) {
    handler(faults, probe, path);
    for name in
        ["initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold"]
    {
        faults.not_negative(format!("{path}.{name}"), number(probe, name));
    }
    let grace = number(probe, "terminationGracePeriodSeconds");
    let grace_path = format!("{path}.terminationGracePeriodSeconds");
    if let Some(grace) = grace.filter(|grace| *grace <= 0) {
        faults.invalid(&grace_path, grace, "must be greater than 0");
    }
    if name == "readinessProbe" {
        if let Some(grace) = grace {
            faults.invalid(&grace_path, grace, "must not be set for readinessProbes");
        }
    } else if let Some(threshold) = number(probe, "successThreshold").filter(|threshold| *threshold != 1) {
        faults.invalid(format!("{path}.successThreshold"), threshold, "must be 1");
    }
}

fn handler(faults: &mut Faults, handler: &Value, path: &str) {
    let there =
        ["exec", "httpGet", "tcpSocket", "grpc", "sleep"].into_iter().filter(|name| has(handler, name));
    let mut count = 0;
    for name in there {
        count += 1;
        let (path, action) = (format!("{path}.{name}"), &handler[name]);
        if count > 1 {
            faults.forbidden(path, "may not specify more than 1 handler type");
            continue;
        }
        match name {
            "exec" if list(action, "command").is_empty() => faults.required(format!("{path}.command"), ""),
            "httpGet" => http(faults, action, &path),
            "tcpSocket" => port(faults, &action["port"], &format!("{path}.port")),
            "grpc" => {
                port_in_range(faults, number(action, "port").unwrap_or_default(), &format!("{path}.port"));
            }
            _ => {}
        }
    }
    if count == 0 {
        faults.required(path, "must specify a handler type");
    }
}

fn http(faults: &mut Faults, action: &Value, path: &str) {
    if text(action, "path").is_empty() {
        faults.required(format!("{path}.path"), "");
    }
    port(faults, &action["port"], &format!("{path}.port"));
    let schemes = ["HTTP", "HTTPS"];
    if !schemes.contains(&text(action, "scheme")) {
        faults.unsupported(format!("{path}.scheme"), text(action, "scheme"), &schemes);
    }
}

fn port(faults: &mut Faults, port: &Value, path: &str) {
    match port.as_str() {
        Some(name) => faults.each(path, name, words::port_name(name)),
        None => port_in_range(faults, port.as_i64().unwrap_or_default(), path),
    }
}

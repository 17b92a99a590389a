//! # Networks as rows
//! Room:     services and their endpoints, ingresses, policies, addresses.
//! Comes in: their objects, the time.
//! Goes out: cells.
//! Not here: who gives addresses.

use super::age::age;
use super::objects::name;
use super::read::{entry, given, list, number, pointed, string, strings};
use super::selector::{labels, or_none, selector};
use super::{AGE, NAME, Sheet, cells, text, wide};
use jiff::Timestamp;
use serde_json::Value;
use std::collections::BTreeSet;

pub(super) const SHEETS: &[Sheet] = &[
    Sheet::new(
        " services",
        &[
            NAME,
            text("Type"),
            text("Cluster-IP"),
            text("External-IP"),
            text("Port(s)"),
            AGE,
            wide("Selector"),
        ],
        service,
    ),
    Sheet::new(" endpoints", &[NAME, text("Endpoints"), AGE], |object, now| {
        cells![name(object), endpoints(object), age(object, now)]
    }),
    Sheet::new(
        "discovery.k8s.io endpointslices",
        &[NAME, text("AddressType"), text("Ports"), text("Endpoints"), AGE],
        endpoint_slice,
    ),
    Sheet::new(
        "networking.k8s.io ingresses",
        &[NAME, text("Class"), text("Hosts"), text("Address"), text("Ports"), AGE],
        ingress,
    ),
    Sheet::new(
        "networking.k8s.io ingressclasses",
        &[NAME, text("Controller"), text("Parameters"), AGE],
        ingress_class,
    ),
    Sheet::new("networking.k8s.io networkpolicies", &[NAME, text("Pod-Selector"), AGE], |object, now| {
        cells![name(object), selector(object, "spec.podSelector"), age(object, now)]
    }),
    Sheet::new("networking.k8s.io servicecidrs", &[NAME, text("CIDRs"), AGE], |object, now| {
        cells![name(object), strings(object, "spec.cidrs").join(","), age(object, now)]
    }),
    // A real server too sends three cells for two columns.
    Sheet::new("networking.k8s.io ipaddresses", &[NAME, text("ParentRef")], |object, now| {
        cells![name(object), parent(object), age(object, now)]
    }),
];

/// How many of many are shown.
const SHOWN: usize = 3;

/// The first of many, and how many more there are.
fn some(all: &[String]) -> String {
    match all.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{} + {more} more...", all[..SHOWN].join(",")),
        _ => all.join(","),
    }
}

fn some_or_unset(all: &[String]) -> String {
    let some = some(all);
    if some.is_empty() { "<unset>".to_owned() } else { some }
}

fn service(object: &Value, now: Timestamp) -> Vec<Value> {
    let ports = list(object, "spec.ports").iter().map(port).collect::<Vec<_>>().join(",");
    cells![
        name(object),
        string(object, "spec.type"),
        strings(object, "spec.clusterIPs").first().copied().unwrap_or("<none>"),
        external(object),
        or_none(ports),
        age(object, now),
        labels(object, "spec.selector"),
    ]
}

fn port(port: &Value) -> String {
    let (number_, protocol) = (number(port, "port"), string(port, "protocol"));
    match number(port, "nodePort") {
        ..=0 => format!("{number_}/{protocol}"),
        on_nodes => format!("{number_}:{on_nodes}/{protocol}"),
    }
}

fn external(object: &Value) -> String {
    let external = strings(object, "spec.externalIPs").join(",");
    match string(object, "spec.type") {
        "ClusterIP" | "NodePort" if list(object, "spec.externalIPs").is_empty() => "<none>".to_owned(),
        "ClusterIP" | "NodePort" => external,
        "LoadBalancer" => match (balanced(object), list(object, "spec.externalIPs").is_empty()) {
            (balanced, true) if balanced.is_empty() => "<pending>".to_owned(),
            (balanced, true) => balanced,
            (balanced, false) if balanced.is_empty() => external,
            (balanced, false) => format!("{balanced},{external}"),
        },
        "ExternalName" => string(object, "spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// The addresses of a load balancer, each once and in order.
fn balanced(object: &Value) -> String {
    let addresses: BTreeSet<&str> = list(object, "status.loadBalancer.ingress")
        .iter()
        .map(|point| match string(point, "ip") {
            "" => string(point, "hostname"),
            ip => ip,
        })
        .filter(|address| !address.is_empty())
        .collect();
    Vec::from_iter(addresses).join(",")
}

fn endpoints(object: &Value) -> String {
    let subsets = list(object, "subsets");
    if subsets.is_empty() {
        return "<none>".to_owned();
    }
    let mut all = Vec::new();
    for subset in subsets {
        let addresses: Vec<&str> =
            list(subset, "addresses").iter().map(|address| string(address, "ip")).collect();
        let ports = list(subset, "ports");
        if ports.is_empty() {
            all.extend(addresses.iter().map(|ip| (*ip).to_owned()));
        }
        for port in ports {
            let port = number(port, "port");
            all.extend(addresses.iter().map(|ip| match ip.contains(':') {
                true => format!("[{ip}]:{port}"),
                false => format!("{ip}:{port}"),
            }));
        }
    }
    some(&all)
}

fn endpoint_slice(object: &Value, now: Timestamp) -> Vec<Value> {
    let ports: Vec<String> = list(object, "ports")
        .iter()
        .map(|port| match given(port, "port") {
            Some(number) => number.to_string(),
            None => pointed(port, "name", "*").to_owned(),
        })
        .collect();
    let addresses: Vec<String> = list(object, "endpoints")
        .iter()
        .flat_map(|endpoint| strings(endpoint, "addresses"))
        .map(str::to_owned)
        .collect();
    cells![
        name(object),
        string(object, "addressType"),
        some_or_unset(&ports),
        some_or_unset(&addresses),
        age(object, now),
    ]
}

fn ingress(object: &Value, now: Timestamp) -> Vec<Value> {
    let ports = if list(object, "spec.tls").is_empty() { "80" } else { "80, 443" };
    cells![
        name(object),
        pointed(object, "spec.ingressClassName", "<none>"),
        hosts(list(object, "spec.rules")),
        balanced(object),
        ports,
        age(object, now),
    ]
}

/// Rules without a host are not shown, but counted among those that are not shown for want of room.
fn hosts(rules: &[Value]) -> String {
    let mut shown: Vec<&str> = Vec::new();
    let mut more = false;
    for rule in rules {
        more |= shown.len() == SHOWN;
        let host = string(rule, "host");
        if !more && !host.is_empty() {
            shown.push(host);
        }
    }
    match shown.join(",") {
        shown if more => format!("{shown} + {} more...", rules.len() - SHOWN),
        shown if shown.is_empty() => "*".to_owned(),
        shown => shown,
    }
}

fn ingress_class(object: &Value, now: Timestamp) -> Vec<Value> {
    let default = "ingressclass.kubernetes.io/is-default-class";
    let is_default = entry(object, "metadata.annotations", default) == Some("true");
    let parameters = given(object, "spec.parameters").map_or_else(
        || "<none>".to_owned(),
        |to| {
            let group =
                given(to, "apiGroup").map_or_else(String::new, |_| format!(".{}", string(to, "apiGroup")));
            format!("{}{group}/{}", string(to, "kind"), string(to, "name"))
        },
    );
    cells![
        if is_default { format!("{} (default)", name(object)) } else { name(object).to_owned() },
        string(object, "spec.controller"),
        parameters,
        age(object, now),
    ]
}

fn parent(object: &Value) -> String {
    let Some(parent) = given(object, "spec.parentRef") else { return "<none>".to_owned() };
    let part = |between: &str, field| match string(parent, field) {
        "" => String::new(),
        text => format!("{between}{text}"),
    };
    let kind = format!("{}{}", string(parent, "resource"), part(".", "group")).to_lowercase();
    format!("{kind}{}/{}", part("/", "namespace"), string(parent, "name"))
}

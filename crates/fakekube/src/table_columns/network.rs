//! Prints the columns of services, endpoints, ingresses and the other kinds of networking.

use super::{
    AGE, Made, NAME, NAME_WITH_DEFAULT_CLASS, TableColumn, Text, TextOr, given, items, list, number, or_none,
    selector, some_of, string, string_or, text, texts, wide,
};
use crate::resource::ResourceType;
use crate::select::format_labels;
use serde_json::Value;
use std::collections::BTreeSet;

/// The columns of a resource, if it is one of those printed here.
pub(super) fn columns(resource: &ResourceType) -> Option<&'static [TableColumn]> {
    Some(match (resource.group, resource.plural) {
        ("", "services") => SERVICES,
        ("", "endpoints") => ENDPOINTS,
        ("discovery.k8s.io", "endpointslices") => ENDPOINT_SLICES,
        ("networking.k8s.io", "ingresses") => INGRESSES,
        ("networking.k8s.io", "ingressclasses") => INGRESS_CLASSES,
        ("networking.k8s.io", "networkpolicies") => NETWORK_POLICIES,
        ("networking.k8s.io", "ipaddresses") => IP_ADDRESSES,
        ("networking.k8s.io", "servicecidrs") => SERVICE_CIDRS,
        _ => return None,
    })
}

const SERVICES: &[TableColumn] = &[
    NAME,
    text("Type", Text("spec.type")),
    text("Cluster-IP", Made(|service| string_or(service, "spec.clusterIPs.0", "<none>").to_owned())),
    text("External-IP", Made(external_address)),
    text("Port(s)", Made(ports)),
    AGE,
    wide("Selector", Made(|service| or_none(format_labels(&service["spec"]["selector"])))),
];

const ENDPOINTS: &[TableColumn] = &[NAME, text("Endpoints", Made(endpoints)), AGE];

const ENDPOINT_SLICES: &[TableColumn] = &[
    NAME,
    text("AddressType", Text("addressType")),
    text("Ports", Made(slice_ports)),
    text("Endpoints", Made(slice_endpoints)),
    AGE,
];

const INGRESSES: &[TableColumn] = &[
    NAME,
    text("Class", TextOr("spec.ingressClassName", "<none>")),
    text("Hosts", Made(hosts)),
    text("Address", Made(balancers)),
    text(
        "Ports",
        Made(|ingress| if list(ingress, "spec.tls").is_empty() { "80" } else { "80, 443" }.to_owned()),
    ),
    AGE,
];

const INGRESS_CLASSES: &[TableColumn] = &[
    NAME_WITH_DEFAULT_CLASS,
    text("Controller", Text("spec.controller")),
    text("Parameters", Made(parameters)),
    AGE,
];

const NETWORK_POLICIES: &[TableColumn] =
    &[NAME, text("Pod-Selector", Made(|policy| selector(&policy["spec"]["podSelector"]))), AGE];

// A real server's rows have a third cell, which no column shows.
const IP_ADDRESSES: &[TableColumn] = &[NAME, text("ParentRef", Made(parent))];

const SERVICE_CIDRS: &[TableColumn] =
    &[NAME, text("CIDRs", Made(|cidr| texts(list(cidr, "spec.cidrs")).join(","))), AGE];

fn external_address(service: &Value) -> String {
    let own = texts(list(service, "spec.externalIPs"));
    match string(service, "spec.type") {
        "ClusterIP" | "NodePort" => or_none(own.join(",")),
        "LoadBalancer" => {
            let balancers = balancers(service);
            let all: Vec<&str> = balancers.split(',').filter(|one| !one.is_empty()).chain(own).collect();
            if all.is_empty() { "<pending>".to_owned() } else { all.join(",") }
        }
        "ExternalName" => string(service, "spec.externalName").to_owned(),
        _ => "<unknown>".to_owned(),
    }
}

/// The addresses of load balancers, each once, in the order of their text.
fn balancers(object: &Value) -> String {
    let addresses = list(object, "status.loadBalancer.ingress").iter();
    let addresses: BTreeSet<&str> = addresses
        .map(|one| string_or(one, "ip", string(one, "hostname")))
        .filter(|address| !address.is_empty())
        .collect();
    Vec::from_iter(addresses).join(",")
}

fn ports(service: &Value) -> String {
    let port = |port: &Value| {
        let (own, protocol) = (number(port, "port"), string(port, "protocol"));
        match number(port, "nodePort") {
            node @ 1.. => format!("{own}:{node}/{protocol}"),
            _ => format!("{own}/{protocol}"),
        }
    };
    or_none(list(service, "spec.ports").iter().map(port).collect::<Vec<_>>().join(","))
}

fn endpoints(endpoints: &Value) -> String {
    let mut all = Vec::new();
    for subset in list(endpoints, "subsets") {
        let addresses = || list(subset, "addresses").iter().map(|address| string(address, "ip"));
        let ports = list(subset, "ports");
        if ports.is_empty() {
            all.extend(addresses().map(String::from));
        }
        for port in ports {
            let number = number(port, "port");
            all.extend(addresses().map(|address| match address.contains(':') {
                true => format!("[{address}]:{number}"),
                false => format!("{address}:{number}"),
            }));
        }
    }
    if list(endpoints, "subsets").is_empty() { "<none>".to_owned() } else { some_of(&all, 3, ",") }
}

fn slice_ports(slice: &Value) -> String {
    let port = |port: &Value| match given(port, "port") {
        Some(number) => number.to_string(),
        None => given(port, "name").and_then(Value::as_str).unwrap_or("*").to_owned(),
    };
    or_unset(&list(slice, "ports").iter().map(port).collect::<Vec<_>>())
}

fn slice_endpoints(slice: &Value) -> String {
    let endpoints = list(slice, "endpoints").iter();
    or_unset(&endpoints.flat_map(|one| texts(list(one, "addresses"))).map(String::from).collect::<Vec<_>>())
}

fn or_unset(all: &[String]) -> String {
    Some(some_of(all, 3, ",")).filter(|text| !text.is_empty()).unwrap_or_else(|| "<unset>".to_owned())
}

/// The first three hosts. The number of the others counts all rules, as the real printer does.
fn hosts(ingress: &Value) -> String {
    let rules = list(ingress, "spec.rules");
    let (mut hosts, mut more) = (Vec::new(), false);
    for rule in rules {
        more |= hosts.len() == 3;
        let host = string(rule, "host");
        if !more && !host.is_empty() {
            hosts.push(host);
        }
    }
    match (hosts.is_empty(), more) {
        (true, _) => "*".to_owned(),
        (false, true) => format!("{} + {} more...", hosts.join(","), rules.len() - 3),
        (false, false) => hosts.join(","),
    }
}

fn parameters(class: &Value) -> String {
    let Some(found) = given(class, "spec.parameters") else { return "<none>".to_owned() };
    let group = given(found, "apiGroup").and_then(Value::as_str).map(|group| format!(".{group}"));
    format!("{}{}/{}", string(found, "kind"), group.unwrap_or_default(), string(found, "name"))
}

fn parent(address: &Value) -> String {
    let Some(found) = given(address, "spec.parentRef") else { return "<none>".to_owned() };
    let resource = items([string(found, "resource"), string(found, "group")]).join(".").to_lowercase();
    items([&*resource, string(found, "namespace"), string(found, "name")]).join("/")
}

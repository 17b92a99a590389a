//! Finds the networks of the API servers for the NetworkPolicy of the webhook.
//!
//! - Invariant: networks are returned only if all API servers run on visible nodes; all addresses of such a node count,
//!   pod network and tunnels included, because API servers could not call the webhook after a wrong guess.

use serde_json::Value;
use std::collections::BTreeSet;
use std::net::IpAddr;
use taintward_kube::node_client::NodeRequestError;
use taintward_kube::object_client::{ObjectClient, ObjectRef};

const SLICES: ObjectRef<'static> = ObjectRef {
    group: "discovery.k8s.io",
    version: "v1",
    plural: "endpointslices",
    namespace: "default",
    name: "",
};
const NODES: ObjectRef<'static> =
    ObjectRef { group: "", version: "v1", plural: "nodes", namespace: "", name: "" };
const PODS: ObjectRef<'static> =
    ObjectRef { group: "", version: "v1", plural: "pods", namespace: "kube-system", name: "" };

/// The prefix of the annotations in which overlay networks store the address of a node's tunnel.
const TUNNELS: &str = "projectcalico.org/";

/// The networks from which API servers call the webhook.
pub(super) async fn found(server: &ObjectClient) -> Result<Vec<String>, String> {
    let listed = async |place, selector| {
        let response = server.labelled(place, selector).await?;
        let list: Value =
            response.and_then(|response| serde_json::from_slice(&response.body).ok()).unwrap_or_default();
        Ok::<_, NodeRequestError>(list["items"].as_array().cloned().unwrap_or_default())
    };
    let all = async {
        let slices = listed(SLICES, "kubernetes.io/service-name=kubernetes").await?;
        let nodes = listed(NODES, "node-role.kubernetes.io/control-plane").await?;
        let agents = listed(PODS, "k8s-app=konnectivity-agent").await?;
        Ok((slices, nodes, agents))
    };
    match all.await {
        Ok((slices, nodes, agents)) => networks(&slices, &nodes, agents.len()),
        Err(why) => {
            let why: NodeRequestError = why;
            Err(format!("their addresses cannot be read ({why})"))
        }
    }
}

fn networks(slices: &[Value], nodes: &[Value], agents: usize) -> Result<Vec<String>, String> {
    let servers: BTreeSet<IpAddr> = slices.iter().flat_map(endpoints).collect();
    let hosts: BTreeSet<IpAddr> = nodes.iter().flat_map(addresses).collect();
    let listed: Vec<String> = servers.iter().map(ToString::to_string).collect();
    let listed = listed.join(", ");
    if agents > 0 {
        return Err("they connect through konnectivity agents, whose addresses change".to_owned());
    }
    if servers.is_empty() {
        return Err("the Service kubernetes has no endpoints".to_owned());
    }
    if !servers.is_subset(&hosts) {
        return Err(format!("not all of their addresses ({listed}) belong to nodes of the control plane"));
    }
    let mut all: Vec<String> = hosts.into_iter().map(alone).collect();
    for node in nodes {
        let ranges = list(&node["spec"]["podCIDRs"]).iter().filter_map(Value::as_str);
        all.extend(ranges.map(str::to_owned));
        let notes = node["metadata"]["annotations"].as_object().into_iter().flatten();
        let tunnels = notes.filter(|(key, _)| key.starts_with(TUNNELS));
        let address = |(_, value): (&String, &Value)| value.as_str()?.split('/').next()?.parse().ok();
        all.extend(tunnels.filter_map(address).map(alone));
    }
    all.sort();
    all.dedup();
    Ok(all)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

fn endpoints(slice: &Value) -> Vec<IpAddr> {
    let all = list(&slice["endpoints"]).iter().flat_map(|one| list(&one["addresses"]));
    all.filter_map(|address| address.as_str()?.parse().ok()).collect()
}

fn addresses(node: &Value) -> Vec<IpAddr> {
    let all = list(&node["status"]["addresses"]).iter();
    all.filter_map(|one| one["address"].as_str()?.parse().ok()).collect()
}

/// A network of one address.
fn alone(address: IpAddr) -> String {
    format!("{address}/{}", if address.is_ipv4() { 32 } else { 128 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use testkit::ObjectExt as _;

    fn slice(addresses: &[&str]) -> Value {
        json!({"endpoints": [{"addresses": addresses}]})
    }

    fn node_with(addresses: &[&str], ranges: &[&str], tunnel: &str) -> Value {
        let annotations = json!({
            "projectcalico.org/IPv4IPIPTunnelAddr": tunnel, "projectcalico.org/IPv4Address": "192.0.2.1/24",
            "other": "192.0.2.99"});
        let addresses: Vec<Value> = addresses.iter().map(|one| json!({"address": one})).collect();
        let node = testkit::node("n1").with("metadata.annotations", annotations);
        node.with("spec.podCIDRs", ranges).with("status.addresses", addresses)
    }

    #[test]
    fn all_addresses_of_control_plane_nodes_count() {
        let nodes = [
            node_with(&["192.0.2.1", "cp1"], &["10.1.0.0/24", "fd00:1::/64"], "10.1.9.1"),
            node_with(&["192.0.2.2", "fd00::2"], &[], ""),
        ];
        let all = networks(&[slice(&["192.0.2.1"]), slice(&["fd00::2"])], &nodes, 0).unwrap();
        assert_eq!(
            all,
            ["10.1.0.0/24", "10.1.9.1/32", "192.0.2.1/32", "192.0.2.2/32", "fd00:1::/64", "fd00::2/128"]
        );
    }

    #[test]
    fn nothing_is_guessed() {
        let nodes = [node_with(&["192.0.2.1"], &[], "")];
        let why = |slices: &[Value], nodes: &[Value], agents| networks(slices, nodes, agents).unwrap_err();
        assert!(why(&[slice(&["192.0.2.1", "192.0.2.7"])], &nodes, 0).contains("192.0.2.7"));
        assert!(why(&[slice(&["192.0.2.1"])], &[], 0).contains("to nodes of the control plane"));
        assert!(why(&[], &nodes, 0).contains("no endpoints"));
        assert!(why(&[slice(&["192.0.2.1"])], &nodes, 1).contains("konnectivity"));
        assert!(networks(&[slice(&["192.0.2.1"])], &nodes, 0).is_ok());
    }
}

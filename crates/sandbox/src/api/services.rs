//! # Services: addresses and ports that are allocated
//! Room:     `clusterIP` and node ports of Services: which are free, which are kept, which are given back.
//! Comes in: a Service with its defaults; what it takes the place of; the other Services.
//! Goes out: the Service with its addresses; refusals of what is taken or outside the range.
//! Keeps:    no two Services have the same address or port; what a Service was given it keeps while its type needs it.
//! Not here: traffic: nothing listens at these addresses. IPv6; ports for health checks of load balancers.

use super::{Server, key, rules};
use crate::failure::Failure;
use crate::parts::{fill, has, list, list_mut, number, object, text};
use crate::resource::{Resource, known};
use crate::store::Txn;
use crate::validate::{Invalid, Kind};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::net::Ipv4Addr;

/// 10.96.0.0/12, as kubeadm has it.
const FIRST: u32 = u32::from_be_bytes([10, 96, 0, 0]);
const COUNT: u32 = 1 << 20;
/// The lower end of the range is left to those that name their address themselves.
const CHOSEN: u32 = 256;

/// Node ports.
const PORT_FIRST: i64 = 30_000;
const PORT_COUNT: u64 = 2_768;

/// A headless Service.
const NONE: &str = "None";

/// What other Services have.
#[derive(Default)]
struct Taken {
    addresses: BTreeSet<Ipv4Addr>,
    ports: BTreeSet<i64>,
}

/// Of a Service what it has been given; everything else is read over.
#[derive(Default, Deserialize)]
struct Glance {
    #[serde(default)]
    spec: GlanceSpec,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GlanceSpec {
    #[serde(default)]
    cluster_i_ps: Vec<String>,
    #[serde(default)]
    ports: Vec<GlancePort>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GlancePort {
    node_port: Option<i64>,
}

impl Taken {
    fn by_others(txn: &Txn<'_>, own: &str) -> Self {
        let mut taken = Self::default();
        for (_, other) in txn.all(known("", "services"), None).into_iter().filter(|(key, _)| **key != *own) {
            let Glance { spec } = serde_json::from_slice(&other.json).unwrap_or_default();
            taken.addresses.extend(spec.cluster_i_ps.iter().filter_map(|one| one.parse::<Ipv4Addr>().ok()));
            taken.ports.extend(spec.ports.iter().filter_map(|port| port.node_port).filter(|port| *port != 0));
        }
        taken
    }
}

/// Gives a Service what it needs.
///
/// # Errors
/// 422 for an address or a port that it cannot have; 500 if there is none left.
pub(super) fn settle(
    server: &Server,
    txn: &Txn<'_>,
    resource: &Resource,
    old: Option<&Value>,
    new: &mut Value,
) -> Result<(), Failure> {
    if (resource.group, resource.plural) != ("", "services") {
        return Ok(());
    }
    let old = old.map(|old| &old["spec"]);
    let own = key(text(&new["metadata"], "namespace"), text(&new["metadata"], "name"));
    let mut spec = object(new, "spec").take();
    let taken = Taken::by_others(txn, &own);
    let settled = addresses(server, &taken, &own, old, &mut spec)
        .and_then(|()| ports(server, &taken, &own, old.filter(|old| needs_ports(old)), &mut spec));
    new["spec"] = spec;
    settled.map_err(|trouble| match trouble {
        Trouble::Refused(fault) => rules::invalid(resource, new, &[fault]),
        Trouble::Full(what) => {
            let why = format!(
                "Internal error occurred: failed to allocate a {what} for Service \"{own}\": range is full"
            );
            Failure::new(500, "InternalError", why)
        }
    })
}

enum Trouble {
    Refused(Invalid),
    Full(&'static str),
}

fn refused(field: String, value: impl Into<Value>, detail: String) -> Trouble {
    Trouble::Refused(Invalid { field, kind: Kind::Invalid, value: Some(value.into()), detail })
}

fn needs_address(spec: &Value) -> bool {
    text(spec, "type") != "ExternalName"
}

fn needs_ports(spec: &Value) -> bool {
    matches!(text(spec, "type"), "NodePort" | "LoadBalancer")
}

fn addresses(
    server: &Server,
    taken: &Taken,
    own: &str,
    old: Option<&Value>,
    spec: &mut Value,
) -> Result<(), Trouble> {
    let old = old.filter(|old| needs_address(old));
    if !needs_address(spec) {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"] {
            if old.is_some_and(|old| old[field] == spec[field]) {
                spec.as_object_mut().map(|fields| fields.remove(field));
            }
        }
        return Ok(());
    }
    if let Some(old) = old {
        fill(spec, "clusterIP", old["clusterIP"].clone());
        fill(spec, "ipFamilyPolicy", old["ipFamilyPolicy"].clone());
        if text(old, "clusterIP") != text(spec, "clusterIP") && !text(old, "clusterIP").is_empty() {
            let why = "may not change once set".to_owned();
            return Err(refused("spec.clusterIPs[0]".to_owned(), json!([spec["clusterIP"]]), why));
        }
    }
    let headless = text(spec, "clusterIP") == NONE;
    let everywhere = headless && !has(spec, "selector");
    fill(spec, "ipFamilyPolicy", if everywhere { "RequireDualStack" } else { "SingleStack" });
    if list(spec, "ipFamilies").is_empty() {
        let both = everywhere && text(spec, "ipFamilyPolicy") != "SingleStack";
        spec["ipFamilies"] = if both { json!(["IPv4", "IPv6"]) } else { json!(["IPv4"]) };
    }
    match text(spec, "clusterIP") {
        NONE => {}
        "" => {
            let free = free_address(server, taken, own).ok_or(Trouble::Full("serviceIP"))?;
            spec["clusterIP"] = json!(free.to_string());
        }
        asked => check_address(taken, asked)?,
    }
    spec["clusterIPs"] = json!([spec["clusterIP"]]);
    Ok(())
}

/// Which one depends on the Service's name and the seed alone, unless others have it.
fn free_address(server: &Server, taken: &Taken, own: &str) -> Option<Ipv4Addr> {
    let count = COUNT - CHOSEN - 1;
    let begin = server.ids().number_of(&format!("services/{own}")) % u64::from(count);
    let begin = u32::try_from(begin).unwrap_or_default();
    let address = |step: u32| Ipv4Addr::from(FIRST + CHOSEN + (begin + step) % count);
    (0..count).map(address).find(|one| !taken.addresses.contains(one))
}

fn check_address(taken: &Taken, asked: &str) -> Result<(), Trouble> {
    let refused = |why: &str| refused("spec.clusterIPs".to_owned(), json!([asked]), why.to_owned());
    let Ok(address) = asked.parse::<Ipv4Addr>() else {
        return Err(refused("must be 'None' or an IPv4 address: this cluster has no others"));
    };
    if !(FIRST..FIRST + COUNT).contains(&address.into()) {
        let range = Ipv4Addr::from(FIRST);
        return Err(refused(&format!(
            "failed to allocate IP {asked}: the provided network does not match the current range {range}/12"
        )));
    }
    match taken.addresses.contains(&address) {
        true => Err(refused(&format!("failed to allocate IP {asked}: provided IP is already allocated"))),
        false => Ok(()),
    }
}

fn ports(
    server: &Server,
    taken: &Taken,
    own: &str,
    old: Option<&Value>,
    spec: &mut Value,
) -> Result<(), Trouble> {
    let given = |spec: &Value| -> Vec<Value> {
        list(spec, "ports").iter().map(|port| port["nodePort"].clone()).collect()
    };
    if !needs_ports(spec) {
        if old.is_some_and(|old| given(old) == given(spec)) {
            list_mut(spec, "ports")
                .for_each(|port| _ = port.as_object_mut().map(|port| port.remove("nodePort")));
        }
        return Ok(());
    }
    let mut own_ports: BTreeSet<i64> =
        list(spec, "ports").iter().filter_map(|port| number(port, "nodePort")).collect();
    let wanted = spec["allocateLoadBalancerNodePorts"] != json!(false) || text(spec, "type") == "NodePort";
    for (index, port) in list_mut(spec, "ports").enumerate() {
        let before = old
            .into_iter()
            .flat_map(|old| list(old, "ports"))
            .find(|one| text(one, "name") == text(port, "name"));
        let before =
            before.and_then(|before| number(before, "nodePort")).filter(|port| !own_ports.contains(port));
        match number(port, "nodePort").filter(|port| *port != 0).or(before) {
            Some(asked) => {
                check_port(taken, index, asked)?;
                port["nodePort"] = json!(asked);
            }
            None if wanted => {
                let begin = server.ids().number_of(&format!("services/{own}/{index}")) % PORT_COUNT;
                let number =
                    |step| PORT_FIRST + i64::try_from((begin + step) % PORT_COUNT).unwrap_or_default();
                let free = |port: &i64| !taken.ports.contains(port) && !own_ports.contains(port);
                let found = (0..PORT_COUNT).map(number).find(free).ok_or(Trouble::Full("nodePort"))?;
                own_ports.insert(found);
                port["nodePort"] = json!(found);
            }
            None => {}
        }
    }
    Ok(())
}

fn check_port(taken: &Taken, index: usize, asked: i64) -> Result<(), Trouble> {
    let last = PORT_FIRST + i64::try_from(PORT_COUNT).unwrap_or_default() - 1;
    let why = if !(PORT_FIRST..=last).contains(&asked) {
        format!("provided port is not in the valid range. The range of valid ports is {PORT_FIRST}-{last}")
    } else if taken.ports.contains(&asked) {
        "provided port is already allocated".to_owned()
    } else {
        return Ok(());
    };
    Err(refused(format!("spec.ports[{index}].nodePort"), asked, why))
}

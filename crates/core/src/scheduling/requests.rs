//! Sums the resource requests of containers to those of the pod.

use super::{CPU, MEMORY, ResourceRequests, Resources};
use crate::quantity::Quantity;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Quantities by resource.
pub type Quantities = BTreeMap<Box<str>, Quantity>;

/// What scores assume for a container without a CPU request, in thousandths.
const CPU_ASSUMED_MILLI: i64 = 100;

/// What scores assume for a container without a memory request, in bytes.
const MEMORY_ASSUMED: i64 = 200 * 1024 * 1024;

/// Converts the amount of a resource to the unit that scheduling uses for it.
pub fn units(resource: &str, quantity: Quantity) -> i64 {
    if resource == CPU { quantity.milli() } else { quantity.units() }
}

/// The requests of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContainerRequests {
    /// `resources.requests`.
    pub requests: Quantities,
    /// Whether it is an init container that keeps running alongside the others: `restartPolicy` is `Always`.
    pub sidecar: bool,
}

/// All fields of a pod that determine its requests.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodRequests {
    /// `spec.containers`.
    pub containers: Vec<ContainerRequests>,
    /// `spec.initContainers`, in order.
    pub init_containers: Vec<ContainerRequests>,
    /// `spec.resources.requests`, which for CPU, memory and huge pages overrides those of the containers.
    pub pod: Quantities,
    /// `spec.overhead`.
    pub overhead: Quantities,
}

impl PodRequests {
    /// Returns the pod's requests: containers and sidecars run together; before them, each init container runs
    /// alongside the sidecars started before it. Only the sum is rounded.
    pub fn load(&self) -> ResourceRequests {
        let requested = self.total(|container| container.requests.clone());
        let assumed = self.total(|container| {
            let mut all = container.requests.clone();
            all.entry(CPU.into()).or_insert(Quantity::from_milli(CPU_ASSUMED_MILLI));
            all.entry(MEMORY.into()).or_insert(Quantity::from_units(MEMORY_ASSUMED));
            all
        });
        let assumed = assumed.into_iter().filter(|(name, _)| [CPU, MEMORY].contains(&&**name)).collect();
        ResourceRequests { requested: counted(requested), assumed: counted(assumed) }
    }

    fn total(&self, requests: impl Fn(&ContainerRequests) -> Quantities) -> Quantities {
        let mut together = Quantities::new();
        for container in &self.containers {
            add(&mut together, &requests(container));
        }
        let (mut sidecars, mut highest) = (Quantities::new(), Quantities::new());
        for container in &self.init_containers {
            let mut now = requests(container);
            if container.sidecar {
                add(&mut together, &now);
                add(&mut sidecars, &now);
                now = sidecars.clone();
            } else {
                add(&mut now, &sidecars);
            }
            merge(&mut highest, &now, Quantity::larger);
        }
        merge(&mut together, &highest, Quantity::larger);
        let whole = self.pod.iter().filter(|(name, _)| is_of_the_pod(name));
        together.extend(whole.map(|(name, quantity)| (name.clone(), *quantity)));
        add(&mut together, &self.overhead);
        together
    }
}

/// Whether a resource can be requested at the pod level.
fn is_of_the_pod(resource: &str) -> bool {
    [CPU, MEMORY].contains(&resource) || resource.starts_with("hugepages-")
}

fn add(into: &mut Quantities, from: &Quantities) {
    merge(into, from, Quantity::plus);
}

fn merge(into: &mut Quantities, from: &Quantities, how: fn(Quantity, Quantity) -> Quantity) {
    for (name, &quantity) in from {
        into.entry(name.clone()).and_modify(|sum| *sum = how(*sum, quantity)).or_insert(quantity);
    }
}

fn counted(amounts: Quantities) -> Resources {
    let counted = amounts.into_iter().map(|(name, quantity)| {
        let units = units(&name, quantity);
        (name, units)
    });
    counted.collect()
}

//! Adds tolerations for the extended resources that a pod requests, as ExtendedResourceToleration does (AD-7).
//!
//! - Invariant: an existing toleration keeps its seconds; upstream strips them, but an API server rejects such a
//!   toleration anyway (VAL-2).

use crate::label::is_key;
use crate::taint::TaintEffect;
use crate::toleration::{Toleration, TolerationOperator};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

/// The names of Kubernetes' own resources contain this.
const NATIVE: &str = "kubernetes.io/";

/// The prefix that a quota adds to the name of a resource.
const QUOTA: &str = "requests.";

/// Whether this is the name of an extended resource, such as `nvidia.com/gpu`: it has a domain that is not Kubernetes'
/// own, and a quota can name it (AD-7).
pub fn is_extended_resource(name: &str) -> bool {
    name.contains('/')
        && !name.contains(NATIVE)
        && !name.starts_with(QUOTA)
        && is_key(&format!("{QUOTA}{name}"))
}

/// Returns what to append to the tolerations of a created or updated pod: `{<resource>, Exists, NoSchedule}` for each
/// extended resource that it requests, sorted, unless exactly this toleration exists (AD-7). A toleration for every
/// key, or for the same key with another operator or effect, does not replace it.
pub fn extended_tolerations<'n>(
    existing: &[Toleration],
    names: impl IntoIterator<Item = &'n str>,
) -> Vec<Toleration> {
    let wanted: BTreeSet<&str> = names.into_iter().filter(|name| is_extended_resource(name)).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let alike = |toleration: &&Toleration| {
        toleration.operator == TolerationOperator::Exists
            && toleration.value.is_empty()
            && toleration.effect == Some(TaintEffect::NoSchedule)
    };
    let there: BTreeSet<&str> = existing.iter().filter(alike).map(|toleration| &*toleration.key).collect();
    wanted.difference(&there).map(|name| Toleration::exists(name, TaintEffect::NoSchedule)).collect()
}

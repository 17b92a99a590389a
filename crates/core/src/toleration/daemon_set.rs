//! Computes the tolerations of a DaemonSet's pods (DS-1, DS-2).

use super::Toleration;
use crate::taint::{TaintEffect, keys};
use alloc::vec::Vec;

/// What every pod of a DaemonSet tolerates indefinitely, in this order (DS-1).
const DAEMON: [(&str, TaintEffect); 6] = [
    (keys::NOT_READY, TaintEffect::NoExecute),
    (keys::UNREACHABLE, TaintEffect::NoExecute),
    (keys::DISK_PRESSURE, TaintEffect::NoSchedule),
    (keys::MEMORY_PRESSURE, TaintEffect::NoSchedule),
    (keys::PID_PRESSURE, TaintEffect::NoSchedule),
    (keys::UNSCHEDULABLE, TaintEffect::NoSchedule),
];

/// Returns the tolerations of a DaemonSet's pods, from those of its template: a toleration of the same identity
/// (MATCH-2) is replaced in place and loses its seconds; a new one is appended (DS-1, DS-2).
pub fn daemon_tolerations(template: &[Toleration], host_network: bool) -> Vec<Toleration> {
    let host = host_network.then_some((keys::NETWORK_UNAVAILABLE, TaintEffect::NoSchedule));
    let mut all = template.to_vec();
    for (key, effect) in DAEMON.into_iter().chain(host) {
        add_or_update(&mut all, &Toleration::exists(key, effect));
    }
    all
}

fn add_or_update(all: &mut Vec<Toleration>, wanted: &Toleration) {
    let mut found = false;
    for same in all.iter_mut().filter(|toleration| toleration.is_same(wanted)) {
        same.seconds = wanted.seconds;
        found = true;
    }
    if !found {
        all.push(wanted.clone());
    }
}

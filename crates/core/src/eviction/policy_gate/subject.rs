//! Defines what a decision of the gate is about.

use crate::eviction::order::EvictionOrder;
use crate::fact::PodTemplateFact;
use crate::identity::PodRef;
use crate::scheduling::Labels;
use crate::taint::Taint;
use crate::time::Mono;
use crate::workload::Workload;

/// A due pod whose turn has come.
pub(crate) struct GateSubject<'a> {
    pub(crate) pod: &'a PodRef,
    pub(crate) namespace: &'a str,
    pub(crate) template: &'a PodTemplateFact,
    pub(crate) order: EvictionOrder,
    /// Its condition `Ready` is True.
    pub(crate) is_ready: bool,
    /// It is ready, and counts as a replica of this workload.
    pub(crate) workload: Option<&'a Workload>,
    pub(crate) node: &'a Labels,
    /// The taints because of which it is due.
    pub(crate) taints: &'a [&'a Taint],
    pub(crate) due: Mono,
    /// When another taint demands its eviction too.
    pub(crate) next_due: Option<Mono>,
}

//! Chooses the settings of a simulated controller.

use super::harness::SimulationHarness;
use super::mutation::ControllerMutation;
use std::time::Duration;
use taintward_controller::settings::*;
use taintward_core::node_lifecycle::{NodeLifecycleConfig, NodeLifecycleFlags};
use taintward_core::node_limit::NodeLimit;
use taintward_core::time::Span;
use taintward_record::{EngineRecorder, RingLimits};

/// The whole life of a controller.
const WHOLE: RingLimits = RingLimits { age: Span::from_secs(i64::MAX), bytes: usize::MAX };

impl SimulationHarness {
    pub(super) fn controller_settings(&self) -> ControllerSettings {
        let seed = self.ids.number();
        let has_brake = self.delays.as_ref().is_some_and(|delays| delays.has_brake);
        let brake = has_brake.then_some(NodeLimit { nodes: Some(1), percent: None });
        ControllerSettings {
            cluster: ClusterAccess {
                relist_every: Some(Duration::from_secs(300)),
                ..ClusterAccess::default()
            },
            controllers: EnabledControllers {
                node_lifecycle: self.node_health(),
                brake,
                ..EnabledControllers::default()
            },
            mode: WriteMode::Enforce,
            marking: Marking::Always,
            stamp_taints: false,
            eviction_policies: self.delays.is_some(),
            numeric_operators: false,
            exempt_namespaces: Vec::new(),
            election: self.elected.then(ElectionSettings::default),
            serving: ServingSettings {
                bind_address: [127, 0, 0, 1].into(),
                metrics_port: None,
                secure: None,
            },
            seed: Some(seed),
            recorder: Some(EngineRecorder::in_memory("simulated", WHOLE)),
        }
    }

    /// The settings of node lifecycle, if it runs.
    fn node_health(&self) -> Option<NodeLifecycleConfig> {
        let flags = match self.mutation {
            ControllerMutation::NoNodeHealth => return None,
            ControllerMutation::ShortGrace => {
                NodeLifecycleFlags { monitor_grace_micros: 20_000_000, ..NodeLifecycleFlags::default() }
            }
            ControllerMutation::FullBuckets => {
                NodeLifecycleFlags { eviction_rate: 1_000.0, ..NodeLifecycleFlags::default() }
            }
            _ => NodeLifecycleFlags::default(),
        };
        self.health.then(|| NodeLifecycleConfig::new(&flags).unwrap())
    }
}

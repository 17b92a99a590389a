//! Makes the fact that a decoder has to read from a sample pod.

use super::*;

impl SamplePod {
    pub(crate) fn fact(&self) -> PodFact {
        let toleration = |of: &SampleToleration| Toleration {
            key: of.0.as_deref().unwrap_or_default().into(),
            operator: TolerationOperator::new(of.1.as_deref().unwrap_or_default()),
            value: of.2.as_deref().unwrap_or_default().into(),
            effect: of.3.as_deref().filter(|effect| !effect.is_empty()).map(TaintEffect::new),
            seconds: of.4,
        };
        let is = |of: &&SampleCondition, kind| of.0 == kind && of.1 == "True";
        let scheduled = self.conditions.iter().filter(|of| is(of, "PodScheduled")).find_map(|of| of.3);
        let marked = self.conditions.iter().filter(|of| is(of, "DisruptionTarget"));
        let is_mark = marked.into_iter().any(|of| of.2 == "DeletionByTaintManager");
        let owns = [mark_fields("f:reason"), mark_fields("f:lastTransitionTime")];
        let by_another =
            self.meta.managed.iter().any(|(_, fields, sub)| sub == "status" && owns.contains(fields));
        PodFact {
            id: PodId::new(Uid::new(&self.meta.uid), PodName::new(&self.meta.namespace, &self.meta.name)),
            node: NodeName::new(&self.node),
            version: ResourceVersion::parse(&self.meta.version),
            generation: self.meta.generation.unwrap_or(0).clamp(0, u32::MAX.into()).try_into().unwrap(),
            tolerations: self.tolerations.iter().map(toleration).collect(),
            priority: self.priority.unwrap_or(0),
            node_critical: self.class.as_deref() == Some("system-node-critical"),
            owner: self.meta.owner(),
            life_phase: match self.phase.as_str() {
                _ if self.meta.deleted.is_some() => PodLifePhase::Terminating,
                "Succeeded" | "Failed" => PodLifePhase::Finished,
                _ => PodLifePhase::Live,
            },
            mirror: self.meta.annotations.iter().any(|(key, _)| key == "kubernetes.io/config.mirror"),
            marked: is_mark,
            marked_by_another: is_mark && by_another,
            arrival: BindingTimes {
                scheduled: wall(scheduled),
                started: wall(self.started),
                created: wall(self.meta.created),
            },
            ready: None,
            template: None,
            holds: self.meta.annotation(HOLD).and_then(decode_periods),
            ignores_holds: false,
        }
    }
}

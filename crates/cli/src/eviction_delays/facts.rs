//! Lists what decides how due pods leave, and tells the controller's engine.

use super::{DelaySettings, EvictionDelays};
use crate::cluster_state::ObjectLists;
use std::collections::BTreeMap;
use taintward_core::admission::LabelSelector;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::Engine as _;
use taintward_core::eviction::{
    EvictionConfig, EvictionEngine, EvictionInput, EvictionPrediction, EvictionScenario, ReplacementReadiness,
};
use taintward_core::eviction_policy::{BudgetFact, EvictionPolicyFact, NamespaceLabelsFact, ReplicatedKind};
use taintward_core::fact::NodeFact;
use taintward_core::identity::NodeName;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Now, Wall};
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::ListRequest;
use taintward_kube::decode::{
    ApiResource, Decoded, DeploymentObject, NodeForAllControllers, ReplicaSetObject, StatefulSetObject,
    TemplatedPod, WatchedObject,
};

/// An engine that knows what exists.
pub(crate) struct EvictionFacts {
    engine: EvictionEngine,
    nodes: BTreeMap<NodeName, NodeFact>,
    now: Now,
    /// What could not be read, of what policies need.
    pub(crate) unread: Option<RequestError>,
}

impl EvictionFacts {
    /// Whether anything can delay an eviction because of these nodes, for which alone all pods need not be read.
    pub(crate) async fn can_delay(
        lists: ObjectLists<'_>,
        settings: DelaySettings,
        mut nodes: impl Iterator<Item = &NodeFact>,
    ) -> bool {
        if settings.brake.is_some()
            || settings.plans_budgets
            || nodes.any(|node| node.respect_budgets.is_some())
        {
            return true;
        }
        let mut any = false;
        let listed = match settings.policies {
            true => list::<EvictionPolicyFact>(lists, |event| any |= is_object(&event)).await,
            false => Ok(()),
        };
        any || listed.is_err_and(|error| error.failure != ApiFailure::NotFound)
    }

    /// `None`: nothing can delay an eviction, and pods were not read.
    ///
    /// # Errors
    /// Why nodes or pods cannot be read.
    pub(crate) async fn read_if_needed(
        lists: ObjectLists<'_>,
        settings: DelaySettings,
        now: Wall,
    ) -> Result<Option<Self>, RequestError> {
        let mut nodes = Vec::new();
        let add = |event| {
            nodes.extend(if let ObjectEvent::Applied { fact, .. } = event { Some(fact) } else { None })
        };
        list::<NodeFact>(lists, add).await?;
        match Self::can_delay(lists, settings, nodes.iter()).await {
            true => Self::read(lists, settings, now).await.map(Some),
            false => Ok(None),
        }
    }

    /// # Errors
    /// Why nodes or pods cannot be read: then no pod can be judged.
    pub(crate) async fn read(
        lists: ObjectLists<'_>,
        settings: DelaySettings,
        now: Wall,
    ) -> Result<Self, RequestError> {
        let now = Now::of_wall(now);
        let mut policies = Vec::new();
        let listed = match settings.policies {
            true => list::<EvictionPolicyFact>(lists, |event| policies.push(event)).await,
            false => Ok(()),
        };
        let is_absent = listed.as_ref().is_err_and(|error| error.failure == ApiFailure::NotFound);
        let unread = listed.err().filter(|_| !is_absent);
        let engine = EvictionEngine::new(EvictionConfig {
            numeric: settings.numeric,
            starts_as_named: true,
            policies: settings.policies && unread.is_none(),
            brake: settings.brake,
            ..EvictionConfig::default()
        });
        let mut facts = Self { engine, nodes: BTreeMap::new(), now, unread: None };
        if is_absent {
            facts.handle(EvictionInput::PolicyDefinitionAbsent(true));
        }
        policies.into_iter().for_each(|event| facts.handle(EvictionInput::Policies(event)));
        list::<NodeForAllControllers>(lists, |event| {
            let event = match event.into_object() {
                Ok((node, listed)) => match node.labelled() {
                    Some(fact) => {
                        facts.nodes.insert(fact.name.clone(), fact.clone());
                        ObjectEvent::Applied { fact, listed }
                    }
                    None => ObjectEvent::Undecodable(node.identity().into()),
                },
                Err(event) => event,
            };
            facts.handle(EvictionInput::Nodes(event));
        })
        .await?;
        // The annotations of nodes may need budgets too.
        facts.unread = unread.or(facts.surroundings(lists, settings.plans_budgets).await.err());
        list::<TemplatedPod>(lists, |event| {
            let fact = event.map(|pod| pod.with_template(pod.pod.for_display()));
            facts.handle(EvictionInput::Pods(fact));
        })
        .await?;
        Ok(facts)
    }

    /// What delays the due pods.
    pub(crate) fn delays(self) -> EvictionDelays {
        EvictionDelays { engine: self.engine.after_turns(self.now), unread: self.unread }
    }

    /// A node, if it exists and can be decoded.
    pub(crate) fn node(&self, name: &NodeName) -> Option<&NodeFact> {
        self.nodes.get(name)
    }

    /// Which pods leave until then, and when, if nodes change as planned.
    pub(crate) fn predict(
        &self,
        changes: &[(Mono, EvictionInput)],
        readiness: ReplacementReadiness,
        until: Mono,
    ) -> EvictionPrediction {
        self.engine.predict(&EvictionScenario { changes, readiness, until }, self.now)
    }

    fn handle(&mut self, input: EvictionInput) {
        self.engine.handle(input, self.now);
        // No command logs notices.
        drop(self.engine.take_notices());
    }

    /// Reads the objects that the policies need; a user may read one kind and not another.
    async fn surroundings(
        &mut self,
        lists: ObjectLists<'_>,
        plans_budgets: bool,
    ) -> Result<(), RequestError> {
        let selects_namespaces =
            |fact: &EvictionPolicyFact| fact.policy.namespaces != LabelSelector::default();
        if self.engine.policy_statuses(self.now).iter().any(|(fact, _)| selects_namespaces(fact)) {
            list::<NamespaceLabelsFact>(lists, |event| self.handle(EvictionInput::Namespaces(event))).await?;
        }
        if plans_budgets || self.engine.needs_budgets() {
            list::<BudgetFact>(lists, |event| self.handle(EvictionInput::Budgets(event))).await?;
        }
        if self.engine.needs_workloads() {
            use ReplicatedKind::{Deployment, ReplicaSet, StatefulSet};
            let mut handle = |kind, event| self.handle(EvictionInput::Workloads(kind, event));
            list::<DeploymentObject>(lists, |event| handle(Deployment, event.map(|one| one.0))).await?;
            list::<ReplicaSetObject>(lists, |event| handle(ReplicaSet, event.map(|one| one.0))).await?;
            list::<StatefulSetObject>(lists, |event| handle(StatefulSet, event.map(|one| one.0))).await?;
        }
        Ok(())
    }
}

/// Whether an event is about an object, whether or not it can be decoded.
const fn is_object<F>(event: &ObjectEvent<F>) -> bool {
    matches!(event, ObjectEvent::Applied { .. } | ObjectEvent::Undecodable(_))
}

/// Lists a kind as a watch delivers its first list.
async fn list<F: WatchedObject>(
    lists: ObjectLists<'_>,
    mut take: impl FnMut(ObjectEvent<F>) + Send,
) -> Result<(), RequestError> {
    let ApiResource { group, plural, field_selector, .. } = F::RESOURCE;
    let fields = field_selector.unwrap_or_default();
    take(ObjectEvent::ListStarted { silent_since: None });
    let add = &mut |json: &[u8]| {
        match F::from_json(json) {
            Decoded::Object(fact) => take(ObjectEvent::Applied { fact, listed: true }),
            Decoded::Undecodable(object) => {
                object.identity.into_iter().for_each(|one| take(ObjectEvent::Undecodable(one.into())));
            }
            Decoded::Unbound(_) => {}
        }
        Ok(())
    };
    lists.each(ListRequest { fields, ..ListRequest::all(group, plural) }, add).await?;
    take(ObjectEvent::ListCompleted);
    Ok(())
}

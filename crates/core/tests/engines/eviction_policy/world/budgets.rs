//! The disruption budgets of the cluster, and the controller that counts their pods.

use super::{Happening, World, WorldBudget};
use taintward_core::cluster_snapshot::{BudgetStatus, DisruptionBudget, DisruptionLimit};
use taintward_core::eviction::EvictionInput;
use taintward_core::eviction_policy::BudgetFact;
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::scheduling::{NodeOperator, NodeRequirement};

impl World {
    pub(crate) fn add_budget(&mut self, name: &str, app: &str, limit: DisruptionLimit) {
        self.budgets.insert(name.into(), WorldBudget { app: app.into(), limit, allowed: 0, healthy: 0 });
        self.send_budget(name);
        self.count_budgets(app);
    }

    pub(crate) fn remove_budget(&mut self, name: &str) {
        self.budgets.remove(name);
        let object = ObjectRef { name: name.into(), uid: Some(Uid::new(name)), node: None };
        self.send(EvictionInput::Budgets(ObjectEvent::Deleted(object)));
    }

    /// The object of a budget cannot be decoded any more.
    pub(crate) fn lose_budget(&mut self, name: &str) {
        let object = ObjectRef { name: name.into(), uid: Some(Uid::new(name)), node: None };
        self.send(EvictionInput::Budgets(ObjectEvent::Undecodable(object)));
    }

    pub(super) fn budget_fact(&self, name: &str) -> BudgetFact {
        let budget = &self.budgets[name];
        let selected = NodeRequirement {
            key: "app".into(),
            operator: NodeOperator::In,
            values: vec![budget.app.as_str().into()],
        };
        let desired = budget.limit.of(self.replicas.get(&budget.app).copied().unwrap_or(0));
        BudgetFact {
            uid: Uid::new(name),
            version: Some(ResourceVersion(self.version)),
            budget: DisruptionBudget {
                namespace: "default".into(),
                name: name.into(),
                selector: Some(vec![selected]),
                floor: Some(budget.limit),
                status: Some(BudgetStatus { healthy: budget.healthy, desired }),
            },
            allowed: Some(budget.allowed),
        }
    }

    pub(super) fn send_budget(&mut self, name: &str) {
        self.bump();
        let fact = self.budget_fact(name);
        self.send(EvictionInput::Budgets(ObjectEvent::Applied { fact, listed: false }));
    }

    pub(super) fn count_budgets(&mut self, app: &str) {
        let names: Vec<String> = self
            .budgets
            .iter()
            .filter(|(_, budget)| budget.app == app)
            .map(|(name, _)| name.clone())
            .collect();
        names.into_iter().for_each(|name| self.after(self.delays.budget, Happening::Counted(name)));
    }

    /// The disruption controller counts the pods of a budget.
    pub(super) fn budget_counted(&mut self, name: &str) {
        let Some(budget) = self.budgets.get(name) else { return };
        let healthy = self.ready(&budget.app);
        let desired = budget.limit.of(self.replicas.get(&budget.app).copied().unwrap_or(0));
        let allowed = healthy.saturating_sub(desired);
        if (budget.healthy, budget.allowed) != (healthy, allowed) {
            let budget = self.budgets.get_mut(name).unwrap();
            (budget.healthy, budget.allowed) = (healthy, allowed);
            self.send_budget(name);
        }
    }
}

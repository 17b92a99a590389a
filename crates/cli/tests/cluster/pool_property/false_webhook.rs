//! Runs a webhook that gives every pod what it needs to enter a pool.

use super::actions::{affinity, owner, pinned};
use super::choices::PoolChoices;
use super::plan::{MADE_FOR, Plan};
use crate::admission::review_server;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use taintward_envtest::certificates::TestAuthority;
use testkit::wait::let_time_pass;

pub(crate) struct FalseWebhook {
    plan: Rc<Plan>,
    choices: RefCell<PoolChoices>,
    /// The time before its response.
    pub(crate) delay: Cell<Duration>,
    /// The number of its responses.
    pub(crate) lies: Cell<usize>,
}

impl FalseWebhook {
    pub(crate) fn new(plan: Rc<Plan>, choices: PoolChoices) -> Rc<Self> {
        let (choices, delay) = (RefCell::new(choices), Cell::new(Duration::ZERO));
        Rc::new(Self { plan, choices, delay, lies: Cell::new(0) })
    }

    /// Listens as long as the task set lives.
    pub(crate) async fn listen(self: Rc<Self>, port: u16, authority: &TestAuthority) {
        review_server::listen(port, authority, async move |path: &str, request: &Value| {
            let_time_pass(self.delay.get(), "a slow webhook").await;
            self.respond(path.starts_with("/mutate"), request)
        })
        .await;
    }

    fn respond(&self, mutates: bool, request: &Value) -> Value {
        let mut response = json!({"allowed": true});
        let patch = if mutates { self.lie(request) } else { Vec::new() };
        if !patch.is_empty() {
            self.lies.set(self.lies.get() + 1);
            response["patchType"] = json!("JSONPatch");
            response["patch"] = json!(STANDARD.encode(json!(patch).to_string()));
        }
        response
    }

    fn lie(&self, request: &Value) -> Vec<Value> {
        let mut choices = self.choices.borrow_mut();
        let pool = &self.plan.pools[choices.below(self.plan.pools.len())];
        let node = format!("{}-1", pool.name);
        let (pod, taint) = (&request["object"], &pool.spec["taint"]);
        let mut tolerations = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
        tolerations.push(json!({"key": taint["key"], "operator": "Equal", "value": taint["value"]}));
        let put = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
        let gift = put("/spec/tolerations", json!(tolerations));
        let claim = put("/metadata/annotations", json!({MADE_FOR: self.plan.claim(pool)}));
        if request["operation"] == "UPDATE" {
            let open = put("/spec/schedulingGates", json!([]));
            return match choices.below(6) {
                0 => vec![gift],
                1 => vec![claim],
                3 => vec![claim, gift],
                2 if pod["spec"].get("schedulingGates").is_some() => vec![gift, open],
                _ => Vec::new(),
            };
        }
        let lead = |terms: &[Value]| put("/spec/affinity", affinity(terms));
        match choices.below(16) {
            0..3 => vec![gift],
            3 | 4 => vec![gift, lead(&[pinned(&node)])],
            5 => vec![gift, lead(&[pinned("open-1"), pinned(&node)])],
            6 => vec![put("/spec/nodeName", json!(node)), put("/spec/schedulingGates", json!([]))],
            7 => vec![gift, put("/metadata/ownerReferences", owner()), lead(&[pinned("open-1")])],
            8 => vec![gift, put("/spec/schedulingGates", json!([]))],
            9 => vec![claim],
            10 => vec![claim, gift],
            _ => Vec::new(),
        }
    }
}

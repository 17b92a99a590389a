//! Runs the tour: six steps that explain taints, each shown and verified.

pub(crate) mod silence;

use crate::color::{Color, ColorChoice, colored};
use crate::output::{self, Terminal, width, wrap};
use fakekube::api::{ApiServer, DeleteOptions, ResourcePath, WriteOptions};
use fakekube::resource::{Subresource, known};
use fakekube::store::ListRange;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;
use taintward_sandbox::core_types;
use taintward_sandbox::demo_workloads::{CART_SECONDS, NAMESPACE};
use taintward_sandbox::world::World;

type TourStep = Result<(), String>;

/// The tour's taint.
const TAINT: &str = "maintenance";

/// The time limit for a change that has no countdown.
const SOON: Duration = Duration::from_secs(8);

/// The whole tour.
pub(crate) async fn run(world: &World) -> TourStep {
    let tour = Tour { server: world.server().clone() };
    print_wrapped(
        "Taintward's tour: a sandbox cluster in this process, and the effect of NoExecute taints on its pods.",
    )?;
    tour.begin().await?;
    let (node, other) = tour.two_nodes_with_cart()?;
    tour.taint(&node).await?;
    tour.take_back(&node).await?;
    tour.let_run_out(&other).await?;
    tour.drain().await?;
    tour.silence().await?;
    print_wrapped(
        "\nThat was the tour. `taintward sandbox` runs a cluster for you and kubectl until you stop it.",
    )?;
    Ok(())
}

/// A step's first line. It has a color on a terminal, as in docs/tour.svg.
fn head(text: &str) -> TourStep {
    let measure = Terminal::of_standard_output(false).measure();
    print(&headline(text, measure, ColorChoice::Auto.paints()))
}

fn headline(text: &str, measure: usize, paints: bool) -> String {
    fitted(text, measure).iter().map(|line| format!("\n{}", colored(line, Color::Green, paints))).collect()
}

/// Wrapped lines, indented to the first word after the number or the spaces.
fn fitted(text: &str, measure: usize) -> Vec<String> {
    const INDENT: usize = 3;
    if width(text) <= measure {
        return vec![text.to_owned()];
    }
    let (number, rest) = text.split_at_checked(INDENT).unwrap_or(("", text));
    let is_indent = number.trim_end_matches([' ', '.']).chars().all(|sign| sign.is_ascii_digit());
    let (mut first, rest) = if is_indent { (number, rest) } else { ("", text) };
    let below = " ".repeat(first.len());
    let lines = wrap(rest, measure.saturating_sub(first.len()));
    lines.into_iter().map(|line| format!("{}{line}", std::mem::replace(&mut first, &below))).collect()
}

fn print_wrapped(text: &str) -> TourStep {
    let measure = Terminal::of_standard_output(false).measure();
    let lines: Vec<String> = text.split('\n').flat_map(|line| fitted(line, measure)).collect();
    print(&lines.join("\n"))
}

fn print(text: &str) -> TourStep {
    output::print(&format!("{text}\n")).map_err(|why| why.to_string())
}

struct Tour {
    server: ApiServer,
}

impl Tour {
    fn pods(&self) -> Vec<Value> {
        let all = ListRange { namespace: Some(NAMESPACE), after: None };
        let listed = self.server.store().list(known("", "pods"), all, None);
        listed.map(|listed| listed.objects.iter().map(|(_, pod)| pod.value()).collect()).unwrap_or_default()
    }

    /// Names of an app's pods that run on a node, or on any.
    fn of(&self, app: &str, node: Option<&str>) -> Vec<String> {
        let matches = |pod: &Value| {
            pod["metadata"]["labels"]["app"] == app
                && pod["metadata"]["deletionTimestamp"].is_null()
                && node.is_none_or(|node| pod["spec"]["nodeName"] == node)
                && pod["status"]["phase"] == "Running"
        };
        let pods = self.pods().into_iter().filter(matches);
        pods.filter_map(|pod| pod["metadata"]["name"].as_str().map(String::from)).collect()
    }

    async fn until(&self, what: &str, limit: Duration, done: impl Fn(&Self) -> bool) -> TourStep {
        let end = tokio::time::Instant::now() + limit;
        while !done(self) {
            if tokio::time::Instant::now() > end {
                return Err(format!("{what} did not happen within {} s", limit.as_secs()));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    async fn begin(&self) -> TourStep {
        let nodes = self.nodes().len();
        head(&format!(
            "1. {nodes} nodes run a shop: web tolerates no taint, cart tolerates the taint {TAINT} for {CART_SECONDS} s,"
        ))?;
        print_wrapped(
            "   search tolerates it longer, and an agent on every node tolerates all taints. The pods start:",
        )?;
        self.until("the start of all pods", SOON, |tour| {
            tour.of("web", None).len() == 6
                && tour.of("cart", None).len() == 3
                && tour.of("search", None).len() == 3
                && tour.of("agent", None).len() == nodes
        })
        .await?;
        print_wrapped(&format!("   {} pods run.", 12 + nodes))?;
        Ok(())
    }

    /// Two nodes with a cart pod, at least one of which also has a web pod.
    fn two_nodes_with_cart(&self) -> Result<(String, String), String> {
        let mut nodes: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        for pod in self.pods() {
            let node = pod["spec"]["nodeName"].as_str().unwrap_or_default().to_owned();
            let counts = nodes.entry(node).or_default();
            match pod["metadata"]["labels"]["app"].as_str() {
                Some("cart") => counts.0 += 1,
                Some("web") => counts.1 += 1,
                _ => {}
            }
        }
        let mut with_cart: Vec<_> = nodes.into_iter().filter(|(_, (cart, _))| *cart > 0).collect();
        with_cart.sort_by_key(|(node, (_, web))| (*web == 0, node.clone()));
        match with_cart.as_slice() {
            [(one, _), (other, _), ..] => Ok((one.clone(), other.clone())),
            _ => Err("cart does not run on two nodes".to_owned()),
        }
    }

    fn set_taint(&self, node: &str, on: bool) -> TourStep {
        let object = ResourcePath::object(known("", "nodes"), "", node);
        let changed = self.server.change(&object, "tour", |node| {
            let mut taints: Vec<Value> = core_types::list(&node["spec"]["taints"]).cloned().collect();
            taints.retain(|taint| taint["key"] != TAINT);
            if on {
                taints.push(json!({"key": TAINT, "value": "now", "effect": "NoExecute"}));
            }
            node["spec"]["taints"] = Value::Array(taints);
        });
        changed.map(drop).map_err(|failure| failure.message)
    }

    async fn taint(&self, node: &str) -> TourStep {
        let (web, cart) = (self.of("web", Some(node)), self.of("cart", Some(node)));
        head(&format!("2. kubectl taint nodes {node} {TAINT}=now:NoExecute"))?;
        self.set_taint(node, true)?;
        self.until("the eviction of web from the node", SOON, |tour| tour.of("web", Some(node)).is_empty())
            .await?;
        print_wrapped(&format!(
            "   web does not tolerate the taint, so Taintward evicts it immediately: {}.",
            listed(&web)
        ))?;
        self.until("the restart of web on other nodes", SOON, |tour| tour.of("web", None).len() == 6).await?;
        print_wrapped(
            "   Its Deployment recreates the pods, the scheduler places them on other nodes, and 6 pods of web run again.",
        )?;
        if self.of("cart", Some(node)) != cart {
            return Err("cart was evicted before its deadline".to_owned());
        }
        print_wrapped(&format!(
            "   cart tolerates the taint for {CART_SECONDS} s: it still runs and counts down: {}.",
            listed(&cart)
        ))?;
        let agents = self.of("agent", Some(node));
        if agents.len() != 1 {
            return Err("the agent was evicted, although it tolerates all taints".to_owned());
        }
        print_wrapped(&format!("   The agent tolerates all taints and stays: {}.", listed(&agents)))?;
        Ok(())
    }

    async fn take_back(&self, node: &str) -> TourStep {
        let cart = self.of("cart", Some(node));
        head(&format!(
            "3. kubectl taint nodes {node} {TAINT}-   (removes the taint before cart's deadline)"
        ))?;
        self.set_taint(node, false)?;
        print_wrapped("   The tour waits until cart's countdown would have ended ...")?;
        self.server.clock().sleep(Duration::from_secs(CART_SECONDS)).await;
        if self.of("cart", Some(node)) != cart {
            return Err("cart was evicted, although the taint was removed before the deadline".to_owned());
        }
        print_wrapped(&format!(
            "   Taintward evicts no pod: {} stays, because the taint is gone.",
            listed(&cart)
        ))?;
        Ok(())
    }

    async fn let_run_out(&self, node: &str) -> TourStep {
        let cart = self.of("cart", Some(node));
        head(&format!("4. kubectl taint nodes {node} {TAINT}=now:NoExecute   (and this taint stays)"))?;
        let began = self.server.clock().now();
        self.set_taint(node, true)?;
        let limit = Duration::from_secs(CART_SECONDS) + SOON;
        self.until("the eviction of cart at its deadline", limit, |tour| {
            tour.of("cart", Some(node)).is_empty()
        })
        .await?;
        let took = self.server.clock().now().duration_since(began).as_secs_f64();
        if took < CART_SECONDS as f64 {
            return Err(format!(
                "cart was evicted after {took:.1} s, before its {CART_SECONDS} s had passed"
            ));
        }
        print_wrapped(&format!(
            "   {} is gone after {took:.1} s: it had the full {CART_SECONDS} s of its toleration.",
            listed(&cart)
        ))?;
        self.set_taint(node, false)
    }

    async fn drain(&self) -> TourStep {
        let node = self.busiest("web");
        let web = self.of("web", Some(&node));
        print_wrapped(&format!(
            "\n5. kubectl drain {node}   (evicts its web pods one by one; their budget requires 4 of 6 healthy pods)"
        ))?;
        let on = ResourcePath::object(known("", "nodes"), "", &node);
        let cordon = self.server.change(&on, "tour", |node| node["spec"]["unschedulable"] = json!(true));
        cordon.map_err(|failure| failure.message)?;
        let mut least = usize::MAX;
        for pod in &web {
            let on = ResourcePath::object(known("", "pods"), NAMESPACE, pod).part(Subresource::Eviction);
            let end = tokio::time::Instant::now() + SOON;
            while let Err(rejection) =
                self.server.evict(&on, &DeleteOptions::default(), &WriteOptions::by("tour"))
            {
                if rejection.code != 429 || tokio::time::Instant::now() > end {
                    return Err(rejection.message);
                }
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            least = least.min(self.of("web", None).len());
        }
        self.until("the move of web to other nodes", SOON, |tour| {
            tour.of("web", Some(&node)).is_empty() && tour.of("web", None).len() == 6
        })
        .await?;
        if least < 4 {
            return Err(format!("only {least} pods of web ran during the drain"));
        }
        print_wrapped(&format!(
            "   {} moved, and at least {least} pods of web ran at all times.",
            listed(&web)
        ))?;
        Ok(())
    }

    fn nodes(&self) -> Vec<Value> {
        let all = ListRange { namespace: None, after: None };
        let listed = self.server.store().list(known("", "nodes"), all, None);
        listed.map(|listed| listed.objects.iter().map(|(_, node)| node.value()).collect()).unwrap_or_default()
    }

    /// The node with most pods of an app.
    fn busiest(&self, app: &str) -> String {
        let names =
            self.nodes().into_iter().filter_map(|node| node["metadata"]["name"].as_str().map(String::from));
        names.max_by_key(|node| self.of(app, Some(node)).len()).unwrap_or_default()
    }
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "no pod".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headlines_have_a_color_on_a_terminal() {
        let headline_of = |measure, paints| headline("1. It begins.", measure, paints);
        assert_eq!(headline_of(80, true), "\n\x1b[32m1. It begins.\x1b[0m");
        assert_eq!(headline_of(80, false), "\n1. It begins.");
        assert_eq!(headline_of(10, true), "\n\x1b[32m1. It\x1b[0m\n\x1b[32m   begins.\x1b[0m");
    }

    #[test]
    fn lines_fit_a_terminal_and_keep_their_indent() {
        let step = "2. kubectl drain n2   (one by one)";
        assert_eq!(fitted(step, usize::MAX), [step], "a pipe has no width");
        assert_eq!(fitted(step, 34), [step], "it fits as it is");
        assert_eq!(fitted(step, 22), ["2. kubectl drain n2", "   (one by one)"]);
        assert_eq!(fitted("   cart is still there", 16), ["   cart is still", "   there"]);
        assert_eq!(fitted("That was the tour", 12), ["That was the", "tour"]);
        assert_eq!(fitted("", 12), [""]);
    }
}

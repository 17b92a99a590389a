//! Measures how long a page takes until it shows an element, by the clock and in work of the page's own thread.

use super::Browser;
use anyhow::{Context as _, Result};
use serde_json::{Value, json};

/// Notes when an element that matches a selector is there and drawn.
const WATCH: &str = "new MutationObserver((_, watcher) => {
    if (document.querySelector(SELECTOR)) {
        watcher.disconnect();
        requestAnimationFrame(() => setTimeout(() => (window.painted = performance.now())));
    }
}).observe(document, {childList: true, subtree: true})";

/// Work of known length: its time by the clock tells how much other programs hold the page up.
const SPIN: &str = "(() => {
    const began = performance.now();
    for (let round = 0, sum = 0; round < 5e7; round++) sum += round % 7;
    return performance.now() - began;
})()";

/// One load, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub struct PageLoad {
    /// From the request of the page until the element is drawn, by the clock.
    pub clock: f64,
    /// What the page's own thread worked for it: other programs do not lengthen that.
    pub work: f64,
    /// The time of some other work by the clock, as a multiple of that work: 1 on an idle machine.
    pub slowdown: f64,
}

impl Browser {
    /// Opens an address as a new page, until an element that matches `selector` is drawn.
    pub fn load(&mut self, address: &str, selector: &str) -> Result<PageLoad> {
        self.command("Performance.enable", json!({"timeDomain": "threadTicks"}))?;
        let watch = json!({"source": WATCH.replace("SELECTOR", &json!(selector).to_string())});
        let script = self.command("Page.addScriptToEvaluateOnNewDocument", watch)?;
        self.open("about:blank")?;
        self.open(address)?;
        let clock = self.until("the page is painted", "window.painted")?.as_f64().context("a number")?;
        let work = self.work()?;
        let spun = self.evaluate(SPIN)?.as_f64().context("a number")?;
        let slowdown = (spun / (self.work()? - work)).max(1.0);
        self.command("Page.removeScriptToEvaluateOnNewDocument", script)?;
        Ok(PageLoad { clock, work, slowdown })
    }

    /// Milliseconds that the page's thread has worked.
    fn work(&mut self) -> Result<f64> {
        let metrics = self.command("Performance.getMetrics", json!({}))?;
        let named = |one: &&Value| one["name"] == "TaskDuration";
        let metric = metrics["metrics"].as_array().and_then(|all| all.iter().find(named));
        Ok(1e3 * metric.and_then(|one| one["value"].as_f64()).context("the browser tells no TaskDuration")?)
    }
}

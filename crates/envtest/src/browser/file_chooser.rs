//! Chooses a file where a page asks for one.

use super::{Browser, RESPONSE_TIMEOUT};
use anyhow::{Context as _, Result, ensure};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

impl Browser {
    /// Clicks an element that opens a file chooser, and chooses this file.
    pub fn choose(&mut self, element: &str, file: &Path) -> Result<()> {
        self.chooser = None;
        self.command("Page.setInterceptFileChooserDialog", json!({"enabled": true}))?;
        self.click(element)?;
        let start = Instant::now();
        while self.chooser.is_none() {
            ensure!(start.elapsed() < RESPONSE_TIMEOUT, "no file chooser opens after a click on {element}");
            std::thread::sleep(Duration::from_millis(20));
            // Messages of the browser are read only together with an answer.
            self.evaluate("true")?;
        }
        let input = self.chooser.take().context("a file chooser")?;
        let chosen = json!({"files": [file], "backendNodeId": input});
        self.command("DOM.setFileInputFiles", chosen)?;
        self.command("Page.setInterceptFileChooserDialog", json!({"enabled": false})).map(drop)
    }
}

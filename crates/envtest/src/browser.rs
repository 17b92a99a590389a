//! Drives a headless Chromium through the DevTools protocol, over two pipes of its process.
//!
//! - Invariant: the browser ends with its owner, even when that is killed: it ends once its pipes are closed. Its folder
//!   goes with it (`watchdog.rs`).

mod file_chooser;
mod page_load;

pub use page_load::PageLoad;

use crate::binaries::had_for_test;
use crate::watchdog::Watchdog;
use anyhow::{Context as _, Result, bail, ensure};
use base64::Engine as _;
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The names of its program in distributions.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// On a busy machine everything that comes at all comes within this.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(60);

/// The browser reads commands from descriptor 3 and answers on 4.
const PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#;

/// It asks for nothing but what a test opens; tests run as root in containers, where its own sandbox does not work.
const FLAGS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
];

/// A tab of a browser.
#[derive(Debug)]
pub struct Tab {
    target: Value,
    session: Option<String>,
}

/// A browser. Commands go to the tab that was opened or shown last.
#[derive(Debug)]
pub struct Browser {
    child: Child,
    /// Closed, it ends the browser.
    commands: Option<ChildStdin>,
    messages: Receiver<Value>,
    /// Of the DevTools protocol with a tab; `None`: with the browser itself.
    session: Option<String>,
    last_id: u64,
    complaints: Vec<String>,
    /// The input for which the page opened a file chooser last.
    chooser: Option<Value>,
    watchdog: Watchdog,
}

impl Browser {
    /// A browser for a test, or `None` where none is installed, as with [`crate::binaries::for_test`].
    pub fn for_test(test: &str) -> Option<Self> {
        had_for_test(test, "Chromium", Self::start())
    }

    /// Finds a browser through `PATH`, and starts it with a window of 1280 by 900 pixels.
    pub fn start() -> Result<Self> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let program = find()?;
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("taintward-browser-{}-{number}", std::process::id()));
        fs::create_dir_all(&folder)?;
        let watchdog = Watchdog::over(&folder)?;
        let mut child = Command::new("/bin/sh")
            .args(["-c", PIPES])
            .arg(&program)
            .args(FLAGS)
            .arg(format!("--user-data-dir={}", folder.join("profile").display()))
            .arg("about:blank")
            .env("HOME", &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        watchdog.guard(child.id());
        let commands = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().context("the browser has no standard output")?);
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|length| length > 0) {
                message.pop();
                let is_sent =
                    serde_json::from_slice(&message).is_ok_and(|message| sender.send(message).is_ok());
                if !is_sent {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Self {
            child,
            commands,
            messages,
            session: None,
            last_id: 0,
            complaints: Vec::new(),
            chooser: None,
            watchdog,
        };
        browser.open_tab()?;
        browser.resize(1280, 900)?;
        Ok(browser)
    }

    /// Opens an empty tab in front of the others.
    pub fn open_tab(&mut self) -> Result<Tab> {
        self.session = None;
        let target = self.command("Target.createTarget", json!({"url": "about:blank"}))?["targetId"].clone();
        let attached = self.command("Target.attachToTarget", json!({"targetId": target, "flatten": true}))?;
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Runtime", "Log", "Page"] {
            self.command(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(Tab { target, session: self.session.clone() })
    }

    /// Brings a tab to the front.
    pub fn show_tab(&mut self, tab: &Tab) -> Result<()> {
        self.session = None;
        self.command("Target.activateTarget", json!({"targetId": tab.target}))?;
        self.session.clone_from(&tab.session);
        Ok(())
    }

    /// Sends a command of the DevTools protocol, and waits for its result.
    pub fn command(&mut self, method: &str, parameters: Value) -> Result<Value> {
        self.last_id += 1;
        let mut command = json!({"id": self.last_id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&command)?;
        bytes.push(0);
        let commands = self.commands.as_mut().context("the browser has no standard input")?;
        commands.write_all(&bytes).with_context(|| format!("sending {method} to the browser"))?;
        loop {
            let message = self.messages.recv_timeout(RESPONSE_TIMEOUT);
            let message = message.with_context(|| format!("the browser does not answer {method}"))?;
            if message["id"] == self.last_id {
                ensure!(message["error"].is_null(), "the browser refuses {method}: {}", message["error"]);
                return Ok(message["result"].clone());
            }
            self.note(&message);
        }
    }

    /// Keeps what a person would see in the browser's console as an error, and which file the page asks for.
    fn note(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                self.complaints.push(parameters["exceptionDetails"].to_string())
            }
            Some("Log.entryAdded") if parameters["entry"]["level"] == "error" => {
                self.complaints.push(parameters["entry"].to_string());
            }
            Some("Page.fileChooserOpened") => self.chooser = Some(parameters["backendNodeId"].clone()),
            _ => {}
        }
    }

    /// Errors of scripts and rejections by the content security policy so far.
    pub fn complaints(&self) -> &[String] {
        &self.complaints
    }

    /// Opens an address. What is there is waited for with [`Self::until`].
    pub fn open(&mut self, address: &str) -> Result<()> {
        self.command("Page.navigate", json!({"url": address})).map(drop)
    }

    /// The value of an expression in the page, or of the promise that it is.
    pub fn evaluate(&mut self, expression: &str) -> Result<Value> {
        let parameters = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let done = self.command("Runtime.evaluate", parameters)?;
        if let Some(thrown) = done.get("exceptionDetails") {
            bail!("{expression} throws {}", thrown["exception"]["description"]);
        }
        Ok(done["result"]["value"].clone())
    }

    /// Evaluates until the value is one that JavaScript takes for true. `what` completes "waited for …".
    pub fn until(&mut self, what: &str, expression: &str) -> Result<Value> {
        let start = Instant::now();
        loop {
            // An element that is not there yet makes the expression throw.
            let found = self.evaluate(expression).unwrap_or_default();
            if !matches!(&found, Value::Null | Value::Bool(false)) && found != "" && found != 0 {
                return Ok(found);
            }
            if start.elapsed() > RESPONSE_TIMEOUT {
                let text = self.evaluate("document.body.innerText")?;
                bail!("waited {RESPONSE_TIMEOUT:?} for {what}, in vain: {expression} in {text}");
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses the mouse's button in the middle of the element that an expression tells, once what was asked for before is drawn.
    pub fn click(&mut self, element: &str) -> Result<()> {
        let middle = format!(
            "(async () => {{ await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))); \
             const element = {element}; element.scrollIntoView({{block: 'nearest'}}); \
             const box = element.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2] }})()"
        );
        let middle = self.evaluate(&middle)?;
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"] {
            let at = json!({"type": kind, "x": middle[0], "y": middle[1], "button": "left", "clickCount": 1});
            self.command("Input.dispatchMouseEvent", at)?;
        }
        Ok(())
    }

    /// Presses a key by the name that scripts know it by, such as `ArrowDown`.
    pub fn press(&mut self, key: &str) -> Result<()> {
        let code = match key {
            "Enter" => 13,
            "Escape" => 27,
            "Tab" => 9,
            "End" => 35,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            _ => bail!("the code of {key} is not known here"),
        };
        let mut event = json!({"type": "keyDown", "key": key, "code": key, "windowsVirtualKeyCode": code});
        if key == "Enter" {
            event["text"] = json!("\r");
        }
        self.command("Input.dispatchKeyEvent", event.clone())?;
        event["type"] = json!("keyUp");
        self.command("Input.dispatchKeyEvent", event).map(drop)
    }

    /// Types a text where the focus is.
    pub fn write(&mut self, text: &str) -> Result<()> {
        self.command("Input.insertText", json!({"text": text})).map(drop)
    }

    /// Makes the window so many pixels wide and high.
    pub fn resize(&mut self, width: u32, height: u32) -> Result<()> {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false});
        self.command("Emulation.setDeviceMetricsOverride", size).map(drop)
    }

    /// Prefers `light` or `dark` colors.
    pub fn prefer(&mut self, scheme: &str) -> Result<()> {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.command("Emulation.setEmulatedMedia", features).map(drop)
    }

    /// Writes a picture of what is on the screen, as PNG.
    pub fn picture(&mut self, file: &Path) -> Result<()> {
        let taken = self.command("Page.captureScreenshot", json!({"format": "png"}))?;
        let data = taken["data"].as_str().context("the browser took no picture")?;
        fs::write(file, base64::engine::general_purpose::STANDARD.decode(data)?)
            .with_context(|| format!("writing {}", file.display()))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.commands.take();
        let _ = self.child.wait();
        self.watchdog.release(self.child.id());
    }
}

/// Finds a browser through `PATH`.
pub fn find() -> Result<PathBuf> {
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    let programs = NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    let found = programs.into_iter().find(|program| program.is_file());
    found.with_context(|| {
        format!("none of {} is in PATH; on Debian, `apt-get install chromium` brings one", NAMES.join(", "))
    })
}

//! Runs `taintward sandbox` as a child process: reads its lines and sends requests to it.

#![allow(dead_code, reason = "each test binary uses some of it")]

use super::timeout::{Lines, eventually};
use kube::config::{Config, KubeConfigOptions, Kubeconfig};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use testkit::wait::until_blocking;

pub(crate) fn taintward(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.arg("sandbox").args(arguments);
    command
}

pub(crate) fn output(arguments: &[&str]) -> Output {
    taintward(arguments).output().unwrap()
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A running sandbox, stopped when the test ends in any way.
pub(crate) struct RunningSandbox {
    pub(crate) child: Child,
    lines: Lines,
}

impl RunningSandbox {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::of(taintward(arguments))
    }

    pub(crate) fn of(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = Lines::of(child.stdout.take().unwrap());
        Self { child, lines }
    }

    /// Reads up to a line that contains this.
    pub(crate) fn until(&mut self, what: &str) -> String {
        loop {
            let line = self.lines.next();
            let line = line.unwrap_or_else(|| panic!("it ended without saying {what:?}"));
            if line.contains(what) {
                return line;
            }
        }
    }

    /// The address on which it listens.
    pub(crate) fn address(&mut self) -> String {
        self.until("Taintward sandbox:").trim().rsplit("//").next().unwrap().to_owned()
    }

    /// The kubeconfig in its output; the line comes after the address.
    pub(crate) fn kubeconfig(&mut self) -> String {
        self.until("export KUBECONFIG=").trim().rsplit('=').next().unwrap().to_owned()
    }

    /// Its whole standard error, after it has ended.
    pub(crate) fn complaint(&mut self) -> String {
        let mut message = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
        message
    }

    pub(crate) fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).unwrap();
    }

    pub(crate) fn ends_within(&mut self, limit: Duration) -> i32 {
        until_blocking("it to end", limit, || self.child.try_wait().unwrap()).code().unwrap_or(-1)
    }
}

impl Drop for RunningSandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A name that no other test has, in this process or another.
fn own() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

pub(crate) struct TestFile(pub(crate) PathBuf);

impl TestFile {
    pub(crate) fn named(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("taintward-cli-sandbox-{}-{name}", own())))
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for TestFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A folder that is removed after the test.
pub(crate) struct TestFolder(pub(crate) PathBuf);

impl TestFolder {
    pub(crate) fn named(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("taintward-cli-{}-{name}", own()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        std::fs::write(self.0.join(name), text).unwrap();
        self.file(name)
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Sends one request with a kubeconfig; a rejection fails the test.
pub(crate) fn request(kubeconfig: &str, method: &str, path: &str, body: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
        let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        let request = http::Request::builder().method(method).uri(path);
        let format = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = request.header("content-type", format);
        let request = request.body(body.as_bytes().to_vec()).unwrap();
        kube::Client::try_from(config).unwrap().request_text(request).await.unwrap()
    })
}

/// Waits until the pods of a sandbox run, as they should before their node gets a taint.
pub(crate) fn until_pods_run(kubeconfig: &str) {
    eventually("pods run", || {
        let pods = request(kubeconfig, "GET", "/api/v1/namespaces/shop/pods", "");
        (pods.matches("\"phase\":\"Running\"").count() >= 15).then_some(())
    });
}

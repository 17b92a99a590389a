//! Tests everyday work with the real kubectl on the sandbox.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use taintward_envtest::binaries;

pub(crate) mod admitting;
pub(crate) mod changing;
pub(crate) mod dedicating;
pub(crate) mod moving;
pub(crate) mod reading;

use crate::cli::timeout::eventually;

/// A sandbox and a kubectl that talks to it.
pub(crate) struct KubectlHarness {
    sandbox: Child,
    kubectl: PathBuf,
    folder: PathBuf,
}

impl KubectlHarness {
    /// `None` after a message, if there is no kubectl.
    fn set(test: &str, flags: &[&str]) -> Option<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let kubectl = binaries::for_test(test)?.path("kubectl").unwrap();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("taintward-sandbox-kubectl-{}-{number}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        let kubeconfig = folder.join("kubeconfig");
        let sandbox = Command::new(env!("CARGO_BIN_EXE_taintward"))
            .args(["sandbox", "--plain", "--listen", "127.0.0.1:0", "--kubeconfig-out"])
            .arg(&kubeconfig)
            .args(flags)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let harness = Self { sandbox, kubectl, folder };
        eventually("the sandbox answers", || harness.run(&["get", "--raw", "/readyz"]).0.then_some(()));
        Some(harness)
    }

    fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(&self.kubectl);
        command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.folder)
            .env("KUBECONFIG", self.folder.join("kubeconfig"))
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .args(arguments);
        command
    }

    /// Returns whether it succeeded, and everything it printed.
    fn run(&self, arguments: &[&str]) -> (bool, String) {
        let done = self.command(arguments).output().unwrap();
        let message = [done.stdout, done.stderr].concat();
        (done.status.success(), String::from_utf8_lossy(&message).into_owned())
    }

    /// The command, split at spaces, must succeed.
    fn ok(&self, typed: &str) -> String {
        self.ok_with(&typed.split_whitespace().collect::<Vec<_>>())
    }

    /// The same, for arguments with spaces.
    fn ok_with(&self, arguments: &[&str]) -> String {
        let (done, message) = self.run(arguments);
        assert!(done, "kubectl {arguments:?} failed: {message}");
        message
    }

    /// The command must print all of these words.
    fn contains(&self, typed: &str, words: &[&str]) -> String {
        let message = self.ok(typed);
        for word in words {
            assert!(message.contains(word), "kubectl {typed} does not say {word:?}: {message}");
        }
        message
    }

    /// The command must fail, and say why.
    fn fails(&self, typed: &str, why: &str) {
        let (done, message) = self.run(&typed.split_whitespace().collect::<Vec<_>>());
        assert!(!done && message.contains(why), "kubectl {typed} should fail with {why:?}: {message}");
    }

    /// Repeats the command until its output is as wanted.
    fn until(&self, typed: &str, wanted: impl Fn(&str) -> bool) -> String {
        eventually(typed, || Some(self.ok(typed)).filter(|message| wanted(message)))
    }

    /// Writes a file for `-f`.
    fn file(&self, name: &str, text: &str) {
        fs::write(self.folder.join(name), text).unwrap();
    }

    /// Waits until everything in shop is ready, so that there is something to disturb.
    fn settled(&self) {
        for name in ["deploy/web", "deploy/cart", "deploy/search", "ds/agent"] {
            self.ok(&format!("rollout status -n shop {name} --timeout=60s"));
        }
        self.until("get pdb -n shop web -o jsonpath={.status.disruptionsAllowed}", |message| message == "2");
    }
}

impl Drop for KubectlHarness {
    fn drop(&mut self) {
        let _ = self.sandbox.kill();
        let _ = self.sandbox.wait();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

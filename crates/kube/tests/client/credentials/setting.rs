//! Creates a folder with a kubeconfig and its files, and replaces them as kubelets do.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};
use taintward_kube::config::{ConnectSettings, Connected, ProbeError, connect, probe};
use testkit::wait::{let_time_pass, until_true};

/// The timeout of the controller's requests.
pub(super) const REQUEST: Duration = Duration::from_secs(3);

pub(super) struct Setting(PathBuf);

impl Drop for Setting {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Setting {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("taintward-credentials-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// In one step, so that no reader sees half of it.
    pub(super) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path("new"), text).unwrap();
        std::fs::rename(self.path("new"), self.path(name)).unwrap();
    }

    pub(super) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// A plugin; the script finds its folder as `$0`'s. It counts its runs in `runs`.
    pub(super) fn plugin(&self, script: &str) -> String {
        let text = format!("#!/bin/sh\ncd \"$(dirname \"$0\")\"\necho run >> runs\n{script}\n");
        self.write("plugin.sh", &text);
        std::fs::set_permissions(self.path("plugin.sh"), std::fs::Permissions::from_mode(0o755)).unwrap();
        let version = "client.authentication.k8s.io/v1";
        format!("exec: {{apiVersion: {version}, command: ./plugin.sh, interactiveMode: Never}}")
    }

    pub(super) fn runs(&self) -> usize {
        self.read("runs").lines().count()
    }

    /// Clients of a server, as this user. Files have the names they have in the folder.
    pub(super) async fn connect(&self, server: &str, cluster: &str, user: &str) -> Connected {
        let text = format!(
            "{{clusters: [{{name: c, cluster: {{server: '{server}', {cluster}}}}}], \
             users: [{{name: u, user: {{{user}}}}}], \
             contexts: [{{name: x, context: {{cluster: c, user: u}}}}], current-context: x}}"
        );
        self.write("config", &text);
        let settings =
            ConnectSettings { kubeconfig: Some(self.path("config")), ..ConnectSettings::default() };
        connect(&settings).await.unwrap()
    }
}

pub(super) async fn request(connected: &Connected) -> Result<String, ProbeError> {
    probe(&connected.client, REQUEST).await
}

/// Sends a request every 100 ms for so long, and checks each result.
pub(super) async fn meanwhile(
    connected: &Connected,
    length: Duration,
    check: impl Fn(&Result<String, ProbeError>) -> bool,
) {
    let began = Instant::now();
    while began.elapsed() < length {
        let response = request(connected).await;
        assert!(check(&response), "after {:?}: {response:?}", began.elapsed());
        let_time_pass(Duration::from_millis(100), "one request every 100 ms").await;
    }
}

/// Sends requests until one is accepted. Returns how long that took.
pub(super) async fn believed(connected: &Connected, most: Duration) -> Duration {
    let began = Instant::now();
    until_true("a request to be accepted", most, async || request(connected).await.is_ok()).await;
    began.elapsed()
}

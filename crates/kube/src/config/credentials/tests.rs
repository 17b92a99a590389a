//! Tests when credentials are renewed.

use super::*;
use http::header::AUTHORIZATION;
use http::{Request, Response};
use serde_json::json;
use std::future::{Ready, ready};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicI64;
use std::time::Duration;
use taintward_core::time::Wall;
use tokio::time::{Instant, sleep};
use tower::{ServiceExt as _, service_fn};

/// Clients whose requests end in a function of the test, in virtual time.
struct CredentialHarness {
    folder: PathBuf,
    credentials: Credentials,
    /// By how much the wall clock was set, in microseconds.
    steps: Arc<AtomicI64>,
    /// How often connections were opened.
    made: Arc<AtomicU64>,
    accepted: Arc<Mutex<String>>,
}

impl Drop for CredentialHarness {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn config(user: serde_json::Value) -> Config {
    let mut config = Config::new("http://127.0.0.1:1".parse().unwrap());
    config.auth_info = serde_json::from_value(user).unwrap();
    config.root_cert = Some(Vec::new());
    config
}

impl CredentialHarness {
    async fn new(name: &str, token: &str) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let folder = std::env::temp_dir().join(format!("taintward-renewal-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("token"), token).unwrap();
        let steps = Arc::<AtomicI64>::default();
        let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000)).stepped_by(Arc::clone(&steps));
        let config = config(json!({ "tokenFile": folder.join("token") }));
        let credentials = Credentials::start(config, false, clock).await.map_err(|why| why.reason).unwrap();
        let accepted = Arc::new(Mutex::new(token.trim().to_owned()));
        Self { folder, credentials, steps, made: Arc::default(), accepted }
    }

    fn accept(&self, token: &str) {
        *self.accepted.lock().unwrap() = token.to_owned();
    }

    fn write(&self, token: &str) {
        std::fs::write(self.folder.join("new"), token).unwrap();
        std::fs::rename(self.folder.join("new"), self.folder.join("token")).unwrap();
    }

    /// Sends one request. Returns the status of its response.
    async fn request(&self) -> u16 {
        let (made, accepted) = (Arc::clone(&self.made), Arc::clone(&self.accepted));
        let auth = AuthService::new(self.credentials.clone(), move |_: &ClientConfig| {
            made.fetch_add(1, Ordering::Relaxed);
            let accepted = Arc::clone(&accepted);
            service_fn(move |request: Request<()>| -> Ready<Result<Response<()>, BoxError>> {
                let shown = request.headers()[AUTHORIZATION].to_str().unwrap().to_owned();
                let known = shown == format!("Bearer {}", accepted.lock().unwrap());
                let mut response = Response::new(());
                *response.status_mut() = if known { StatusCode::OK } else { StatusCode::UNAUTHORIZED };
                ready(Ok(response))
            })
        });
        auth.oneshot(Request::new(())).await.unwrap().status().as_u16()
    }

    /// Returns how long it takes until the server accepts, with ten requests a second.
    async fn accepted_after(&self) -> Duration {
        let began = Instant::now();
        while self.request().await != 200 {
            assert!(began.elapsed() < Duration::from_secs(120));
            sleep(Duration::from_millis(100)).await;
        }
        began.elapsed()
    }
}

#[tokio::test(start_paused = true)]
async fn a_file_is_read_in_time_even_if_its_old_content_is_not_refused() {
    let rig = CredentialHarness::new("time", "first").await;
    rig.write("second");
    sleep(Duration::from_secs(11)).await;
    rig.accept("second");
    assert_eq!(rig.request().await, 200);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_missing_for_a_minute_changes_nothing() {
    let rig = CredentialHarness::new("missing", "first").await;
    for _ in 0..65 {
        let _ = std::fs::remove_file(rig.folder.join("token"));
        assert_eq!(rig.request().await, 200);
        sleep(Duration::from_secs(1)).await;
    }
    rig.write("");
    sleep(Duration::from_secs(11)).await;
    assert_eq!(rig.request().await, 200, "an empty file changes nothing");
    rig.write("second\n");
    rig.accept("second");
    let took = rig.accepted_after().await;
    assert!(took <= Duration::from_millis(1200), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_wall_clock_that_is_set_back_an_hour_delays_nothing() {
    let rig = CredentialHarness::new("clock", "first").await;
    assert_eq!(rig.request().await, 200);
    for hours in [-1, 1, -1000] {
        rig.steps.fetch_add(hours * 3_600_000_000, Ordering::Relaxed);
        let token = format!("token{hours}");
        rig.write(&token);
        rig.accept(&token);
        let took = rig.accepted_after().await;
        assert!(took <= Duration::from_millis(1200), "{hours}: {took:?}");
    }
}

#[test]
fn a_credential_is_renewed_before_its_end_in_proportion_and_not_all_the_time() {
    let now = Mono::from_secs(1000);
    for (left, pause) in [(3600, 3540), (240, 180), (60, 45), (8, 6), (4, 4), (1, 4), (0, 60), (-3600, 60)] {
        let end = Mono::from_secs(1000 + left);
        assert_eq!(renewal_of(end, now), Mono::from_secs(1000 + pause), "{left}");
    }
    assert_eq!(renewal_of(Mono::NEVER, now), Mono::NEVER.minus(RENEW_BEFORE_EXPIRY));
}

/// In virtual time any program runs too long: as soon as every task waits for it, its timeout is over.
#[tokio::test(start_paused = true)]
async fn a_plugin_is_given_a_minute_and_then_killed() {
    let exec = json!({
        "apiVersion": "client.authentication.k8s.io/v1", "command": "sleep", "args": ["1000"],
    });
    let plugin = ExecPlugin::new(serde_json::from_value(exec).unwrap(), false).unwrap();
    let began = Instant::now();
    let why = plugin.run(&Clock::of_runtime(Wall::from_secs(0))).await.err().unwrap();
    assert!(why.to_string().contains("sleep has not ended within 60s"), "{why}");
    assert_eq!(began.elapsed().as_secs(), 60);
}

//! Tests the health checks of a waiting process.

use super::*;
use crate::admin::Scope;
use crate::settings::{ClusterAccess, ElectionSettings, EnabledControllers, ServingSettings};
use taintward_core::time::Wall;

/// Settings with every controller that can run.
fn settings() -> ControllerSettings {
    let bind_address = std::net::IpAddr::from([127, 0, 0, 1]);
    ControllerSettings {
        cluster: ClusterAccess::default(),
        controllers: EnabledControllers { dedicated_pools: true, ..EnabledControllers::default() },
        exempt_namespaces: Vec::new(),
        mode: WriteMode::Enforce,
        marking: Marking::Always,
        stamp_taints: false,
        eviction_policies: false,
        numeric_operators: false,
        election: Some(ElectionSettings::default()),
        serving: ServingSettings { bind_address, metrics_port: None, secure: None },
        seed: Some(1),
        recorder: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_waits_for_the_api_server_is_alive_and_says_so() {
    let settings = settings();
    let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
    let (health, watches) = (HealthState::new(&settings, &clock, ""), WatchSet::new(&settings));
    let rules = settings.election.as_ref().map(|election| election::rules(election).unwrap());
    let mut startup = StartupState::new(&settings, rules, (&health, &watches), &clock);
    let checks = std::mem::take(&mut startup.checks);
    let down = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<http_body_util::Full<bytes::Bytes>>, _>(std::io::Error::from(
            std::io::ErrorKind::ConnectionRefused,
        ))
    });
    let client = kube::Client::new(down, "default");
    let (_request, mut shutdown) = Shutdown::pair();
    let run_checks = |scope: Scope| {
        let checks = checks.iter().filter(|check| check.scope == scope);
        checks.filter_map(|check| Some((check.name, (check.run)().err()?))).collect::<Vec<_>>()
    };
    let watched = async {
        for second in 0..300 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(run_checks(Scope::Live), [], "{second}");
            let waits = run_checks(Scope::Ready);
            let (_, why) = waits.iter().find(|(name, _)| *name == "api-server").unwrap();
            assert!(second < 4 || why.contains("cannot be reached"), "{why}");
        }
    };
    let waiting = startup.wait(&client, &health, &clock, &mut shutdown);
    tokio::select! {
        _ = waiting => panic!("no response"),
        () = watched => {}
    }
}

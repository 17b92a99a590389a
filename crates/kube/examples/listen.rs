//! Prints the watch events of nodes and pods of the cluster that `$KUBECONFIG` names.
//!
//! - Arguments: seconds to watch (default 60), and `pages` for paged lists. It writes nothing to the cluster.

#![allow(clippy::print_stdout, reason = "telling is its purpose")]

use kube::{Client, Config};
use std::error::Error;
use std::fmt::Debug;
use std::time::Duration;
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::object_event::ObjectEvent;
use taintward_kube::clock::Clock;
use taintward_kube::decode::WatchedObject;
use taintward_kube::watch::{StreamHealth, WatchSettings, Watcher};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, timeout_at};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let seconds = std::env::args().nth(1).map_or(Ok(60), |text| text.parse())?;
    let settings = WatchSettings {
        watch_list: std::env::args().nth(2).as_deref() != Some("pages"),
        ..WatchSettings::default()
    };
    // A provider that is already installed is equally good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut config = Config::infer().await?;
    config.default_retry = false;
    let client = Client::try_from(config)?;
    let until = Instant::now() + Duration::from_secs(seconds);
    tokio::join!(
        print_events::<NodeFact>(client.clone(), settings.clone(), until),
        print_events::<PodFact>(client, settings, until)
    );
    Ok(())
}

async fn print_events<F: WatchedObject + Debug>(client: Client, settings: WatchSettings, until: Instant) {
    let start = Instant::now();
    let (out, mut events) = mpsc::channel(16);
    let (health_out, health) = watch::channel(StreamHealth::default());
    let listener = tokio::spawn(Watcher::<F>::new(client, Clock::system(), settings).run(out, health_out));
    let mut listed = 0_u64;
    while let Ok(Some(batch)) = timeout_at(until, events.recv()).await {
        for event in batch {
            let at = start.elapsed().as_secs_f64();
            match event {
                ObjectEvent::Applied { listed: true, .. } => listed += 1,
                ObjectEvent::ListCompleted => {
                    println!("{at:8.3} {}: SyncEnds after {listed} objects", F::RESOURCE.plural)
                }
                other => println!("{at:8.3} {}: {other:?}", F::RESOURCE.plural),
            }
        }
    }
    println!("{}: {:?}", F::RESOURCE.plural, *health.borrow());
    listener.abort();
}

//! Measures writes in process: creates, patches and lists pods, and prints rates and memory.
//!
//! - The first argument is the number of pods (default 5000); the second, `controllers`, runs all controllers.

#![allow(clippy::print_stdout, reason = "telling is its purpose")]

use fakekube::api::{PatchBody, ResourcePath, WriteOptions};
use fakekube::resource::known;
use fakekube::store::ListRange;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use std::error::Error;
use std::time::{Duration, Instant};
use taintward_sandbox::world::{World, WorldSettings};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let count: usize = std::env::args().nth(1).map_or(Ok(5000), |text| text.parse())?;
    let lives = std::env::args().nth(2).is_some_and(|text| text == "life");
    let roles = if lives { WorldSettings::default().roles } else { Vec::new() };
    let world = World::new(&WorldSettings { nodes: 1, roles, ..WorldSettings::default() });
    let (server, pods) = (world.server(), known("", "pods"));
    let environment: Vec<_> = (0..12)
        .map(|index| json!({"name": format!("SETTING_{index}"), "value": format!("http://service-{index}.shop.svc.cluster.local:8080/v1")}))
        .collect();
    let options = WriteOptions { manager: "load".to_owned(), ..WriteOptions::default() };
    let began = Instant::now();
    for number in 0..count {
        let pod = json!({
            "apiVersion": "v1", "kind": "Pod", "metadata": {"name": format!("p-{number}"), "labels": {"app": "web"}},
            "spec": {"nodeName": "n1", "containers": [
                {"name": "a", "image": "registry.example/a:1", "env": environment, "ports": [{"containerPort": 8080}]},
                {"name": "b", "image": "registry.example/b:1", "env": environment},
            ]},
        });
        server
            .create(&ResourcePath::object(pods, "default", ""), pod, &options)
            .map_err(|failure| failure.message)?;
    }
    println!("creates: {:.0}/s", count as f64 / began.elapsed().as_secs_f64());
    let began = Instant::now();
    for number in 0..count {
        let on = ResourcePath::object(pods, "default", &format!("p-{number}"));
        let patch = PatchBody::Merge(json!({"metadata": {"labels": {"patched": "yes"}}}));
        server.patch(&on, &patch, &options).map_err(|failure| failure.message)?;
    }
    println!("patches: {:.0}/s", count as f64 / began.elapsed().as_secs_f64());
    if lives {
        let (began, mut life) = (Instant::now(), world.life());
        let soon = |wake: Timestamp| wake < Timestamp::now() + SignedDuration::from_secs(2);
        while life.step().is_some_and(soon) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        println!("all run after {:.1} s", began.elapsed().as_secs_f64());
    }
    let listed = server.store().list(pods, ListRange { namespace: None, after: None }, None);
    let bytes: usize = listed.iter().flat_map(|listed| &listed.objects).map(|(_, pod)| pod.json.len()).sum();
    println!("JSON of all pods: {} kB", bytes / 1000);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|line| line.starts_with("VmRSS") || line.starts_with("VmHWM")) {
        println!("{line}");
    }
    Ok(())
}

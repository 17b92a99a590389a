//! Serves a sandbox over plain HTTP.

#![allow(clippy::print_stdout, reason = "telling is its purpose")]

use fakekube::serve::ApiListener;
use std::error::Error;
use taintward_sandbox::demo_workloads;
use taintward_sandbox::world::{World, WorldSettings};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "127.0.0.1:0".to_owned()).parse()?;
    let world = World::new(&WorldSettings::default());
    demo_workloads::furnish(&world);
    let listening = ApiListener::open(address, false).await?;
    println!("{}\nauthorization: Bearer {}", listening.url(), world.server().token().text());
    let life = tokio::spawn(world.life().run());
    listening.serve(world.server().clone()).await;
    life.abort();
    Ok(())
}

//! placeholder
#[derive(clap::Args)]
pub(crate) struct Arguments {}
pub(crate) async fn run(_: &Arguments) -> anyhow::Result<()> {
    Ok(())
}

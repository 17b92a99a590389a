//! Asks before `taintward run` changes a cluster, if a user starts it on a terminal: the kubeconfig may name another
//! cluster than intended.
//!
//! - Without a terminal, inside a cluster, and with an explicit `--mode`, it does not ask.

use super::RunOptions;
use crate::confirm;
use crate::output::wrap;
use crate::stderr;
use std::io;
use taintward_controller::settings::EnabledControllers;
use taintward_kube::config::connect;

/// The width of the lines on standard error.
const WIDTH: usize = 80;

/// Whether the process may start.
pub(super) async fn is_confirmed(options: &RunOptions) -> io::Result<bool> {
    let in_cluster = std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    if !options.needs_confirmation || in_cluster || !confirm::is_possible() {
        return Ok(true);
    }
    // An error of the configuration appears when the controllers start.
    let Ok(cluster) = connect(&options.settings.cluster.connection()).await else { return Ok(true) };
    for line in wrap(&question(&cluster.where_from, &options.settings.controllers), WIDTH) {
        stderr::line("", line);
    }
    confirm::prompt()
}

fn question(cluster: &str, controllers: &EnabledControllers) -> String {
    let what = match controllers.taint_eviction || controllers.toleration_guard.is_some() {
        true => "evicts pods of",
        false => "changes nodes or pods of",
    };
    format!(
        "This process {what} the cluster of {cluster}. With --mode=observe, it only watches; with --mode=enforce, it \
         does not ask."
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_names_the_cluster_and_what_the_controllers_do() {
        let evicts = question("context \"prod\"", &EnabledControllers::default());
        assert!(
            evicts.starts_with("This process evicts pods of the cluster of context \"prod\"."),
            "{evicts}"
        );
        let none = EnabledControllers { taint_eviction: false, ..EnabledControllers::default() };
        assert!(question("x", &none).starts_with("This process changes nodes or pods of the cluster of x."));
    }
}

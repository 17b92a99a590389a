//! # Metrics: `/metrics`
//! Room:     what is counted of the store, in the names of a real server.
//! Comes in: the server.
//! Goes out: Prometheus' text.
//! Not here: requests, which nobody counts; Taintward's own metrics (`--without taintward` and `taintward run`).

use super::answer::Answer;
use super::discovery;
use crate::api::Server;
use crate::resource::Number;
use std::fmt::Write as _;

/// All of them.
pub(super) fn answer(server: &Server) -> Answer {
    let version = discovery::version();
    let mut text = "# HELP apiserver_resource_objects [ALPHA] Number of stored objects at the time of last check split by kind.\n\
                    # TYPE apiserver_resource_objects gauge\n"
        .to_owned();
    for number in Number::all().filter(|number| number.get().kept && number.home() == *number) {
        let (resource, count) = (number.get(), server.store().count(number));
        let (group, plural) = (resource.group, resource.plural);
        let _ =
            writeln!(text, "apiserver_resource_objects{{group=\"{group}\",resource=\"{plural}\"}} {count}");
    }
    text.push_str(
        "# HELP kubernetes_build_info [BETA] A metric with a constant '1' value labeled by major, minor, git \
         version, git commit, git tree state, build date, Go version, and compiler from which Kubernetes was built, \
         and platform on which it is running.\n# TYPE kubernetes_build_info gauge\n",
    );
    let labels = [
        ("build_date", "buildDate"),
        ("compiler", "compiler"),
        ("git_commit", "gitCommit"),
        ("git_tree_state", "gitTreeState"),
        ("git_version", "gitVersion"),
        ("go_version", "goVersion"),
        ("major", "major"),
        ("minor", "minor"),
        ("platform", "platform"),
    ];
    let labels: Vec<String> =
        labels.iter().map(|(label, field)| format!("{label}={}", version[*field])).collect();
    let _ = writeln!(text, "kubernetes_build_info{{{}}} 1", labels.join(","));
    Answer::metrics(text)
}

//! Formats failures of single nodes, and of several, in kubectl's words (KT-7).

use crate::output::harmless;
use std::fmt::Write as _;
use taintward_kube::node_client::{ApiFailureStatus, NodeRequestError};

/// Why a node was not changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NodeWriteError {
    /// The server rejected the change.
    Status(Box<ApiFailureStatus>),
    /// One or more reasons.
    Reasons(Vec<String>),
    /// The server did not respond.
    Silent(String),
}

impl From<NodeRequestError> for NodeWriteError {
    fn from(complaint: NodeRequestError) -> Self {
        match complaint {
            NodeRequestError::Status(status) => Self::Status(status),
            NodeRequestError::NoResponse(error) => Self::Silent(error.message),
        }
    }
}

/// The printed errors: a single one has a heading, several are listed without (KT-10).
pub(super) fn report(failures: &[NodeWriteError]) -> String {
    let mut text = String::new();
    let mut line = |line: String| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{}", harmless(&line));
    };
    match failures {
        [NodeWriteError::Status(status)] if status.reason == "Invalid" && !status.kind.is_empty() => {
            return invalid(status);
        }
        [NodeWriteError::Status(status)] => line(server(status)),
        [NodeWriteError::Reasons(reasons)] if reasons.len() > 1 => {
            reasons.iter().for_each(|why| line(why.clone()))
        }
        [NodeWriteError::Silent(why)] => line(format!("error: {why}")),
        [NodeWriteError::Reasons(reasons)] => line(format!("error: {}", reasons.concat())),
        several => several.iter().for_each(|failure| line(one_line(failure))),
    }
    text
}

fn server(status: &ApiFailureStatus) -> String {
    let ApiFailureStatus { reason, message, .. } = status;
    match reason.as_str() {
        "Unauthorized" => format!("error: You must be logged in to the server ({message})"),
        "" => format!("Error from server: {message}"),
        _ => format!("Error from server ({reason}): {message}"),
    }
}

/// One line for each of several errors; equal reasons count once.
fn one_line(failure: &NodeWriteError) -> String {
    match failure {
        NodeWriteError::Status(status) => server(status),
        NodeWriteError::Silent(why) => why.clone(),
        NodeWriteError::Reasons(reasons) => {
            let mut distinct: Vec<&str> = Vec::new();
            for reason in reasons {
                if !distinct.contains(&reason.as_str()) {
                    distinct.push(reason);
                }
            }
            match distinct.as_slice() {
                [one] => (*one).to_owned(),
                several => format!("[{}]", several.join(", ")),
            }
        }
    }
}

fn invalid(status: &ApiFailureStatus) -> String {
    let head = harmless(&format!("The {} \"{}\" is invalid", status.kind, status.name));
    let mut causes: Vec<String> = Vec::new();
    for (field, message) in &status.causes {
        let cause = harmless(&format!("{field}: {message}"));
        if !causes.contains(&cause) {
            causes.push(cause);
        }
    }
    match causes.as_slice() {
        [] => format!("{head}\n"),
        [one] => format!("{head}: {one}\n"),
        several => several.iter().fold(format!("{head}: \n"), |text, cause| text + "* " + cause + "\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(reason: &str, causes: &[(&str, &str)]) -> NodeWriteError {
        let causes = causes.iter().map(|(field, why)| ((*field).to_owned(), (*why).to_owned())).collect();
        let [kind, name, message] = ["Node", "n1", "no"].map(str::to_owned);
        NodeWriteError::Status(Box::new(ApiFailureStatus {
            code: 422,
            reason: reason.to_owned(),
            message,
            kind,
            name,
            causes,
        }))
    }

    fn reasons(reasons: &[&str]) -> NodeWriteError {
        NodeWriteError::Reasons(reasons.iter().map(|&reason| reason.to_owned()).collect())
    }

    #[test]
    fn one_failure_has_a_heading_and_several_have_none() {
        assert_eq!(report(&[reasons(&["a"])]), "error: a\n");
        assert_eq!(report(&[reasons(&["a", "b", "a"])]), "a\nb\na\n");
        assert_eq!(report(&[reasons(&["a"]), reasons(&["b", "c", "b"])]), "a\n[b, c]\n");
        assert_eq!(
            report(&[reasons(&["b", "b"]), status("NotFound", &[])]),
            "b\nError from server (NotFound): no\n"
        );
        assert_eq!(report(&[status("", &[])]), "Error from server: no\n");
        assert_eq!(
            report(&[status("Unauthorized", &[])]),
            "error: You must be logged in to the server (no)\n"
        );
    }

    #[test]
    fn invalid_fields_are_listed_one_by_one() {
        assert_eq!(report(&[status("Invalid", &[])]), "The Node \"n1\" is invalid\n");
        assert_eq!(
            report(&[status("Invalid", &[("a", "x"), ("a", "x")])]),
            "The Node \"n1\" is invalid: a: x\n"
        );
        assert_eq!(
            report(&[status("Invalid", &[("a", "x"), ("b", "y")])]),
            "The Node \"n1\" is invalid: \n* a: x\n* b: y\n"
        );
        assert_eq!(
            report(&[status("Invalid", &[("a", "x")]), reasons(&["z"])]),
            "Error from server (Invalid): no\nz\n"
        );
    }
}

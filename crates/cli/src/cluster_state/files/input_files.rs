//! Sorts the files that `plan -f` names into the cluster's state and nodes as they would be.

use super::state_object::{StateObjectKind, each_object};
use crate::manifest::files::each;
use std::path::PathBuf;

/// The files that `-f` names, by purpose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputFiles {
    /// Files with the cluster's state.
    pub(crate) state: Vec<PathBuf>,
    /// Files with desired nodes.
    pub(crate) changes: Vec<PathBuf>,
}

/// Sorts the files of `plan -f`. A file with only nodes describes desired nodes if the state comes from elsewhere: from
/// another file that has nodes too, or, because no file has pods, from a cluster.
pub(crate) fn sort(paths: &[PathBuf]) -> InputFiles {
    let contents: Vec<(&PathBuf, FileContent)> = paths.iter().map(|path| (path, content(path))).collect();
    let state_elsewhere = match contents.iter().any(|(_, content)| content.others) {
        true => contents.iter().any(|(_, content)| content.others && content.nodes),
        false => true,
    };
    let mut given = InputFiles { state: Vec::new(), changes: Vec::new() };
    for (path, content) in contents {
        let is_change = content.nodes && !content.others && state_elsewhere;
        if is_change { &mut given.changes } else { &mut given.state }.push(path.clone());
    }
    given
}

/// The kinds of content of a file or folder.
#[derive(Clone, Copy, Debug, Default)]
struct FileContent {
    nodes: bool,
    others: bool,
}

/// Standard input can be read only once, and is the cluster's state.
fn content(path: &PathBuf) -> FileContent {
    if path.as_os_str() == "-" {
        return FileContent { nodes: true, others: true };
    }
    let mut content = FileContent::default();
    each(std::slice::from_ref(path), &mut |found| match found.text {
        Ok(text) => {
            let FileContent { nodes, others } = content_of(&text);
            content.nodes |= nodes;
            content.others |= others;
        }
        Err(_) => content.others = true,
    });
    content
}

/// The kinds of content of a text; broken documents count as other objects.
fn content_of(text: &str) -> FileContent {
    let mut content = FileContent::default();
    let faults = each_object(text, &mut |object| match object.kind() {
        Some(StateObjectKind::Node) => content.nodes = true,
        _ => content.others = true,
    });
    content.others |= !faults.is_empty();
    content
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_what_is_in_it() {
        let of = |text: &str| {
            let content = content_of(text);
            (content.nodes, content.others)
        };
        let node = "{apiVersion: v1, kind: Node, metadata: {name: n1}}\n---\n";
        assert_eq!(of(node), (true, false));
        assert_eq!(
            of(&format!("{node}{{apiVersion: v1, kind: Pod, metadata: {{name: p}}}}\n")),
            (true, true)
        );
        assert_eq!(of("{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod}]}"), (false, true));
        assert_eq!(of("a: ["), (false, true), "a broken file does not describe nodes");
    }
}

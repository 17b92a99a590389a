//! Tests where documents begin, what the items of lists are, and repeated fields.

use super::super::documents::parts;
use super::*;

/// `Pod a`, or only a space for a tree without a kind.
fn names(text: &str) -> Vec<String> {
    let (all, faults) = trees(text);
    assert_eq!(faults, [], "{text}");
    let name = |tree: &YamlNode| {
        tree.at(&["metadata", "name"]).map(YamlNode::as_text).unwrap_or_default().to_owned()
    };
    all.iter().map(|tree| format!("{} {}", tree.text("kind"), name(tree))).collect()
}

#[test]
fn values_of_json_may_follow_each_other() {
    let pod = |name: &str| format!("{{\"kind\": \"Pod\", \"metadata\": {{\"name\": \"{name}\"}}}}");
    let (a, b) = (pod("a"), pod("b"));
    for between in ["", "\n", " ", "\r\n\r\n", "\n---\n", "---\n\u{feff}", "\u{feff}", "\n\u{feff}\n"] {
        if between == "---\n\u{feff}" {
            continue;
        }
        assert_eq!(
            names(&format!("{a}{between}{b}{between}{a}\n")),
            ["Pod a", "Pod b", "Pod a"],
            "{between:?}"
        );
    }
    let pretty = "{\n \"kind\": \"Pod\",\n \"metadata\": {\"name\": \"a\"}\n}";
    assert_eq!(names(&format!("{pretty}{pretty}")), ["Pod a", "Pod a"]);
    assert_eq!(
        names(&format!("kind: Pod\n---\n{a}\n{b}\n---\nkind: Node\n")),
        ["Pod ", "Pod a", "Pod b", "Node "]
    );
    let (all, faults) = trees(&format!("{a}\n{{\"kind\": \"Pod\", "));
    assert_eq!(
        (all.len(), faults.len(), faults[0].at.line >= 2),
        (1, 1, true),
        "the last one is cut off: {faults:?}"
    );
}

#[test]
fn a_byte_order_mark_begins_a_document() {
    let yaml = "kind: Pod\nmetadata: {name: a}\n";
    for text in [
        format!("\u{feff}{yaml}---\n{yaml}"),
        format!("\u{feff}{yaml}---\n\u{feff}{yaml}"),
        format!("\u{feff}{yaml}\u{feff}{yaml}"),
        format!("\u{feff}{yaml}\u{feff}---\n{yaml}"),
    ] {
        assert_eq!(names(&text), ["Pod a", "Pod a"], "{text:?}");
        assert_eq!(names(&text.replace('\n', "\r\n")), ["Pod a", "Pod a"], "{text:?}");
    }
}

#[test]
fn positions_are_those_of_the_whole_text() {
    let (all, _) = trees("{\"a\": 1}\n{\"b\": 1} {\"c\":\n1}\n\u{feff}d: 1\n---\ne: 1\n");
    let keys = all.iter().map(|tree| (&*tree.entries()[0].key, tree.entries()[0].key_span.from));
    let at = |line, column| TextPosition { line, column };
    let expected = [("a", at(1, 2)), ("b", at(2, 2)), ("c", at(2, 11)), ("d", at(4, 1)), ("e", at(6, 1))];
    assert_eq!(keys.collect::<Vec<_>>(), expected);
}

#[test]
fn items_have_the_kind_of_their_list_wherever_it_stands() {
    let item = "{metadata: {name: a}}";
    for list in [
        format!("{{apiVersion: v1, kind: PodList, items: [{item}, {item}]}}"),
        format!("{{items: [{item}, {item}], kind: PodList, apiVersion: v1}}"),
        format!("{{apiVersion: v1, items: [{item}, {item}], kind: PodList}}"),
        format!("{{kind: PodList, items: [{item}, {item}], apiVersion: v1}}"),
        format!("{{apiVersion: v1, items: [{item}, {{kind: null, metadata: {{name: a}}}}], kind: PodList}}"),
        format!(
            "{{apiVersion: v1, kind: List, items: [{{items: [{item}, {item}], kind: PodList, apiVersion: v1}}]}}"
        ),
    ] {
        let (all, faults) = trees(&list);
        let kinds: Vec<_> = all.iter().map(|tree| (tree.text("apiVersion"), tree.text("kind"))).collect();
        assert_eq!((kinds, faults), (vec![("v1", "Pod"); 2], Vec::new()), "{list}");
    }
    let own = "{items: [{metadata: {name: a}}, {apiVersion: v1, kind: Node, metadata: {name: b}}], kind: PodList, apiVersion: v1}";
    assert_eq!(names(own), ["Pod a", "Node b"], "in their order, with their own kinds");
    assert_eq!(names("{items: [{kind: Pod, metadata: {name: a}}], kind: List}"), ["Pod a"]);
    assert_eq!(names("{items: [{metadata: {name: a}}]}"), [" a"], "a list without a kind");
}

#[test]
fn items_with_a_kind_do_not_wait_for_that_of_the_list() {
    // The list is broken after its items: those before are known already.
    let (all, faults) = trees(
        "apiVersion: v1\nitems:\n- {apiVersion: v1, kind: Pod}\n- {apiVersion: v1, kind: Pod}\nkind: [\n",
    );
    assert_eq!((all.len(), faults.len()), (2, 1));
}

#[test]
fn repeated_fields_are_known_with_their_path() {
    let repeated = |text: &str| -> Vec<(String, u32, u32)> {
        let (all, faults) = trees(text);
        assert_eq!(faults, [], "{text}");
        let fields = all.iter().flat_map(YamlNode::repeated);
        fields.map(|one| (one.path, one.earlier.line, one.entry.key_span.from.line)).collect()
    };
    assert_eq!(
        repeated("a: 1\nb:\n- {c: 1,\n   c: 2}\na: 2\na: 3\n"),
        [("b[0].c".to_owned(), 3, 4), ("a".to_owned(), 1, 5), ("a".to_owned(), 5, 6)]
    );
    assert_eq!(repeated("a: &a {x: 1}\nb: {<<: *a, <<: *a, x: 2}\n"), []);
    assert_eq!(repeated("kind: List\nkind: PodList\nitems: []\n"), [("kind".to_owned(), 1, 2)]);
    assert_eq!(repeated("{\"a\": 1, \"a\": 2}"), [("a".to_owned(), 1, 1)]);
}

/// The search for a mark from each document to the end took minutes for this text.
#[test]
fn a_search_for_documents_reads_the_text_once() {
    let stream = "a: 1\n---\n".repeat(100_000);
    let from = TextPosition { line: 1, column: 1 };
    let begin = std::time::Instant::now();
    assert_eq!(parts(&stream, from).len(), 1);
    assert_eq!(parts(&format!("{stream}\n\u{feff}{stream}"), from).len(), 2);
    let took = begin.elapsed();
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
}

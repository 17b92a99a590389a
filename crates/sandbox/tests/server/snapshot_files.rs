//! Tests huge, broken and hostile snapshot files.

use fakekube::object_file::FileReadError;
use fakekube::resource::known;
use serde_json::json;
use std::time::{Duration, Instant};
use taintward_sandbox::snapshot::{LoadResult, SnapshotError, load, save};
use taintward_sandbox::world::{World, WorldSettings};

/// Long enough for a busy machine, too short for unbounded work.
const SOON: Duration = Duration::from_secs(30);

fn empty() -> World {
    World::new(&WorldSettings { nodes: 0, roles: Vec::new(), ..WorldSettings::default() })
}

fn loaded(text: impl AsRef<[u8]>) -> Result<LoadResult, SnapshotError> {
    let began = Instant::now();
    let loaded = load(empty().server(), text.as_ref());
    assert!(began.elapsed() < SOON, "it took {:?}", began.elapsed());
    loaded
}

/// The error for an unusable file: one line of bounded length, for a terminal.
fn rejected(text: impl AsRef<[u8]>) -> String {
    let why = loaded(text).unwrap_err().to_string();
    assert!(why.len() < 600 && !why.contains(char::is_control), "{why:?}");
    why
}

const LIST: &str = "apiVersion: v1\nkind: List\n";

#[test]
fn aliases_that_multiply_are_refused() {
    let mut laughs = format!("{LIST}a: &a [x, x, x, x, x, x, x, x, x, x]\n");
    for (name, of) in
        ["b", "c", "d", "e", "f", "g", "h", "i"].iter().zip(["a", "b", "c", "d", "e", "f", "g", "h"])
    {
        laughs += &format!("{name}: &{name} [{}]\n", vec![format!("*{of}"); 10].join(", "));
    }
    assert!(rejected(&laughs).contains("neither JSON nor YAML"));
    // One long text with many aliases: 100 GB if each were expanded.
    let long = "x".repeat(1 << 20);
    let many = vec!["*a"; 100_000].join(",");
    assert!(
        rejected(format!("{LIST}items:\n- a: &a {long}\n  b: [{many}]\n"))
            .contains("larger than any API server")
    );
    let each = "- *a\n".repeat(100_000);
    assert!(rejected(format!("{LIST}long: &a {long}\nmany:\n{each}")).contains("larger than any API server"));
}

#[test]
fn depth_is_limited() {
    let (open, close) = ("[".repeat(200_000), "]".repeat(200_000));
    let maps = "{\"a\":".repeat(100_000);
    let mut block = String::new();
    for depth in 0..2_000 {
        block += &format!("{}a:\n", " ".repeat(depth));
    }
    for text in [
        format!("{open}{close}"),
        format!("{{\"kind\":\"List\",\"items\":{open}{close}}}"),
        format!("{{\"kind\":\"List\",\"items\":[{maps}1{}]}}", "}".repeat(100_000)),
        format!("{LIST}items: {open}{close}\n"),
        format!("{LIST}{block}"),
    ] {
        let why = rejected(&text);
        assert!(why.contains("neither JSON nor YAML"), "{why}");
    }
}

#[test]
fn a_refusal_of_binary_data_names_its_first_wrong_byte() {
    assert_eq!(rejected([0x1f, 0x8b, 8, 0]), FileReadError::Compressed.to_string());
    assert!(rejected([b"kind: List\n".as_slice(), &[0xff, 0xfe]].concat()).contains("byte 11 is 0xff"));
    assert!(rejected(b"kind: List\0items: []").contains("byte 10 is 0x00"));
    let noise: Vec<u8> = (0_u32..1 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    assert!(rejected(noise).contains("it is not text: byte 0 is 0x00"));
}

#[test]
fn what_is_cut_off_is_refused() {
    let world = World::new(&WorldSettings::default());
    let file = save(world.server());
    let why = rejected(&file[..file.len() / 2]);
    assert!(why.contains("neither JSON nor YAML") && why.contains("line"), "{why}");
    assert!(rejected(format!("{LIST}items:\n- kind: \"Nod")).contains("neither JSON nor YAML"));
    assert!(
        rejected(format!("{LIST}items:\n- {{kind: Node, metadata: {{name: a")).contains("begins in line 1")
    );
}

#[test]
fn files_without_usable_objects_get_specific_errors() {
    for nothing in ["", "\n\n", "# nothing\n", "hello", "a: b\n", "{}", "kind: 7\n"] {
        assert_eq!(loaded(nothing), Err(SnapshotError::Unread(FileReadError::NoObjects)), "{nothing:?}");
    }
    for wrong in ["items: 7\n", "items: {a: b}\n", "items: word\n"] {
        assert!(rejected(format!("{LIST}{wrong}")).contains("a list of objects as items"), "{wrong}");
    }
    let kinds = "items:\n- 7\n- []\n- {}\n- {apiVersion: v1, kind: 7}\n- {apiVersion: v9, kind: Pod, metadata: {name: p}}\n";
    let why = rejected(format!("{LIST}{kinds}"));
    assert!(why.contains("none of its 5 objects") && why.contains("item 1: it is not an object"), "{why}");
    assert_eq!(loaded(format!("{LIST}items: []\n")).unwrap(), LoadResult::default());
}

#[test]
fn objects_that_cannot_be_are_left_out_and_named() {
    let long = "a".repeat(300);
    let escape = "\\e[31m\\u0007";
    let text = format!(
        "{LIST}items:\n\
         - {{apiVersion: v1, kind: Node, metadata: {{name: good}}}}\n\
         - {{apiVersion: v1, kind: Node, metadata: {{name: good, labels: {{second: 'yes'}}}}}}\n\
         - {{apiVersion: v1, kind: Node, metadata: {{name: ../../etc}}}}\n\
         - {{apiVersion: v1, kind: Node, metadata: {{name: Upper}}}}\n\
         - {{apiVersion: v1, kind: Node, metadata: {{name: {long}}}}}\n\
         - {{apiVersion: v1, kind: Node, metadata: {{name: \"{escape}\"}}}}\n\
         - {{apiVersion: v1, kind: Pod, metadata: {{name: p, namespace: \"no/way\"}}}}\n\
         - {{apiVersion: v1, kind: Node, metadata: {{name: n, namespace: default}}}}\n\
         - {{apiVersion: v1, kind: Node, metadata: [name]}}\n\
         - {{apiVersion: v1, kind: Pod, metadata: {{name: q, namespace: default}}, spec: 7}}\n"
    );
    let world = empty();
    let done = load(world.server(), text.as_bytes()).unwrap();
    assert_eq!((done.objects, done.left_out_count), (1, 9), "{:#?}", done.left_out);
    assert!(done.left_out[0].contains("item 2: Node good: it is a duplicate"), "{:#?}", done.left_out);
    assert!(done.left_out.iter().all(|why| !why.contains(char::is_control) && why.len() < 700));
    let node = world.server().get(known("", "nodes"), "", "good").unwrap();
    assert!(node["metadata"]["labels"]["second"].is_null(), "the first one counts");
    assert_eq!(world.server().store().count(known("", "nodes")), 1);
}

#[test]
fn several_documents_are_one_snapshot() {
    let text = "---\n# the first\napiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\n\n---\n\
                {\"apiVersion\":\"v1\",\"kind\":\"NodeList\",\"items\":[{\"metadata\":{\"name\":\"b\"}}]}\n...\n";
    assert_eq!(loaded(text).unwrap().objects, 2);
    let why = rejected(format!("{text}---\nkind: [\n"));
    assert!(why.contains("begins in line 12"), "{why}");
}

#[test]
fn one_object_may_not_be_larger_than_an_api_server_takes() {
    let big = "x".repeat(19 << 20);
    let two = format!("{{\"kind\":\"List\",\"items\":[{{\"a\":\"{big}\",\"b\":[]}}]}}");
    assert!(loaded(&two).is_err(), "without a kind");
    let nulls = "null,".repeat(3 << 20);
    let text = format!("{{\"kind\":\"List\",\"items\":[{{\"a\":[{nulls}1]}}]}}");
    assert!(rejected(&text).contains("larger than any API server takes"));
}

#[test]
fn a_huge_list_of_small_objects_is_taken_one_by_one() {
    let pod = |number: usize| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("c{number}"), "namespace": "default"},
            "data": {"a": "x".repeat(9_000)},
        })
    };
    let items: Vec<String> = (0..2_000).map(|number| pod(number).to_string()).collect();
    let json = format!("{{\"apiVersion\":\"v1\",\"kind\":\"List\",\"items\":[{}]}}", items.join(",\n"));
    assert!(json.len() > 17 << 20);
    assert_eq!(loaded(&json).unwrap().objects, 2_000);
    let yaml =
        format!("{LIST}items:\n{}", items.iter().map(|item| format!("- {item}\n")).collect::<String>());
    assert_eq!(loaded(&yaml).unwrap().objects, 2_000);
}

//! Tests limits, aliases, merges, positions, documents and files.

use super::files::{ManifestFile, ManifestFileError};
use super::*;
use proptest::prelude::*;
use serde_json::Value;
use std::path::PathBuf;

mod documents;

/// How a document is written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spelling {
    Json,
    PrettyJson,
    /// YAML with indentation.
    Block,
    /// YAML in braces, with plain scalars.
    Flow,
}

/// Writes a document with the fields of each map in an order that depends on `order`.
pub(crate) fn spelled(document: &Value, spelling: Spelling, order: u64) -> String {
    let mut text = String::new();
    spell(document, spelling, order, 0, &mut text);
    text + "\n"
}

fn spell(value: &Value, spelling: Spelling, order: u64, depth: usize, text: &mut String) {
    let is_block = matches!(spelling, Spelling::Block);
    let (line, next) = match spelling {
        Spelling::PrettyJson | Spelling::Block => ("\n".to_owned() + &"  ".repeat(depth), "  "),
        Spelling::Json | Spelling::Flow => (String::new(), ""),
    };
    let (open, close, separator) = if is_block { ("", "", "") } else { ("", line.as_str(), ",") };
    match value {
        Value::Object(fields) if !(is_block && fields.is_empty()) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| {
                let letters = name.bytes().fold(order, |sum, letter| {
                    sum.rotate_left(9) ^ u64::from(letter).wrapping_mul(order | 1)
                });
                letters.wrapping_mul(0x9e37_79b9_7f4a_7c15)
            });
            *text += if is_block { "" } else { "{" };
            for (at, (name, field)) in fields.into_iter().enumerate() {
                *text += if at > 0 { separator } else { open };
                *text += &format!("{line}{next}{}: ", serde_json::to_string(name).unwrap());
                spell(field, spelling, order, depth + 1, text);
            }
            *text += if is_block { "" } else { close };
            *text += if is_block { "" } else { "}" };
        }
        Value::Array(items) if !(is_block && items.is_empty()) => {
            *text += if is_block { "" } else { "[" };
            for (at, item) in items.iter().enumerate() {
                *text += if at > 0 { separator } else { open };
                *text += &format!("{line}{next}{}", if is_block { "- " } else { "" });
                spell(item, spelling, order, depth + 1, text);
            }
            *text += if is_block { "" } else { close };
            *text += if is_block { "" } else { "]" };
        }
        Value::String(plain) if matches!(spelling, Spelling::Flow) && is_plain(plain) => *text += plain,
        Value::Null if is_block => *text += "~",
        scalar => *text += &scalar.to_string(),
    }
}

/// Whether YAML reads it as this text without quotes.
fn is_plain(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric() || "./-".contains(letter))
        && matches!(scalar::plain(text), YamlValue::Text(_))
}

fn trees(text: &str) -> (Vec<YamlNode>, Vec<ParseError>) {
    let mut all = Vec::new();
    let faults = each(text, |tree| all.push(tree.clone()));
    (all, faults)
}

fn one(text: &str) -> YamlNode {
    let (mut all, faults) = trees(text);
    assert_eq!((all.len(), faults), (1, Vec::new()), "{text}");
    all.remove(0)
}

#[test]
fn fields_are_found_by_name_and_merged_ones_where_none_is_written() {
    let tree = one("base: &b {a: 1, c: 2}\nmore: &m {a: 5, d: 4}\nall:\n  <<: [*b, *m]\n  c: 3\n");
    let all = tree.get("all").unwrap();
    assert_eq!(["a", "c", "d", "e"].map(|name| all.text(name)), ["1", "3", "4", ""]);
    assert_eq!(all.names().map(|entry| &*entry.key).collect::<Vec<_>>(), ["c"]);
    let twice = one("a: 1\na: 2\nb: null\nc:\n");
    assert_eq!((twice.text("a"), twice.get("b"), twice.get("c")), ("2", None, None));
}

#[test]
fn places_count_from_one_in_characters() {
    let tree = one("\u{feff}# ä\nä: {b: \"ü\", c: x}\nd:\n- e\n- f: |\n    g\n");
    let at = |tree: &YamlNode| (tree.span.from, tree.span.to);
    let mark = |line, column| TextPosition { line, column };
    assert_eq!(at(tree.at(&["ä", "c"]).unwrap()), (mark(2, 16), mark(2, 17)));
    assert_eq!(at(tree.at(&["ä", "b"]).unwrap()), (mark(2, 8), mark(2, 11)));
    assert_eq!(at(&tree.get("d").unwrap().items()[0]), (mark(4, 3), mark(4, 4)));
    assert_eq!(tree.entries()[1].key_span.from, mark(3, 1));
}

/// A value of nine copies of a value of nine copies, and so on.
fn nested(levels: usize) -> String {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..levels {
        let many = vec![format!("*a{}", level - 1); 9].join(", ");
        text += &format!("a{level}: &a{level} [{many}]\n");
    }
    text
}

#[test]
fn aliases_are_not_copied_and_count_with_all_they_stand_for() {
    assert_eq!(one(&nested(3)).get("a2").unwrap().items().len(), 9);
    // Nine levels: four hundred million nodes for a reader that follows them.
    let (all, faults) = trees(&(nested(10) + "---\nb: c\n"));
    assert_eq!((all.len(), faults.len()), (1, 1), "the document after it is read");
    assert!(faults[0].why.contains("more elements"), "{faults:?}");
    // A value that contains itself is null at the inner place.
    assert_eq!(one("a: &a [*a, b]\n").get("a").unwrap().items()[0].value, YamlValue::Null);
    assert_eq!(trees("a: *nowhere\n").1.len(), 1);
}

#[test]
fn depth_and_size_are_bounded() {
    for text in ["[".repeat(100_000), "- ".repeat(100_000), "{\"a\":".repeat(100_000)] {
        let (all, faults) = trees(&text);
        assert_eq!((all.len(), faults.len()), (0, 1));
    }
    let (all, faults) = trees(&format!("a: [{}]\n---\nb: c\n", "x,".repeat(PIECES_MAX + 1)));
    assert_eq!((all.len(), faults.len()), (1, 1), "the document after it is read");
    assert!(faults[0].why.contains("more elements"), "{faults:?}");
    // The limit applies to each item of a list separately.
    let items = "- {kind: Pod, a: [x, x, x, x, x, x, x, x, x, x]}\n".repeat(PIECES_MAX / 5);
    let (all, faults) = trees(&format!("kind: List\nitems:\n{items}"));
    assert_eq!((all.len(), faults.len()), (PIECES_MAX / 5, 0));
}

#[test]
fn documents_are_passed_one_by_one_without_empty_ones() {
    assert_eq!(trees("---\n# nothing\n---\na: 1\n---\n---\nb: 2\n...\n").0.len(), 2);
    assert_eq!(trees("").0.len(), 0);
    let (all, faults) = trees("a: 1\n---\nb: ]\n---\nc: 3\n");
    assert_eq!(all.iter().map(|tree| &*tree.entries()[0].key).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(faults[0].at, TextPosition { line: 3, column: 4 });
}

#[test]
fn json_of_api_servers_is_read_as_the_same_tree() {
    let text = r#"{"a": "é \"x\" \ud83d\ude00", "b": [1, -2.5, true, null], "c": {}}"#;
    let mut written = one(text);
    let from_serde: YamlNode = serde_json::from_str(text).unwrap();
    fn forget(tree: &mut YamlNode) {
        tree.span = TextSpan::default();
        match &mut tree.value {
            YamlValue::List(items) => Rc::make_mut(items).iter_mut().for_each(forget),
            YamlValue::Map(entries) => Rc::make_mut(entries).iter_mut().for_each(|entry| {
                entry.key_span = TextSpan::default();
                forget(&mut entry.value);
            }),
            _ => {}
        }
    }
    forget(&mut written);
    assert_eq!(written, from_serde);
}

/// A folder that is removed after the test.
struct ManifestFolder(PathBuf);

impl ManifestFolder {
    fn named(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("taintward-manifest-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn read(&self, names: &[&str]) -> Vec<(String, Result<String, ManifestFileError>)> {
        let paths: Vec<PathBuf> = names.iter().map(|name| self.0.join(name)).collect();
        let mut found = Vec::new();
        files::each(&paths, &mut |ManifestFile { name, text }| {
            let short =
                name.trim_start_matches(&self.0.display().to_string()).trim_start_matches('/').to_owned();
            found.push((short, text));
        });
        found
    }
}

impl Drop for ManifestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn folders_are_read_in_order_without_hidden_and_other_files() {
    let folder = ManifestFolder::named("folders");
    for name in ["b/z.yml", "b/a.yaml", "a.json", "c.txt", ".git/x.yaml", "b/.hidden.yaml"] {
        folder.write(name, b"a: 1\n");
    }
    std::os::unix::fs::symlink(&folder.0, folder.0.join("b/loop")).unwrap();
    std::fs::create_dir(folder.0.join("empty")).unwrap();
    let names = |of: &[&str]| folder.read(of).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(&[""]), ["a.json", "b/a.yaml", "b/z.yml"]);
    assert_eq!(names(&["c.txt"]), ["c.txt"], "a named file is read, whatever its extension");
    assert!(matches!(folder.read(&["empty"])[0].1, Err(ManifestFileError::NothingInIt)));
}

#[test]
fn unsuitable_files_are_rejected() {
    let folder = ManifestFolder::named("files");
    folder.write("zip.yaml", &[0x1f, 0x8b, 8, 0]);
    folder.write("latin.yaml", b"a: 1\nb: \xe4\n");
    std::fs::File::create(folder.0.join("huge.yaml")).unwrap().set_len(600 << 20).unwrap();
    let why = |name: &str| folder.read(&[name]).remove(0).1.unwrap_err();
    assert!(matches!(why("zip.yaml"), ManifestFileError::Compressed));
    assert!(matches!(why("huge.yaml"), ManifestFileError::TooLong));
    assert!(matches!(why("nowhere.yaml"), ManifestFileError::System { .. }));
    assert_eq!(why("latin.yaml").at(), TextPosition { line: 2, column: 4 });
}

proptest! {
    /// For any text, parsing ends, and no position is beyond the text.
    #[test]
    fn places_lie_within_the_text(text in "[-ab:\\[\\]{}&*,\"'|>?!#% \n\tä]{0,120}") {
        let lines = u32::try_from(text.split('\n').count() + 1).unwrap();
        fn check(tree: &YamlNode, lines: u32) -> bool {
            tree.span.from.line <= lines
                && tree.items().iter().all(|item| check(item, lines))
                && tree.entries().iter().all(|entry| check(&entry.value, lines))
        }
        let (all, faults) = trees(&text);
        prop_assert!(all.iter().all(|tree| check(tree, lines)));
        prop_assert!(faults.iter().all(|fault| fault.at.line <= lines));
    }

    /// JSON is read unchanged.
    #[test]
    fn text_in_json_is_unchanged(texts in prop::collection::vec(any::<String>(), 1..5)) {
        let tree = one(&serde_json::json!({"a": texts}).to_string());
        let read: Vec<&str> = tree.get("a").unwrap().items().iter().map(YamlNode::as_text).collect();
        prop_assert_eq!(read, texts);
    }
}

//! Tests every output format, unknown formats, and sorting.

use super::*;
use clap::Parser;
use serde_json::json;

#[derive(Debug, Parser)]
struct Words {
    #[command(flatten)]
    output: OutputArgs,
}

struct Nodes;

const NODES: [(&str, i64); 3] = [("n2", 10), ("n1", 9), ("n3", 100)];

impl Printable for Nodes {
    fn object(&self) -> Value {
        let items = NODES.map(|(name, pods)| json!({"metadata": {"name": name}, "pods": pods}));
        json!({"apiVersion": API_VERSION, "kind": "NodeList", "items": items})
    }

    fn names(&self) -> Vec<String> {
        NODES.map(|(name, _)| format!("node/{name}")).into()
    }

    fn human(&self, view: &PrintOptions) -> String {
        let mut table = Table::new(vec![TableColumn::new("NAME"), TableColumn::new("PODS").only_wide()]);
        for (name, pods) in view.in_order(&NODES) {
            table.push(vec![(*name).into(), pods.to_string().into()]);
        }
        table.print(view)
    }
}

fn text(arguments: &[&str]) -> Result<String, String> {
    let words = Words::try_parse_from([&["x"], arguments].concat()).map_err(|why| why.to_string())?;
    words.output.text(&Nodes).map_err(|why| why.to_string())
}

#[test]
fn the_document_names_the_version_of_the_output() {
    assert!(crate::described::document("output.md").contains(&format!("`{API_VERSION}`")));
}

#[test]
fn a_result_can_be_printed_in_every_format() {
    for (arguments, expected) in [
        (&[][..], "NAME\nn2\nn1\nn3\n"),
        (&["-o", "wide"], "NAME   PODS\nn2     10\nn1     9\nn3     100\n"),
        (&["-owide", "--no-headers"], "n2   10\nn1   9\nn3   100\n"),
        (&["-o=name"], "node/n2\nnode/n1\nnode/n3\n"),
        (&["-o", "jsonpath={.items[*].pods}"], "10 9 100"),
        (
            &["-o", "custom-columns=A:.metadata.name,B C:pods,D:.x"],
            "A    B C   D\nn2   10    <none>\nn1   9     <none>\nn3   100   <none>\n",
        ),
        (&["-o", "name", "--sort-by", ".pods"], "node/n1\nnode/n2\nnode/n3\n"),
        (&["--sort-by={.metadata.name}"], "NAME\nn1\nn2\nn3\n"),
        (&["-o", "jsonpath={.items[*].pods}", "--sort-by=pods"], "9 10 100"),
    ] {
        assert_eq!(text(arguments).as_deref(), Ok(expected), "{arguments:?}");
    }
    let yaml = "apiVersion: taintward.io/v1alpha2\nitems:\n- metadata:\n    name: n2\n  pods: 10\n";
    assert!(text(&["-o", "yaml"]).unwrap().starts_with(yaml));
    assert!(
        text(&["-o", "json"]).unwrap().starts_with("{\n    \"apiVersion\": \"taintward.io/v1alpha2\",\n")
    );
}

#[test]
fn an_unknown_format_gets_the_list_of_known_ones() {
    for (arguments, why) in [
        (&["-o", "jsn"][..], FORMS),
        (&["-o", "json=x"], "json takes no argument"),
        (&["-o", "jsonpath"], "jsonpath needs a template, as in jsonpath='{.kind}'"),
        (&["-o", "jsonpath={.a"], "error parsing jsonpath {.a, unclosed action"),
        (&["-o", "custom-columns="], "custom-columns needs columns"),
        (
            &["-o", "custom-columns=A"],
            "unexpected custom-columns spec: A, expected <header>:<json-path-expr>",
        ),
        (&["-o", "jsonpath-file=/nowhere"], "cannot read the file of -o, /nowhere: No such file"),
        (&["--sort-by", "{.a}{.b}"], "unexpected path string"),
        (
            &["--sort-by", ".nowhere"],
            "cannot sort by .nowhere: no item has this field; -o json shows the fields",
        ),
        (&["-o", "jsonpath={.items[3]}"], "array index out of bounds: index 3, length 3"),
    ] {
        let error = text(arguments).unwrap_err();
        assert!(error.contains(why), "{arguments:?}: {error}");
    }
}

#[test]
fn formats_can_be_read_from_files() {
    let folder = std::env::temp_dir().join(format!("taintward-forms-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).unwrap();
        format!("{}", folder.join(name).display())
    };
    let columns = file("columns", "NAME           PODS\n.metadata.name .pods\n");
    let template = file("template", "{.kind}");
    let (uneven, empty) = (file("uneven", "A B\n.a\n"), file("empty", ""));
    assert_eq!(
        text(&["-o", &format!("custom-columns-file={columns}")]).as_deref(),
        Ok("NAME   PODS\nn2     10\nn1     9\nn3     100\n")
    );
    assert_eq!(text(&["-o", &format!("jsonpath-file={template}")]).as_deref(), Ok("NodeList"));
    let why = |file: &str| text(&["-o", &format!("custom-columns-file={file}")]).unwrap_err();
    assert!(why(&uneven).contains("it has 2 titles and 1 fields"), "{}", why(&uneven));
    assert!(why(&empty).contains("the line of titles is missing"), "{}", why(&empty));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_documents_list_every_format() {
    let document = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/output.md");
    let document = std::fs::read_to_string(document).unwrap();
    for form in FORMS.split(", ") {
        assert!(document.contains(&format!("`{form}`")), "{form}");
    }
}

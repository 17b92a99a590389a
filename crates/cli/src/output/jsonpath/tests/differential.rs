//! Compares templates, written and random, with the pinned kubectl: text and errors must be equal.
//!
//! - kubectl visits fields with `*` and `..` in a random order, so there the words are sorted before the comparison.

use super::super::JsonPathTemplate;
use crate::output::structured;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use taintward_envtest::binaries;

const OBJECT: &str = r#"{"apiVersion": "taintward.io/v1alpha1", "kind": "Sample",
"metadata": {"name": "sample", "labels": {"app": "web", "a.b/c": "d<e>&f"}, "namespace": "shop"},
"spec": {"whole": 3, "float": 1.5, "tiny": 0.00000012, "huge": 1e21, "less": -7, "truth": true, "none": null,
"text": "it's \"quoted\" \\ ä\u2028", "empty": {}, "list": [1, 2, 3, 4, 5], "nothing": [],
"pods": [{"name": "web-1", "node": "n1", "seconds": 300, "share": 0.5, "ready": true, "images": ["a", "b"]},
{"name": "web-2", "node": "n2", "seconds": 60, "share": 2.25, "ready": false, "images": []},
{"name": "db-0", "node": "n1", "images": ["c"], "seconds": null, "ready": true}],
"nested": [[1, 2], [3]], "words": ["x y", "z"]}}"#;

const TEMPLATES: [&str; 116] = [
    "",
    "text",
    "{}",
    "{.}",
    "{@}",
    "{$}",
    "{.kind}",
    "{kind}",
    "kind is {.kind}",
    "{.kind}{.metadata.name}",
    "{.kind} and {.metadata.name}\n",
    "{$.kind}",
    "{@.kind}",
    "{ .kind }",
    "{.kind .apiVersion}",
    "{.missing}",
    "{.missing.more}",
    "{.metadata}",
    "{.metadata.labels}",
    "{.metadata.labels.app}",
    "{.metadata.labels.a\\.b/c}",
    "{.metadata.labels['a\\.b/c']}",
    "{.metadata['name']}",
    "{['metadata']['name']}",
    "{.metadata['name','namespace']}",
    "{['kind','apiVersion']}",
    "{.spec.whole}",
    "{.spec.float}",
    "{.spec.tiny}",
    "{.spec.huge}",
    "{.spec.less}",
    "{.spec.truth}",
    "{.spec.none}",
    "{.spec.none.more}",
    "{.spec.text}",
    "{.spec.empty}",
    "{.spec.nothing}",
    "{.spec.list}",
    "{.spec.list[0]}",
    "{.spec.list[*]}",
    "{.spec.list[]}",
    "{.spec.list[-1]}",
    "{.spec.list[-2:]}",
    "{.spec.list[1:3]}",
    "{.spec.list[:2]}",
    "{.spec.list[3:]}",
    "{.spec.list[::2]}",
    "{.spec.list[1:5:3]}",
    "{.spec.list[:]}",
    "{.spec.list[0:0]}",
    "{.spec.list[-3:-1]}",
    "{.spec.list[5]}",
    "{.spec.list[-6]}",
    "{.spec.list[0:6]}",
    "{.spec.list[3:1]}",
    "{.spec.list[0:3:0]}",
    "{.spec.list[0:3:-1]}",
    "{.spec.list[0,2]}",
    "{.spec.list[0, -1, 1:3]}",
    "{.spec.list[a]}",
    "{.spec.list[1:2:3:4]}",
    "{.spec.nothing[*]}",
    "{.spec.nothing[0]}",
    "{.spec.whole[0]}",
    "{.spec[0]}",
    "{.kind[0]}",
    "{.spec.none[0]}",
    "{.spec.pods[*].name}",
    "{.spec.pods[*].images}",
    "{.spec.pods[*].images[*]}",
    "{.spec.pods[*].images[0]}",
    "{.spec.nested[*][0]}",
    "{.spec.nested[1]}",
    "{.spec.pods[?(@.name==\"web-2\")].node}",
    "{.spec.pods[?(@.name=='web-2')].node}",
    "{.spec.pods[?(@.name!=\"web-2\")].name}",
    "{.spec.pods[?(@.share>1.0)].name}",
    "{.spec.pods[?(@.seconds<100)].name}",
    "{.spec.pods[0:2][?(@.seconds<=60)]}",
    "{.spec.pods[?(@.name>=\"web\")].name}",
    "{.spec.pods[?(@.name<\"web\")].name}",
    "{.spec.pods[?(@.ready==true)].name}",
    "{.spec.pods[?(@.ready<true)].name}",
    "{.spec.pods[?(@.share)].name}",
    "{.spec.pods[?(@.images[1])].name}",
    "{.spec.pods[?(@.seconds==\"300\")].name}",
    "{.spec.pods[?(@.images==\"a\")].name}",
    "{.spec.pods[?(@.name=\"x\")].name}",
    "{.spec.pods[?(@.images[*]==\"a\")].name}",
    "{.spec.pods[?(@.name==\"a)b\")].name}",
    "{.spec.pods[?(@.name==)].name}",
    "{.spec.pods[?(@.name==\"web-1\"].name}",
    "{.spec.pods[?(@.name==\"web-1\")}",
    "{.spec[?(@.a)]}",
    "{.spec.list[?(@>2)]}",
    "{.spec.list[?(@ > 2)]}",
    "{.spec.list[?(2<@)]}",
    "{.spec.words[?(@==\"x y\")]}",
    "{range .spec.pods[*]}{.name}{\"\\t\"}{.node}{\"\\n\"}{end}",
    "{range .spec.pods[*]}[{.name}, {range .images[*]}{@};{end}]{end}!",
    "{range .spec.nothing[*]}{.name}{end}after",
    "{range .spec.pods[*]}{.name}",
    "{end}",
    "{range .spec.list[0:2]}{.kind}{@}{end} {.kind}",
    "{range .spec.pods[*]}{.images[0]}{end}",
    "{\"a\\u00e4\\x41\\101\\\\\"}",
    "{'it\\'s'}",
    "{\"it\\'s\"}",
    "{\"a",
    "{.kind",
    "{.a..b}",
    "{....a}",
    "{..kind}",
    "{..images[0]}",
    "{foo}",
    "{#}",
];

/// Pieces that random templates are composed of.
const PIECES: [&str; 40] = [
    "{",
    "}",
    "{.spec",
    "{.spec.pods",
    ".pods",
    "[*]",
    "[0]",
    "[-1]",
    "[1:]",
    "[?(@.name==\"db-0\")]",
    ".name",
    ".images",
    "..",
    "['name']",
    "}",
    "}",
    " ",
    "@",
    "$",
    ".",
    "{range .spec.pods[*]}",
    "{end}",
    "{range .spec.list[1:3]}",
    "{\"x\"}",
    "'y'",
    "3",
    "1.5",
    "true",
    "[",
    "]",
    "text",
    "{.kind}",
    "[0,1]",
    "[?(@.ready)]",
    "\\",
    "\n",
    "{range .spec.nested[*]}",
    "[::2]",
    "-",
    ".node}",
];

#[test]
fn templates_print_what_kubectl_prints() {
    let Some(tools) = binaries::for_test("templates_print_what_kubectl_prints") else { return };
    let stage = DifferentialStage::set(tools.path("kubectl").unwrap());
    let mut seed = 7_u64;
    let mut chance = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let by_chance: Vec<String> =
        (0..120).map(|_| (0..2 + chance(7)).map(|_| PIECES[chance(PIECES.len())]).collect()).collect();
    let all = TEMPLATES.into_iter().chain(by_chance.iter().map(String::as_str));
    let (mut differ, mut rejected, mut count) = (Vec::new(), 0, 0);
    for template in all {
        count += 1;
        let (theirs, ours) = (stage.kubectl(&format!("jsonpath={template}")), ours(template));
        rejected += usize::from(theirs.is_err());
        if !same(template, &theirs, &ours) {
            differ.push(format!("{template:?}\n  kubectl:   {theirs:?}\n  taintward: {ours:?}"));
        }
    }
    assert!(differ.is_empty(), "{} of {count} templates differ:\n{}", differ.len(), differ.join("\n"));
    assert!(count > 200 && rejected > 20 && rejected < count - 60, "{rejected} of {count} are rejected");
}

#[test]
fn objects_are_printed_as_kubectl_prints_them() {
    let Some(tools) = binaries::for_test("objects_are_printed_as_kubectl_prints_them") else { return };
    let stage = DifferentialStage::set(tools.path("kubectl").unwrap());
    let mut object: Value = serde_json::from_str(OBJECT).unwrap();
    // Go writes these numbers with other zeros, and HTML characters as \u003c: the values are the same.
    let [json, yaml] = ["json", "yaml"].map(|form| stage.kubectl(form).unwrap());
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap(), object);
    assert_eq!(serde_saphyr::from_str::<Value>(&structured::yaml(&object).unwrap()).unwrap(), object);
    assert_eq!(serde_saphyr::from_str::<Value>(&yaml).unwrap(), object);
    object["metadata"]["labels"] =
        serde_json::json!({"app": "web", "on": "yes", "number": "1e3", "time": "12:30", "n": "n"});
    object["spec"]["lines"] = "one\ntwo\n".into();
    for odd in ["tiny", "huge", "text"] {
        object["spec"].as_object_mut().unwrap().remove(odd);
    }
    std::fs::write(stage.folder.join("object.json"), object.to_string()).unwrap();
    assert_eq!(structured::json(&object), stage.kubectl("json").unwrap());
    assert_eq!(structured::yaml(&object).unwrap(), stage.kubectl("yaml").unwrap());
}

fn ours(template: &str) -> Result<String, String> {
    if template.is_empty() {
        return crate::output::OutputFormat::parse("jsonpath=").map(|_| String::new());
    }
    let object: Value = serde_json::from_str(OBJECT).unwrap();
    let template = JsonPathTemplate::parse(template).map_err(|why| why.to_string())?;
    template.execute(&object).map_err(|why| why.to_string())
}

fn same(template: &str, theirs: &Result<String, String>, ours: &Result<String, String>) -> bool {
    match (theirs, ours) {
        (Ok(theirs), Ok(ours)) => {
            let unordered = template.contains("..") || template.contains(".*");
            let sorted = |text: &str| {
                let mut words: Vec<char> = text.chars().collect();
                words.sort_unstable();
                words
            };
            theirs == ours || unordered && sorted(theirs) == sorted(ours)
        }
        // An empty template is rejected with another message.
        (Err(_), Err(_)) if template.is_empty() => true,
        // kubectl's reason must be at the end of Taintward's message.
        (Err(theirs), Err(ours)) => {
            let reason = ours.strip_prefix("error parsing").map_or_else(
                || ours.rsplit_once("\": ").map_or(ours.as_str(), |(_, reason)| reason),
                |_| ours.as_str(),
            );
            theirs.contains(reason)
        }
        _ => false,
    }
}

struct DifferentialStage {
    kubectl: PathBuf,
    folder: PathBuf,
}

impl DifferentialStage {
    fn set(kubectl: PathBuf) -> Self {
        let folder = std::env::temp_dir().join(format!(
            "taintward-jsonpath-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("object.json"), OBJECT).unwrap();
        Self { kubectl, folder }
    }

    /// The object in a format: kubectl's output, or its error.
    fn kubectl(&self, form: &str) -> Result<String, String> {
        let done = Command::new(&self.kubectl)
            .env_clear()
            .env("HOME", &self.folder)
            .args(["patch", "--local", "--type=merge", "-p", "{}", "-f"])
            .arg(Path::new(&self.folder).join("object.json"))
            .args(["-o", form])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        if done.status.success() { Ok(text(done.stdout)) } else { Err(text(done.stderr)) }
    }
}

impl Drop for DifferentialStage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

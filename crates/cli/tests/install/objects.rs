//! Parses printed manifests and finds objects in them.

#![allow(dead_code, reason = "each test binary uses some of it")]

use serde::Deserialize as _;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Each object by kind, namespace and name.
pub(crate) type ByName = BTreeMap<String, Value>;

pub(crate) fn install(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_taintward"));
    command.arg("install").args(arguments);
    command
}

/// The warning without the networks of the API servers.
const OPEN: &str = "warning: all pods of the cluster can connect to the webhook; name the networks of API servers with \
                    --api-server-cidr\n";

/// The output of a success, with nothing else on standard error.
pub(crate) fn printed(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = install(arguments).output().unwrap();
    let [message, warned] = [stdout, stderr].map(|text| String::from_utf8(text).unwrap());
    let open = message.contains("\"0.0.0.0/0\"") && message.contains("taintward-webhook");
    let requested = ["--chart", "--uninstall"].iter().any(|flag| arguments.contains(flag));
    assert!(
        status.success() && (warned == if open && !requested { OPEN } else { "" }),
        "{arguments:?}: {warned}"
    );
    message
}

/// The documents of a text, in their order.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    let documents = text.split("\n---\n").map(|document| document.strip_prefix("---\n").unwrap_or(document));
    let values = documents.map(|document| serde_saphyr::from_str::<Value>(document).unwrap());
    values.filter(|value| !value.is_null()).collect()
}

pub(crate) fn name(object: &Value) -> String {
    let part = |at: &str| object.pointer(at).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}/{}", part("/kind"), part("/metadata/namespace"), part("/metadata/name"))
}

pub(crate) fn by_name(objects: Vec<Value>) -> ByName {
    let count = objects.len();
    let all: ByName = objects.into_iter().map(|object| (name(&object), object)).collect();
    assert_eq!(all.len(), count, "no object is a duplicate");
    all
}

pub(crate) fn deploy(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy").join(name)
}

pub(crate) fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

/// Of a list that was printed as JSON.
pub(crate) fn items(text: &str) -> Vec<Value> {
    let list = Value::deserialize(&mut serde_json::Deserializer::from_str(text)).unwrap();
    assert_eq!((&list["apiVersion"], &list["kind"]), (&Value::from("v1"), &Value::from("List")));
    list["items"].as_array().unwrap().clone()
}

//! Compares tables with the recorded rows of the API server's own printers (`golden/columns.txt`).

use fakekube::resource::known;
use fakekube::table_columns::{TableInclude, table};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

const ROWS: &str = include_str!("../golden/columns.txt");

/// When the samples are printed, and the whole second that `now` means in them.
fn now() -> (Timestamp, Timestamp) {
    let now: Timestamp = "2026-07-08T09:10:11Z".parse().unwrap();
    (now + SignedDuration::from_millis(250), now)
}

fn samples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/columns")
}

/// The objects of a file, with their times made absolute: `now-205s`, or `now-205.0s` for microseconds.
fn read(resource: &str) -> Vec<Value> {
    fn absolute(value: &mut Value) {
        match value {
            Value::Array(list) => list.iter_mut().for_each(absolute),
            Value::Object(map) => map.values_mut().for_each(absolute),
            Value::String(text) => {
                let Some(seconds) = text.strip_prefix("now").and_then(|text| text.strip_suffix('s')) else {
                    return;
                };
                let whole = seconds.strip_suffix(".0");
                let Ok(ago) = whole.unwrap_or(seconds).parse() else { return };
                let time = now().1 + SignedDuration::from_secs(ago);
                *text = if whole.is_some() { format!("{time:.6}") } else { time.to_string() };
            }
            _ => {}
        }
    }
    let text = fs::read_to_string(samples().join(format!("{resource}.json"))).unwrap();
    let mut objects: Vec<Value> = serde_json::from_str(&text).unwrap();
    objects.iter_mut().for_each(absolute);
    objects
}

fn split(name: &str) -> (&str, &str) {
    name.split_once('.').unwrap_or((name, ""))
}

/// The table of a file.
fn ours(name: &str, include: TableInclude) -> Value {
    let (resource, group) = split(name);
    let objects = read(name);
    table(known(group, resource).get(), &objects.iter().collect::<Vec<_>>(), now().0, include)
}

/// A resource of the golden file: its columns as definitions, and the cells and conditions of each row.
struct Golden {
    name: &'static str,
    columns: Vec<Value>,
    rows: Vec<(Value, Value)>,
}

fn golden() -> Vec<Golden> {
    let mut golden: Vec<Golden> = Vec::new();
    for line in ROWS.lines().filter(|line| !line.starts_with('#')) {
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["resource", name] => golden.push(Golden { name, columns: Vec::new(), rows: Vec::new() }),
            ["column", name, type_, format, priority] => golden.last_mut().unwrap().columns.push(json!({
                "name": name, "type": type_, "format": format, "description": "",
                "priority": priority.parse::<i32>().unwrap(),
            })),
            ["row", cells, conditions] => {
                let of = |text| serde_json::from_str(text).unwrap();
                golden.last_mut().unwrap().rows.push((of(cells), of(conditions)));
            }
            _ => panic!("not a line of the format: {line}"),
        }
    }
    golden
}

#[test]
fn the_golden_file_has_every_sample() {
    let files: BTreeSet<String> = fs::read_dir(samples())
        .unwrap()
        .map(|file| file.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    let reported: BTreeSet<String> = golden().iter().map(|sheet| sheet.name.to_owned()).collect();
    assert_eq!(files, reported, "run cargo xtask columns");
    for sheet in golden() {
        assert_eq!(read(sheet.name).len(), sheet.rows.len(), "{}: run cargo xtask columns", sheet.name);
    }
    assert!(golden().iter().map(|sheet| sheet.rows.len()).sum::<usize>() > 100);
}

#[test]
fn columns_are_those_of_a_real_server() {
    for sheet in golden() {
        assert_eq!(
            ours(sheet.name, TableInclude::None)["columnDefinitions"],
            json!(sheet.columns),
            "{}",
            sheet.name
        );
    }
}

#[test]
fn cells_are_those_of_a_real_server() {
    let mut wrong = Vec::new();
    for sheet in golden() {
        let objects = read(sheet.name);
        let ours = ours(sheet.name, TableInclude::None);
        for ((row, object), (cells, conditions)) in
            ours["rows"].as_array().unwrap().iter().zip(&objects).zip(&sheet.rows)
        {
            if row["cells"] != *cells || row["conditions"] != *conditions {
                let name = &object["metadata"]["name"];
                wrong.push(format!(
                    "{} {name}\n  fake {} {}\n  real {cells} {conditions}",
                    sheet.name, row["cells"], row["conditions"]
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} rows differ\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn a_row_includes_as_much_of_its_object_as_requested() {
    let pod = json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": "p", "namespace": "default", "uid": "u"},
        "spec": {"nodeName": "n"},
    });
    let row =
        |include| table(known("", "pods").get(), &[&pod], now().0, include)["rows"][0]["object"].clone();
    assert_eq!(row(TableInclude::None), Value::Null);
    assert_eq!(row(TableInclude::Object), pod);
    assert_eq!(
        row(TableInclude::Metadata),
        json!({
            "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
            "metadata": {"name": "p", "namespace": "default", "uid": "u"},
        })
    );
}

#[test]
fn the_bookmark_that_ends_initial_events_keeps_its_annotation() {
    let bookmark = |message: &str| {
        let pod = json!({"kind": "Pod", "metadata": {"annotations": {"k8s.io/initial-events-end": message}}});
        table(known("", "pods").get(), &[&pod], now().0, TableInclude::None)["rows"][0]["object"].clone()
    };
    assert_eq!(bookmark("true")["kind"], "PartialObjectMetadata");
    assert_eq!(bookmark("true")["metadata"]["annotations"]["k8s.io/initial-events-end"], "true");
    assert_eq!(bookmark("false"), Value::Null);
}

#[test]
fn a_table_is_a_table_without_rows_too() {
    let empty = table(known("", "pods").get(), &[], now().0, TableInclude::default());
    assert_eq!(empty["kind"], "Table");
    assert_eq!(empty["apiVersion"], "meta.k8s.io/v1");
    assert_eq!(empty["metadata"], json!({}));
    assert_eq!(empty["rows"], json!([]));
    assert_eq!(empty["columnDefinitions"].as_array().unwrap().len(), 9);
}

#[test]
fn what_is_not_known_has_a_name_and_a_date() {
    let thing = json!({"metadata": {"name": "x", "creationTimestamp": "2026-02-03T04:05:06Z"}});
    let table = table(known("", "limitranges").get(), &[&thing], now().0, TableInclude::None);
    assert_eq!(table["columnDefinitions"][1]["name"], "Created At");
    assert_eq!(table["columnDefinitions"][1]["type"], "date");
    assert_eq!(table["rows"][0]["cells"], json!(["x", "2026-02-03T04:05:06Z"]));
}

//! Serves discovery documents, the server's version, and `/healthz`, `/livez` and `/readyz`.

use super::{AGGREGATED, HttpRequest, HttpResponse, Query, Representation};
use crate::api_status::StatusError;
use crate::custom;
use crate::resource::ResourceType;
use bytes::Bytes;
use serde_json::{Value, json};

/// The release this server behaves like.
const RELEASE: (&str, &str, &str) = ("1", "36", "v1.36.3");

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// The same verbs, in the order in which custom kinds list them.
const CUSTOM_VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// `/version`.
pub(super) fn version(suffix: &str) -> Value {
    let (major, minor, git) = RELEASE;
    json!({
        "major": major, "minor": minor, "gitVersion": format!("{git}{suffix}"),
        "gitCommit": "", "gitTreeState": "clean", "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "", "compiler": "rustc", "platform": format!("{}/{}", std::env::consts::OS, architecture()),
    })
}

/// As Go names it.
fn architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

/// Groups in the order of the table, core first.
fn groups() -> Vec<(&'static str, Vec<&'static str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for resource in ResourceType::all() {
        match groups.iter_mut().find(|(group, _)| *group == resource.group) {
            Some((_, versions)) if versions.contains(&resource.version) => {}
            Some((_, versions)) => versions.push(resource.version),
            None => groups.push((resource.group, vec![resource.version])),
        }
    }
    groups
}

/// Whether a path is in a known group, where errors are a `Status`.
pub(super) fn is_known(path: &str) -> bool {
    let mut parts = path.split('/').skip(1);
    match parts.next() {
        Some("api") => true,
        // A custom group has only its kinds; below it, no handler answers with a `Status`.
        Some("apis") if parts.clone().next().is_some_and(custom::is_group) => false,
        Some("apis") => parts.next().is_some_and(|group| groups().iter().any(|(one, _)| *one == group)),
        _ => false,
    }
}

/// The document at a path, if there is one.
///
/// # Errors
/// 406.
pub(super) fn respond_to(path: &str, request: &HttpRequest) -> Result<Option<HttpResponse>, StatusError> {
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    if request.accept.check()?.view == Representation::Aggregated {
        let document = aggregated(parts == ["api"]).to_string();
        return Ok(Some(HttpResponse::new(200, AGGREGATED, Bytes::from(document))));
    }
    // Discovery documents have no type in the protobuf schema: they are JSON, whatever the client accepts.
    Ok(document(&parts).map(|document| HttpResponse::json(&document)))
}

fn document(parts: &[&str]) -> Option<Value> {
    let document = match parts {
        ["api"] => json!({
            "kind": "APIVersions", "versions": ["v1"],
            "serverAddressByClientCIDRs": [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}],
        }),
        ["apis"] => {
            let groups = groups().into_iter().filter(|(group, _)| !group.is_empty());
            let groups: Vec<Value> =
                groups.map(|(group, versions)| group_versions(group, &versions)).collect();
            json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
        }
        ["api", version] => resources("", version)?,
        ["apis", group] => {
            let (_, versions) = groups().into_iter().find(|(one, _)| one == group)?;
            let mut document = group_versions(group, &versions);
            document["kind"] = json!("APIGroup");
            document["apiVersion"] = json!("v1");
            document
        }
        ["apis", group, version] => resources(group, version)?,
        [] => paths(),
        _ => return None,
    };
    Some(document)
}

fn paths() -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for (group, versions) in groups().into_iter().filter(|(group, _)| !group.is_empty()) {
        paths.push(format!("/apis/{group}"));
        paths.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
    }
    paths.extend(
        ["/healthz", "/livez", "/openapi/v2", "/openapi/v3", "/readyz", "/version"].map(String::from),
    );
    json!({"paths": paths})
}

fn group_versions(group: &str, versions: &[&str]) -> Value {
    let one = |version: &&str| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let all: Vec<Value> = versions.iter().map(one).collect();
    json!({"name": group, "versions": all, "preferredVersion": all.first()})
}

fn of_version(group: &str, version: &str) -> impl Iterator<Item = &'static ResourceType> {
    ResourceType::all().filter(move |one| one.group == group && one.version == version)
}

/// The resources of a version, with one entry for each subresource.
fn resources(group: &str, version: &str) -> Option<Value> {
    let mut entries = Vec::new();
    for resource in of_version(group, version) {
        let mut entry = json!({
            "name": resource.plural, "singularName": resource.singular, "namespaced": resource.namespaced,
            "kind": resource.kind, "verbs": verbs(resource),
        });
        if !resource.short.is_empty() {
            entry["shortNames"] = json!(resource.short);
        }
        if !resource.categories.is_empty() {
            entry["categories"] = json!(resource.categories);
        }
        entries.push(entry);
        for sub in resource.subs {
            let mut entry = json!({
                "name": format!("{}/{}", resource.plural, sub.name()), "singularName": "",
                "namespaced": resource.namespaced, "kind": sub.kind().map_or(resource.kind, |(_, _, kind)| kind),
                "verbs": sub_verbs(sub.name()),
            });
            // Fields that are absent here default to those of the resource.
            let other = sub
                .kind()
                .filter(|(group, version, _)| (*group, *version) != (resource.group, resource.version));
            if let Some((group, version, _)) = other {
                entry["version"] = json!(version);
                if !group.is_empty() {
                    entry["group"] = json!(group);
                }
            }
            entries.push(entry);
        }
    }
    if entries.is_empty() {
        return None;
    }
    let whole = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    let mut document = json!({"kind": "APIResourceList", "groupVersion": whole, "resources": entries});
    // The core group is older than the convention.
    if !group.is_empty() {
        document["apiVersion"] = json!("v1");
    }
    Some(document)
}

fn verbs(resource: &ResourceType) -> Vec<&'static str> {
    match (resource.kept, resource.kind) {
        (false, _) => vec!["create"],
        (true, _) if custom::is_group(resource.group) => CUSTOM_VERBS.to_vec(),
        (true, "Namespace") => VERBS.into_iter().filter(|verb| *verb != "deletecollection").collect(),
        (true, _) => VERBS.to_vec(),
    }
}

fn sub_verbs(sub: &str) -> Vec<&'static str> {
    match sub {
        "binding" | "eviction" | "token" => vec!["create"],
        "finalize" => vec!["update"],
        "log" => vec!["get"],
        _ => vec!["get", "patch", "update"],
    }
}

/// All of discovery in one document.
fn aggregated(core: bool) -> Value {
    let groups = groups().into_iter().filter(|(group, _)| group.is_empty() == core);
    let items: Vec<Value> = groups.map(|(group, versions)| aggregated_group(group, &versions)).collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn aggregated_group(group: &str, versions: &[&str]) -> Value {
    let version = |version: &&str| {
        let resources: Vec<Value> = of_version(group, version).map(aggregated_resource).collect();
        json!({"version": version, "resources": resources, "freshness": "Current"})
    };
    let versions: Vec<Value> = versions.iter().map(version).collect();
    let mut metadata = json!({});
    if !group.is_empty() {
        metadata["name"] = json!(group);
    }
    json!({"metadata": metadata, "versions": versions})
}

fn aggregated_resource(resource: &ResourceType) -> Value {
    let kind =
        |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    // An empty group and version mean those of the resource.
    let own = kind("", "", resource.kind);
    let mut entry = json!({
        "resource": resource.plural, "responseKind": own,
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular, "verbs": verbs(resource),
    });
    if !resource.short.is_empty() {
        entry["shortNames"] = json!(resource.short);
    }
    if !resource.categories.is_empty() {
        entry["categories"] = json!(resource.categories);
    }
    if !resource.subs.is_empty() {
        let part = |sub: &crate::resource::Subresource| {
            let kind = match sub.kind() {
                None => own.clone(),
                Some((group, version, name)) if (group, version) == (resource.group, resource.version) => {
                    kind("", "", name)
                }
                Some((group, version, name)) => kind(group, version, name),
            };
            json!({"subresource": sub.name(), "responseKind": kind, "verbs": sub_verbs(sub.name())})
        };
        entry["subresources"] = Value::Array(resource.subs.iter().map(part).collect());
    }
    entry
}

/// The only health check: a server that answers is healthy.
const PING: &str = "ping";

/// The answer of a health endpoint, whatever the method.
pub(super) fn health(path: &str, query: &Query) -> Option<HttpResponse> {
    let (endpoint, check) = path
        .strip_prefix('/')?
        .split_once('/')
        .map_or((path.get(1..)?, None), |(endpoint, check)| (endpoint, Some(check)));
    if !matches!(endpoint, "healthz" | "livez" | "readyz") {
        return None;
    }
    match check {
        Some(PING) => Some(HttpResponse::text("ok".to_owned())),
        Some(_) => Some(HttpResponse::no_page()),
        None if query.find("verbose").is_some() => {
            Some(HttpResponse::text(format!("[+]ping ok\n{endpoint} check passed\n")))
        }
        None => Some(HttpResponse::text("ok".to_owned())),
    }
}

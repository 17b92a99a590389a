//! Serves OpenAPI v3 documents made from the schema, and an empty v2 document.

use super::{HttpResponse, PACKED};
use crate::custom;
use crate::resource::ResourceType;
use crate::schema::{Schema, Shape, TypeId};
use bytes::Bytes;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const TITLE: &str = "Kubernetes";
const VERSION: &str = "v1.36.3";

/// The document at a path; the v2 document also in protobuf.
pub(super) fn respond_to(path: &str, packed: bool) -> Option<HttpResponse> {
    if path == "/openapi/v2" {
        return Some(legacy(packed));
    }
    let version = path.strip_prefix("/openapi/v3")?.trim_start_matches('/');
    if version.is_empty() {
        return Some(HttpResponse::json(&index()));
    }
    let (group, version) = match version.strip_prefix("api/") {
        Some(version) => ("", version),
        None => version.strip_prefix("apis/")?.split_once('/')?,
    };
    let resources: Vec<&ResourceType> =
        ResourceType::all().filter(|one| (one.group, one.version) == (group, version)).collect();
    (!resources.is_empty()).then(|| HttpResponse::json(&document(&resources)))
}

/// The v2 document, which is empty. kubectl reads it for Lists; it leaves the validation of kinds without a schema to
/// the server.
fn legacy(packed: bool) -> HttpResponse {
    let info = json!({"title": TITLE, "version": VERSION});
    if !packed {
        return HttpResponse::json(&json!({"swagger": "2.0", "info": info, "paths": {}, "definitions": {}}));
    }
    let field = |number: u8, bytes: &[u8]| -> Vec<u8> {
        let length = u8::try_from(bytes.len()).unwrap_or(u8::MAX);
        [&[number << 3 | 2, length], bytes].concat()
    };
    let info = [field(1, TITLE.as_bytes()), field(2, VERSION.as_bytes())].concat();
    HttpResponse::new(200, PACKED, Bytes::from([field(1, b"2.0"), field(2, &info)].concat()))
}

fn place(resource: &ResourceType) -> String {
    match resource.group {
        "" => format!("api/{}", resource.version),
        group => format!("apis/{group}/{}", resource.version),
    }
}

fn index() -> Value {
    let places: BTreeSet<String> = ResourceType::all().map(place).collect();
    let one = |place: String| {
        let url = json!({"serverRelativeURL": format!("/openapi/v3/{place}?hash=sandbox")});
        (place, url)
    };
    json!({"paths": places.into_iter().map(one).collect::<Map<_, _>>()})
}

fn document(resources: &[&ResourceType]) -> Value {
    let (mut paths, mut schemas, mut wanted) = (Map::new(), Map::new(), Vec::new());
    for resource in resources {
        let namespaces = if resource.namespaced { "/namespaces/{namespace}" } else { "" };
        let collection = format!("/{}{namespaces}/{}", place(resource), resource.plural);
        paths.insert(
            format!("{collection}/{{name}}"),
            json!({
                "get": operation(resource, "get"), "put": operation(resource, "put"),
                "patch": operation(resource, "patch"), "delete": operation(resource, "delete"),
            }),
        );
        paths.insert(
            collection,
            json!({
                "get": operation(resource, "list"), "post": operation(resource, "post"),
            }),
        );
        match (custom::of(resource), Schema::get().kind(&resource.api_version(), resource.kind)) {
            (Some(definition), _) => {
                let metadata = Schema::get().named("meta/v1.ObjectMeta");
                let name = metadata.map(component).unwrap_or_default();
                schemas.insert(definition.component(), definition.described(&name));
                wanted.extend(metadata.map(|id| (id, None)));
            }
            (None, Some(id)) => wanted.push((id, Some(*resource))),
            (None, None) => {}
        }
    }
    while let Some((id, resource)) = wanted.pop() {
        let name = component(id);
        if schemas.contains_key(&name) {
            continue;
        }
        schemas.insert(name, described(id, resource, &mut wanted));
    }
    json!({
        "openapi": "3.0.0", "info": {"title": TITLE, "version": VERSION},
        "paths": paths, "components": {"schemas": schemas},
    })
}

fn kind(resource: &ResourceType) -> Value {
    json!({"group": resource.group, "version": resource.version, "kind": resource.kind})
}

fn operation(resource: &ResourceType, action: &str) -> Value {
    let text =
        |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}});
    let parameters: Vec<Value> = match action {
        "post" | "put" | "patch" => ["dryRun", "fieldManager", "fieldValidation"].map(text).to_vec(),
        _ => Vec::new(),
    };
    json!({
        "parameters": parameters, "x-kubernetes-action": action, "x-kubernetes-group-version-kind": kind(resource),
        "responses": {"200": {"description": "OK"}},
    })
}

/// The component name of a type, in the form that tools expect.
fn component(id: TypeId) -> String {
    let name = &Schema::get().at(id).name;
    match name.split_once('/') {
        Some(("meta", rest)) => format!("io.k8s.apimachinery.pkg.apis.meta.{rest}"),
        Some((package, rest)) => format!("io.k8s.api.{package}.{rest}"),
        None => name.clone(),
    }
}

fn described(
    id: TypeId,
    resource: Option<&ResourceType>,
    wanted: &mut Vec<(TypeId, Option<&ResourceType>)>,
) -> Value {
    let mut properties = Map::new();
    if resource.is_some() {
        for field in ["apiVersion", "kind"] {
            properties.insert(field.into(), json!({"type": "string"}));
        }
    }
    fill(id, &mut properties, wanted);
    let mut schema = json!({"type": "object", "properties": properties});
    if let Some(resource) = resource {
        schema["x-kubernetes-group-version-kind"] = json!([kind(resource)]);
    }
    schema
}

fn fill(id: TypeId, properties: &mut Map<String, Value>, wanted: &mut Vec<(TypeId, Option<&ResourceType>)>) {
    for field in &Schema::get().at(id).fields {
        match (&field.shape, field.inline) {
            (Shape::Object(inner), true) => fill(*inner, properties, wanted),
            (shape, _) => {
                let mut property = of_shape(shape, wanted);
                if field.merge.merge {
                    property["x-kubernetes-patch-strategy"] = json!("merge");
                }
                if let Some(key) = &field.merge.key {
                    property["x-kubernetes-patch-merge-key"] = json!(key);
                }
                properties.insert(field.name.clone(), property);
            }
        }
    }
}

fn of_shape(shape: &Shape, wanted: &mut Vec<(TypeId, Option<&ResourceType>)>) -> Value {
    match shape {
        Shape::Bool => json!({"type": "boolean"}),
        Shape::Int32 => json!({"type": "integer", "format": "int32"}),
        Shape::Int64 => json!({"type": "integer", "format": "int64"}),
        Shape::Float64 => json!({"type": "number", "format": "double"}),
        Shape::String | Shape::Quantity => json!({"type": "string"}),
        Shape::Bytes => json!({"type": "string", "format": "byte"}),
        Shape::Time | Shape::MicroTime => json!({"type": "string", "format": "date-time"}),
        Shape::IntOrString => {
            json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})
        }
        Shape::Raw | Shape::Fields => json!({"type": "object"}),
        Shape::Object(id) => {
            wanted.push((*id, None));
            json!({"allOf": [{"$ref": format!("#/components/schemas/{}", component(*id))}], "default": {}})
        }
        Shape::List(of) => json!({"type": "array", "items": of_shape(of, wanted)}),
        Shape::Map(of) => json!({"type": "object", "additionalProperties": of_shape(of, wanted)}),
    }
}

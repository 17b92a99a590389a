//! A definition with some of every feature.

use super::OpenApiTypes;
use super::{CustomResource, ResourceDefinition, schema_validation};
use crate::field_error::FieldErrorKind;
use serde_json::{Value, json};

const DEFINITION: &str = r#"
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ponds.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {plural: ponds, singular: pond, kind: Pond, shortNames: [pd], categories: [water]}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    additionalPrinterColumns:
    - {name: Depth, type: integer, jsonPath: .spec.depth}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          status: {type: object, properties: {full: {type: boolean}}}
          spec:
            type: object
            required: [fish, shore]
            properties:
              depth: {type: integer, default: 3}
              name: {type: string}
              shore:
                type: object
                x-kubernetes-map-type: atomic
                properties: {length: {type: integer}}
              groups: {type: array, x-kubernetes-list-type: set, items: {type: string}}
              fish:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [species, name]
                items:
                  type: object
                  properties: {name: {type: string}, species: {type: string}}
                  x-kubernetes-validations:
                  - {rule: "self.name != 'x'", message: must not be x}
"#;

fn pond() -> ResourceDefinition {
    let checks = &[("self.name != 'x'", (|fish: &Value| fish["name"] != "x") as fn(&Value) -> bool)];
    ResourceDefinition::new(CustomResource { definition: DEFINITION, checks })
}

#[test]
#[should_panic(expected = "there is no check for the rule self == 'x'")]
fn a_rule_without_a_check_stops_the_server() {
    let schema = json!({"properties": {"a": {"items": {"x-kubernetes-validations": [
        {"rule": "self == 'x'", "message": "must be x"},
    ]}}}});
    schema_validation::expect_checks(&schema, &[("self == 'y'", |_| true)]);
}

#[test]
fn a_definition_becomes_a_resource() {
    let definition = pond();
    let resource = definition.resource;
    assert_eq!(
        (resource.group, resource.version, resource.plural, resource.singular, resource.kind),
        ("example.com", "v1alpha1", "ponds", "pond", "Pond")
    );
    assert_eq!((resource.short, resource.categories), (&["pd"][..], &["water"][..]));
    assert!(!resource.namespaced && resource.sub("status").is_some() && resource.sub("scale").is_none());
    assert_eq!(definition.component(), "com.example.v1alpha1.Pond");
}

#[test]
fn fields_become_types() {
    let mut types = OpenApiTypes::default();
    types.add(Box::leak(Box::new(pond())));
    for line in [
        "kind example.com/v1alpha1 Pond example.com/v1alpha1.Pond\n",
        " 0 depth int64 pointer omitempty\n",
        " 0 groups []string pointer omitempty strategy=merge\n",
        " 0 fish []example.com/v1alpha1.PondSpecFish pointer omitempty strategy=merge key=species\n",
    ] {
        assert!(types.text.contains(line), "{line}{}", types.text);
    }
    assert_eq!(types.whole, ["example.com/v1alpha1.PondSpecShore"]);
    assert_eq!(types.keys, [("example.com/v1alpha1.PondSpecFish".to_owned(), vec!["name", "species"])]);
}

#[test]
fn what_is_left_out_is_filled_in_and_what_says_nothing_is_dropped() {
    let definition = pond();
    let mut pond = json!({"spec": {"depth": null, "name": null}});
    definition.fill(&mut pond);
    assert_eq!(pond, json!({"spec": {"depth": 3}}));
    let errors = |object| {
        let mut errors = Vec::new();
        definition.judge(&object, None, &mut errors);
        errors.into_iter().map(|error| (error.field, error.kind)).collect::<Vec<_>>()
    };
    let error = |field: &str, kind| (field.to_owned(), kind);
    assert_eq!(
        errors(pond),
        [
            error("spec.fish", FieldErrorKind::Required),
            error("spec.shore", FieldErrorKind::Required),
            error("<nil>", FieldErrorKind::Invalid),
        ]
    );
    let fish = json!([{"name": "x", "species": "pike"}, {"name": "y"}]);
    assert_eq!(
        errors(json!({"spec": {"fish": fish, "shore": {}}})),
        [error("spec.fish[0]", FieldErrorKind::Invalid)]
    );
}

//! Tests the tolerations for extended resources (AD-7).

use super::tolerations;
use crate::admission::extended_resource_toleration::*;
use alloc::vec::Vec;

#[test]
fn ad_7_which_resources_are_extended() {
    for (name, expected) in [
        ("nvidia.com/gpu", true),
        ("example.com/a.b_c", true),
        ("cpu", false),
        ("gpu", false),
        ("hugepages-2Mi", false),
        ("kubernetes.io/gpu", false),
        ("node.kubernetes.io/gpu", false),
        ("requests.nvidia.com/gpu", false),
        ("requests.cpu", false),
        ("nvidia.com/", false),
        ("/gpu", false),
        ("Nvidia.com/gpu", false),
        ("a/b/c", false),
        ("", false),
    ] {
        assert_eq!(is_extended_resource(name), expected, "{name}");
    }
    // With the prefix that a quota adds, the domain is one letter too long.
    let domain = |length: usize| alloc::format!("{}.{}/x", "a".repeat(length - 4), "com");
    assert!(is_extended_resource(&domain(253 - "requests.".len())));
    assert!(!is_extended_resource(&domain(254 - "requests.".len())));
}

#[test]
fn ad_7_each_resource_once_and_sorted() {
    let names = ["z.com/x", "cpu", "a.com/y", "z.com/x", "memory"];
    assert_eq!(
        extended_tolerations(&[], names),
        tolerations("a.com/y Exists - NoSchedule | z.com/x Exists - NoSchedule")
    );
    assert_eq!(extended_tolerations(&[], ["cpu"]), Vec::new());
}

#[test]
fn ad_7_only_an_identical_toleration_replaces_it() {
    for (there, expected) in [
        ("a.com/y Exists - NoSchedule", 0),
        ("- Exists", 1),
        ("- Exists - NoSchedule", 1),
        ("a.com/y Exists", 1),
        ("a.com/y Exists - NoExecute", 1),
        ("a.com/y Equal - NoSchedule", 1),
        ("a.com/y - - NoSchedule", 1),
        // An API server rejects it and tells its author; it stays as written.
        ("a.com/y Exists - NoSchedule 5", 0),
    ] {
        assert_eq!(extended_tolerations(&tolerations(there), ["a.com/y"]).len(), expected, "{there}");
    }
}

//! # Storage as rows
//! Room:     volumes, claims, classes, drivers.
//! Comes in: their objects, the time.
//! Goes out: cells.
//! Not here: who binds them.

use super::age::age;
use super::objects::name;
use super::read::{amount, entry, flag, given, list, pointed, size, string, strings};
use super::selector::or_none;
use super::{AGE, Column, NAME, Sheet, boolean, cells, integer, text, wide};
use jiff::Timestamp;
use serde_json::Value;

pub(super) const SHEETS: &[Sheet] = &[
    Sheet::new(
        " persistentvolumes",
        &[
            NAME,
            text("Capacity"),
            text("Access Modes"),
            text("Reclaim Policy"),
            text("Status"),
            text("Claim"),
            text("StorageClass"),
            text("VolumeAttributesClass"),
            text("Reason"),
            AGE,
            wide("VolumeMode"),
        ],
        volume,
    ),
    Sheet::new(
        " persistentvolumeclaims",
        &[
            NAME,
            text("Status"),
            text("Volume"),
            text("Capacity"),
            text("Access Modes"),
            text("StorageClass"),
            text("VolumeAttributesClass"),
            AGE,
            wide("VolumeMode"),
        ],
        claim,
    ),
    Sheet::new(
        "storage.k8s.io storageclasses",
        &[
            NAME,
            text("Provisioner"),
            text("ReclaimPolicy"),
            text("VolumeBindingMode"),
            text("AllowVolumeExpansion"),
            AGE,
        ],
        class,
    ),
    Sheet::new("storage.k8s.io volumeattributesclasses", &[NAME, text("DriverName"), AGE], |object, now| {
        cells![name(object), string(object, "driverName"), age(object, now)]
    }),
    Sheet::new(
        "storage.k8s.io volumeattachments",
        &[
            NAME,
            Column { format: "name", ..text("Attacher") },
            text("PV"),
            text("Node"),
            boolean("Attached"),
            AGE,
        ],
        attachment,
    ),
    Sheet::new("storage.k8s.io csinodes", &[NAME, integer("Drivers"), AGE], |object, now| {
        cells![name(object), size(object, "spec.drivers"), age(object, now)]
    }),
    Sheet::new(
        "storage.k8s.io csidrivers",
        &[
            NAME,
            boolean("AttachRequired"),
            boolean("PodInfoOnMount"),
            boolean("StorageCapacity"),
            text("TokenRequests"),
            boolean("RequiresRepublish"),
            text("Modes"),
            AGE,
        ],
        driver,
    ),
];

const UNSET: &str = "<unset>";

/// An annotation that was there before the field, and still has the first word.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

const DEFAULTS: [&str; 2] =
    ["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

fn volume(object: &Value, now: Timestamp) -> Vec<Value> {
    let claim = given(object, "spec.claimRef").map_or_else(String::new, |claim| {
        format!("{}/{}", string(claim, "namespace"), string(claim, "name"))
    });
    cells![
        name(object),
        amount(object, "spec.capacity.storage"),
        access_modes(object, "spec.accessModes"),
        string(object, "spec.persistentVolumeReclaimPolicy"),
        phase(object),
        claim,
        class_of(object),
        pointed(object, "spec.volumeAttributesClassName", UNSET),
        string(object, "status.reason"),
        age(object, now),
        pointed(object, "spec.volumeMode", UNSET),
    ]
}

fn claim(object: &Value, now: Timestamp) -> Vec<Value> {
    let volume = string(object, "spec.volumeName");
    let (capacity, modes) = if volume.is_empty() {
        ("".into(), String::new())
    } else {
        (amount(object, "status.capacity.storage"), access_modes(object, "status.accessModes"))
    };
    cells![
        name(object),
        phase(object),
        volume,
        capacity,
        modes,
        class_of(object),
        pointed(object, "spec.volumeAttributesClassName", UNSET),
        age(object, now),
        pointed(object, "spec.volumeMode", UNSET),
    ]
}

fn phase(object: &Value) -> &str {
    let terminating = given(object, "metadata.deletionTimestamp").is_some();
    if terminating { "Terminating" } else { string(object, "status.phase") }
}

fn class_of(object: &Value) -> &str {
    entry(object, "metadata.annotations", CLASS).unwrap_or_else(|| string(object, "spec.storageClassName"))
}

fn access_modes(object: &Value, path: &str) -> String {
    let given = strings(object, path);
    let known = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ];
    let short: Vec<&str> =
        known.into_iter().filter(|(mode, _)| given.contains(mode)).map(|(_, short)| short).collect();
    short.join(",")
}

fn class(object: &Value, now: Timestamp) -> Vec<Value> {
    let mut marks = DEFAULTS.iter().map(|mark| entry(object, "metadata.annotations", mark));
    let is_default = marks.any(|mark| mark == Some("true"));
    cells![
        if is_default { format!("{} (default)", name(object)) } else { name(object).to_owned() },
        string(object, "provisioner"),
        pointed(object, "reclaimPolicy", "Delete"),
        pointed(object, "volumeBindingMode", "Immediate"),
        flag(object, "allowVolumeExpansion"),
        age(object, now),
    ]
}

fn attachment(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        name(object),
        string(object, "spec.attacher"),
        string(object, "spec.source.persistentVolumeName"),
        string(object, "spec.nodeName"),
        flag(object, "status.attached"),
        age(object, now),
    ]
}

fn driver(object: &Value, now: Timestamp) -> Vec<Value> {
    let attach = given(object, "spec.attachRequired").and_then(Value::as_bool).unwrap_or(true);
    let requests = given(object, "spec.tokenRequests").map_or_else(
        || UNSET.to_owned(),
        |_| {
            let requests = list(object, "spec.tokenRequests").iter();
            requests.map(|request| string(request, "audience")).collect::<Vec<_>>().join(",")
        },
    );
    cells![
        name(object),
        attach,
        flag(object, "spec.podInfoOnMount"),
        flag(object, "spec.storageCapacity"),
        requests,
        flag(object, "spec.requiresRepublish"),
        or_none(strings(object, "spec.volumeLifecycleModes").join(",")),
        age(object, now),
    ]
}
